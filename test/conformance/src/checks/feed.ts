import { randomUUID } from 'node:crypto'
import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { events as documented } from '../generated/contract.ts'
import { mismatch } from '../schema.ts'
import { PAGE, subscribe, unsubscribe } from './webhooks.ts'

interface Feed {
  after: string | undefined
  events: Json[]
  /** Reads are made in sequence. */
  last: Promise<unknown>
}

/** The events of the shop so far. Each call reads the new ones. */
async function feedOf(t: Context): Promise<Json[]> {
  const feed: Feed = await t.once('feed', async () => ({ after: undefined, events: [], last: Promise.resolve() }))
  const read = feed.last.then(async () => {
    for (let page = 0; page < 200; page++) {
      const { data, next, hasMore } = t.expect(await t.get('/webhooks/events', { after: feed.after, limit: 100 }), 200)
      feed.events.push(...data)
      feed.after = next ?? feed.after
      if (!hasMore) return
    }
    t.skip('the feed has more than 20,000 events')
  })
  feed.last = read.catch(() => {})
  await read
  return feed.events
}

const eventsOf = async (t: Context, id: string): Promise<Json[]> =>
  (await feedOf(t)).filter(({ data }) => data?.id === id)

export const feed = group('feed', { title: 'Events', page: `${PAGE}#events`, suite: 'webhooks' }, (rule) => {
  const namesAfter = async (t: Context, from: string, to: string) => {
    const { id } = await t.affiliate({ status: from })
    const before = (await eventsOf(t, id)).length
    t.expect(await t.patch(`/affiliates?id=${id}`, { status: to }), 200)
    return (await eventsOf(t, id)).slice(before).map(({ event }) => event)
  }
  for (const [from, to, names] of [
    ['PENDING', 'APPROVED', ['affiliate.approved', 'affiliate.status_changed']],
    ['PENDING', 'ACTIVE', ['affiliate.approved', 'affiliate.status_changed']],
    ['APPROVED', 'REJECTED', ['affiliate.rejected', 'affiliate.status_changed']],
    ['APPROVED', 'ACTIVE', ['affiliate.status_changed']],
    ['APPROVED', 'PENDING', ['affiliate.status_changed']],
    ['APPROVED', 'APPROVED', []],
  ] as const)
    rule(
      `${from}-${to}`.toLowerCase(),
      `A change from ${from} to ${to} causes ${names.join(' and ') || 'no event'}`,
      async (t) => {
        t.equal(await namesAfter(t, from, to), names, 'events')
      },
    )
  rule('affiliate-data', 'An affiliate event contains the affiliate and previousStatus', async (t) => {
    const { id } = await t.affiliate()
    const event = (await eventsOf(t, id)).find((entry) => entry.event === 'affiliate.approved')
    t.fields(event?.data, { id, status: 'APPROVED', previousStatus: 'PENDING' }, 'data')
    const wrong = mismatch(documented['affiliate.approved'] ?? {}, event)
    t.ok(!wrong, String(wrong))
  })
  rule(
    'commission-created',
    'A recorded order causes commission.created with the commission and its attribution',
    async (t) => {
      const { id, discountCode } = await t.sharedAffiliate()
      const { commission, attribution } = await t.order({ amountCents: 1000, couponCode: discountCode })
      const found = await eventsOf(t, commission.id)
      t.equal(
        found.map(({ event }) => event),
        ['commission.created'],
        'events',
      )
      t.fields(
        found[0]?.data,
        { affiliateId: id, commissionAmountCents: 160, orderStatus: 'APPROVED', attribution },
        'data',
      )
      const wrong = mismatch(documented['commission.created'] ?? {}, found[0])
      t.ok(!wrong, String(wrong))
    },
  )
  rule('created-once', 'An order that is replayed or reported again causes one commission.created', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const body = { externalOrderId: t.id('o'), amountCents: 1000, couponCode: discountCode }
    const options = { headers: { 'Idempotency-Key': randomUUID() } }
    const { commission } = await t.order(body, options)
    await t.order(body, options)
    await t.order(body)
    t.equal((await eventsOf(t, commission.id)).length, 1, 'the number of events')
  })
  rule('not-for-nobody', 'Orders without an affiliate, dry runs and rejected requests cause no event', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const before = (await feedOf(t)).length
    const ids = [t.id('nobody'), t.id('dry'), t.id('bad')]
    await t.order({ externalOrderId: ids[0], amountCents: 1000 })
    await t.decide({ externalOrderId: ids[1], amountCents: 1000, couponCode: discountCode })
    t.expect(await t.report({ externalOrderId: ids[2], amountCents: -1, couponCode: discountCode }), 400)
    const found = (await feedOf(t)).slice(before).filter(({ data }) => ids.includes(data?.externalOrderId))
    t.equal(found, [], 'events')
  })
  rule(
    'original-decision',
    'commission.created contains the original decision, not a refund that arrived before',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const externalOrderId = t.id('o')
      t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 500 }), 202)
      const { commission } = await t.order({ externalOrderId, amountCents: 1000, couponCode: discountCode })
      t.equal((await eventsOf(t, commission.id))[0]?.data.commissionAmountCents, 160, 'commissionAmountCents')
    },
    { page: 'concepts/refunds.md#order-of-arrival' },
  )
  rule('no-adjustments', 'An adjustment causes no commission.created', async (t) => {
    const { id, externalOrderId } = await t.batch(9000)
    await t.pay(id)
    const body = { externalOrderId, externalRefundId: t.id('r'), amountCents: 3000 }
    const { refund } = t.expect(await t.post('/refunds', body), 200)
    t.equal(await eventsOf(t, refund.adjustmentId), [], 'events')
  })
  rule(
    'in-order',
    'The feed lists events in the order of their changes, each once',
    async (t) => {
      const { id } = await t.affiliate()
      for (const status of ['REJECTED', 'APPROVED']) t.expect(await t.patch(`/affiliates?id=${id}`, { status }), 200)
      const found = await eventsOf(t, id)
      t.equal(
        found.map((entry) => `${entry.data.previousStatus} ${entry.event}`),
        [
          'PENDING affiliate.approved',
          'PENDING affiliate.status_changed',
          'APPROVED affiliate.rejected',
          'APPROVED affiliate.status_changed',
          'REJECTED affiliate.approved',
          'REJECTED affiliate.status_changed',
        ],
        'events',
      )
      const ids = (await feedOf(t)).map((entry) => entry.id)
      t.equal(new Set(ids).size, ids.length, 'the number of different ids')
      t.ok(
        ids.every((entry, n) => n === 0 || entry > (ids[n - 1] ?? '')),
        'the ids must increase',
      )
    },
    { page: `${PAGE}#feed` },
  )
  rule(
    'after',
    '`after` continues after an event, and `limit` bounds a page',
    async (t) => {
      const { id } = await t.affiliate()
      const [first, second] = await eventsOf(t, id)
      t.ok(first && second, 'the affiliate must have two events')
      const { data, next } = t.expect(await t.get('/webhooks/events', { after: first.id, limit: 1 }), 200)
      t.ok(
        data.length <= 1 && data.every((entry: Json) => entry.id > first.id) && next > first.id,
        `the page is ${JSON.stringify(data)}`,
      )
    },
    { page: `${PAGE}#feed` },
  )
  rule(
    'invalid-after',
    'An `after` that is not the id of an event returns 400',
    async (t) => {
      t.expect(await t.get('/webhooks/events', { after: 'yesterday' }), 400, 'invalid_parameter')
    },
    { page: `${PAGE}#feed` },
  )
  rule('no-extended-events', 'Extended events are not listed unless asked for', async (t) => {
    const asked = await subscribe(t, { extendedEvents: true })
    const { externalOrderId } = await t.batch()
    t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 1 }), 200)
    await unsubscribe(t, asked)
    const names = new Set((await feedOf(t)).map(({ event }) => event))
    const others = [...names].filter(
      (name) =>
        ![
          'affiliate.approved',
          'affiliate.rejected',
          'affiliate.status_changed',
          'commission.created',
          'test',
        ].includes(name),
    )
    t.equal(others, [], 'other events')
  })
})
