import { createHmac, randomUUID } from 'node:crypto'
import { type Define, group } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { events as documented } from '../generated/contract.ts'
import type { Delivery } from '../receiver.ts'
import { mismatch } from '../schema.ts'

const PAGE = 'concepts/webhooks.md'
const REFUSED = 'reference/errors.md#webhook_url_refused'
const AVAILABLE = [
  'affiliate.approved',
  'affiliate.created',
  'affiliate.rejected',
  'affiliate.status_changed',
  'chat.message_received',
  'commission.approved',
  'commission.created',
  'commission.paid',
  'commission.reversed',
  'milestone.reached',
  'payout.completed',
  'payout.failed',
  'registration.submitted',
  'ticket.created',
]

/** A filter that matches no event, so that nothing is sent. */
const SILENT = { events: ['conformance.nothing'] }
const URL_OF_NOBODY = 'https://hooks.conformance.example/'

async function subscribe(t: Context, body: Json = {}): Promise<Json> {
  return t.expect(await t.settled(() => t.post('/webhooks', { url: URL_OF_NOBODY, ...SILENT, ...body })), 200).data
}
const unsubscribe = async (t: Context, { id }: Json) =>
  void t.expect(await t.settled(() => t.delete(`/webhooks?id=${id}`)), 200)
const list = async (t: Context): Promise<Json> => t.expect(await t.get('/webhooks'), 200)

/** Addresses that a server must not send to. */
const UNSAFE: Record<string, string> = {
  'plain-http': 'http://hooks.conformance.example/',
  loopback: 'https://127.0.0.1/',
  'loopback-as-number': 'https://2130706433/',
  'loopback-in-hex': 'https://0x7f.1/',
  'loopback-in-octal': 'https://0177.0.0.1/',
  'private-10': 'https://10.0.0.1/',
  'private-172': 'https://172.16.0.1/',
  'private-192': 'https://192.168.1.1/',
  'carrier-grade-nat': 'https://100.64.0.1/',
  metadata: 'https://169.254.169.254/latest/meta-data/',
  'this-network': 'https://0.0.0.0/',
  'ipv6-loopback': 'https://[::1]/',
  'ipv6-mapped': 'https://[::ffff:127.0.0.1]/',
  'ipv6-compatible': 'https://[::7f00:1]/',
  'ipv6-unique-local': 'https://[fd00::1]/',
  'ipv6-link-local': 'https://[fe80::1]/',
  localhost: 'https://localhost/',
  'name-below-localhost': 'https://a.localhost/',
  'name-of-internal': 'https://metadata.google.internal/',
  'single-label': 'https://intranet/',
  'user-information': 'https://user:pass@hooks.conformance.example/',
  'no-url': 'not a url',
  'other-scheme': 'ftp://hooks.conformance.example/',
}

export const subscriptions = group(
  'subscriptions',
  { title: 'Webhook subscriptions', page: `${PAGE}#events`, profile: 'webhooks' },
  (rule) => {
    rule('created', 'POST returns 200 and the subscription without its secret', async (t) => {
      const secret = randomUUID()
      const reply = await t.settled(() => t.post('/webhooks', { url: URL_OF_NOBODY, ...SILENT, secret }))
      const { data } = t.expect(reply, 200)
      t.fields(
        data,
        {
          url: URL_OF_NOBODY,
          events: SILENT.events,
          source: 'api',
          hasSecret: true,
          retryPolicy: 'none',
          extendedEvents: false,
          status: 'enabled',
        },
        'data',
      )
      const all = await t.get('/webhooks')
      t.ok(!reply.text.includes(secret) && !all.text.includes(secret), 'the secret is returned')
      await unsubscribe(t, data)
    })
    rule('aliases', '`hookUrl` and `target_url` are aliases of url, which takes precedence', async (t) => {
      for (const body of [
        { url: undefined, hookUrl: URL_OF_NOBODY },
        { url: undefined, target_url: URL_OF_NOBODY },
        { hookUrl: 'https://other.conformance.example/' },
      ]) {
        const made = await subscribe(t, body)
        t.equal(made.url, URL_OF_NOBODY, 'url')
        await unsubscribe(t, made)
      }
    })
    rule(
      'url-required',
      'POST without a URL returns 400',
      async (t) => {
        t.expect(await t.post('/webhooks', SILENT), 400, 'invalid_body')
      },
      { page: 'reference/errors.md#invalid_body' },
    )
    for (const [name, url] of Object.entries(UNSAFE))
      rule(
        `refuses-${name}`,
        `\`${url}\` returns 400`,
        async (t) => {
          const reply = await t.post('/webhooks', { url, ...SILENT })
          if (reply.status === 200) await unsubscribe(t, reply.body.data)
          t.expect(reply, 400, 'webhook_url_refused')
        },
        { page: REFUSED },
      )
    rule(
      'any-event-name',
      'Event names are not validated: names that nothing sends and empty text are accepted',
      async (t) => {
        const events = ['order.shipped', '', 'x'.repeat(300), 'commission.paid']
        const made = await subscribe(t, { events })
        t.equal(made.events, events, 'events')
        await unsubscribe(t, made)
      },
    )
    rule('source', '`source` is kept', async (t) => {
      const made = await subscribe(t, { source: 'zapier' })
      t.equal(made.source, 'zapier', 'source')
      await unsubscribe(t, made)
    })
    rule(
      'listed',
      'GET lists the subscriptions, newest first, and the 14 available_events without `test`',
      async (t) => {
        const [a, b] = [await subscribe(t), await subscribe(t)]
        const { data, available_events } = await list(t)
        const ids = data.map((one: Json) => one.id).filter((id: string) => [a.id, b.id].includes(id))
        for (const one of [a, b]) await unsubscribe(t, one)
        t.equal(ids, [b.id, a.id], 'the order')
        t.equal([...available_events].sort(), AVAILABLE, 'available_events')
      },
    )
    rule('emitted-events', '`emitted_events` are the four events that are sent', async (t) => {
      t.equal(
        [...(await list(t)).emitted_events].sort(),
        ['affiliate.approved', 'affiliate.rejected', 'affiliate.status_changed', 'commission.created'],
        'emitted_events',
      )
    })
    rule('same-url-twice', 'A URL can be subscribed more than once', async (t) => {
      const [a, b] = [await subscribe(t), await subscribe(t)]
      for (const one of [a, b]) await unsubscribe(t, one)
      t.ok(a.id !== b.id, 'the ids must differ')
    })
    rule(
      'deleted',
      'DELETE removes a subscription; a second DELETE returns 404 webhook_not_found',
      async (t) => {
        const made = await subscribe(t)
        await unsubscribe(t, made)
        t.ok(!(await list(t)).data.some((one: Json) => one.id === made.id), 'the subscription is still listed')
        t.expect(await t.delete(`/webhooks?id=${made.id}`), 404, 'webhook_not_found')
      },
      { page: 'reference/errors.md#webhook_not_found' },
    )
    rule('test-creates-nothing', '`?test=1` returns ok and a message, and creates no subscription', async (t) => {
      const url = `https://${t.code().toLowerCase()}.conformance.example/`
      const reply = t.expect(await t.post('/webhooks', { url }, { query: { test: '1' } }), 200)
      t.ok(reply.ok === true && typeof reply.message === 'string', JSON.stringify(reply))
      t.ok(!(await list(t)).data.some((one: Json) => one.url === url), 'a subscription was created')
    })
    rule(
      'test-requires-url',
      '`?test=1` requires a valid URL',
      async (t) => {
        t.expect(await t.post('/webhooks', {}, { query: { test: '1' } }), 400)
        t.expect(
          await t.post('/webhooks', { url: 'https://127.0.0.1/' }, { query: { test: '1' } }),
          400,
          'webhook_url_refused',
        )
      },
      { page: REFUSED },
    )
  },
)

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

export const feed = group('feed', { title: 'Events', page: `${PAGE}#events`, profile: 'webhooks' }, (rule) => {
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
    const event = (await eventsOf(t, id)).find((one) => one.event === 'affiliate.approved')
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
      t.expect(
        await t.post('/events', { type: 'refund', externalOrderId, externalRefundId: t.id('r'), amountCents: 500 }),
        202,
      )
      const { commission } = await t.order({ externalOrderId, amountCents: 1000, couponCode: discountCode })
      t.equal((await eventsOf(t, commission.id))[0]?.data.commissionAmountCents, 160, 'commissionAmountCents')
    },
    { page: 'concepts/refunds.md#order-of-arrival' },
  )
  rule('no-adjustments', 'An adjustment causes no commission.created', async (t) => {
    const { id, externalOrderId } = await t.batch(9000)
    await t.pay(id)
    const body = { type: 'refund', externalOrderId, externalRefundId: t.id('r'), amountCents: 3000 }
    const { refund } = t.expect(await t.post('/events', body), 200)
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
        found.map((one) => `${one.data.previousStatus} ${one.event}`),
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
      const ids = (await feedOf(t)).map((one) => one.id)
      t.equal(new Set(ids).size, ids.length, 'the number of different ids')
      t.ok(
        ids.every((one, n) => n === 0 || one > (ids[n - 1] ?? '')),
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
        data.length <= 1 && data.every((one: Json) => one.id > first.id) && next > first.id,
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
    t.expect(
      await t.post('/events', { type: 'refund', externalOrderId, externalRefundId: t.id('r'), amountCents: 1 }),
      200,
    )
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

/** Subscribes an address of the receiver. */
async function receive(
  t: Context,
  body: Json = {},
): Promise<{ path: string; id: string; of: (id: string) => Promise<Delivery | undefined> }> {
  const { receiver } = t.shop
  if (!receiver) return t.skip('requires a receiver')
  const path = `/${t.id('hook')}`
  const reply = await t.settled(() => t.post('/webhooks', { url: receiver.url(path), events: [], ...body }))
  if (reply.status === 400 && reply.headers.get('X-Error-Code') === 'webhook_url_refused')
    return t.skip(`the server does not send to ${receiver.url('')}; see --receiver-url`)
  const { id } = t.expect(reply, 200).data
  return {
    path,
    id,
    of: (subject) =>
      t.until(() => receiver.received(path).find(({ json }) => json?.data?.id === subject), t.shop.webhookTimeoutMs),
  }
}
const end = async (t: Context, id: string) => void (await t.settled(() => t.delete(`/webhooks?id=${id}`)))

/** Records an order and waits until the subscription received its event. */
async function delivered(t: Context, body: Json = {}): Promise<{ delivery: Delivery; commission: Json }> {
  const { discountCode } = await t.sharedAffiliate()
  const hook = await receive(t, body)
  const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
  const delivery = await hook.of(commission.id)
  await end(t, hook.id)
  t.ok(delivery, 'commission.created was not received in time')
  return { delivery: delivery as Delivery, commission }
}
const hex = (secret: string, body: Buffer) => createHmac('sha256', secret).update(body).digest('hex')

export const deliveries = group(
  'deliveries',
  { title: 'Webhook deliveries', page: `${PAGE}#request`, profile: 'webhooks', needs: ['receiver'] },
  (rule) => {
    rule('request', 'An event is sent as a POST with a JSON body of event, timestamp, shop_id and data', async (t) => {
      const { delivery, commission } = await delivered(t)
      t.equal(
        [delivery.method, delivery.headers['content-type']?.split(';')[0]],
        ['POST', 'application/json'],
        'method and Content-Type',
      )
      t.equal(
        Object.keys(delivery.json)
          .filter((name) => name !== 'test')
          .sort(),
        ['data', 'event', 'shop_id', 'timestamp'],
        'the fields',
      )
      t.equal([delivery.json.event, delivery.json.data.id], ['commission.created', commission.id], 'event and data.id')
    })
    rule('event-header', 'X-Service-Event is the event type', async (t) => {
      const { delivery } = await delivered(t)
      t.equal(delivery.headers['x-service-event'], delivery.json.event, 'X-Service-Event')
    })
    rule(
      'signature',
      'X-Service-Signature is the lowercase hex HMAC-SHA256 of the received bytes under the secret',
      async (t) => {
        const secret = randomUUID()
        const { delivery } = await delivered(t, { secret })
        t.equal(delivery.headers['x-service-signature'], hex(secret, delivery.body), 'X-Service-Signature')
      },
    )
    rule('signature-of-text', 'The signature covers the bytes of text beyond ASCII', async (t) => {
      const [secret, hook] = [randomUUID(), t.id('o')]
      const { path, id } = await receive(t, { secret })
      const { discountCode } = await t.sharedAffiliate()
      await t.order({ externalOrderId: hook, orderName: 'Größe 👩‍🚀 é', amountCents: 1000, couponCode: discountCode })
      const delivery = await t.until(
        () => t.shop.receiver?.received(path).find(({ json }) => json?.data?.externalOrderId === hook),
        8000,
      )
      await end(t, id)
      t.equal(delivery?.headers['x-service-signature'], delivery && hex(secret, delivery.body), 'X-Service-Signature')
    })
    rule('standard-webhooks', 'webhook-signature is v1 of Standard Webhooks over id, timestamp and body', async (t) => {
      const secret = randomUUID()
      const { delivery } = await delivered(t, { secret })
      const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature = '' } = delivery.headers
      const expected = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(delivery.body).digest('base64')
      t.ok(signature.split(' ').includes(`v1,${expected}`), `webhook-signature is ${signature}`)
      t.ok(Math.abs(Number(timestamp) * 1000 - Date.now()) < 60_000, `webhook-timestamp is ${timestamp}`)
    })
    rule('no-secret', 'Without a secret X-Service-Signature is empty, and webhook-signature is not sent', async (t) => {
      const { delivery } = await delivered(t)
      t.equal(
        [delivery.headers['x-service-signature'], delivery.headers['webhook-signature']],
        ['', undefined],
        'the signatures',
      )
      t.ok(
        delivery.headers['webhook-id'] && delivery.headers['webhook-timestamp'],
        'webhook-id and webhook-timestamp must be sent',
      )
    })
    rule('same-bytes', 'Two subscriptions receive the same bytes, with their own webhook-id', async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const hooks = [await receive(t), await receive(t)]
      const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
      const [a, b] = [await hooks[0]?.of(commission.id), await hooks[1]?.of(commission.id)]
      for (const { id } of hooks) await end(t, id)
      t.ok(a && b && a.body.equals(b.body), 'the bodies differ')
      t.ok(a?.headers['webhook-id'] !== b?.headers['webhook-id'], 'webhook-id must differ')
    })
    rule(
      'filtered',
      'A subscription receives the events it names, and no others',
      async (t) => {
        const hook = await receive(t, { events: ['affiliate.rejected'] })
        const { id } = await t.affiliate()
        t.expect(await t.patch(`/affiliates?id=${id}`, { status: 'REJECTED' }), 200)
        t.ok(await hook.of(id), 'affiliate.rejected was not received')
        await t.sleep(300)
        await end(t, hook.id)
        const names = new Set(t.shop.receiver?.received(hook.path).map(({ json }) => json.event))
        t.equal([...names], ['affiliate.rejected'], 'events')
      },
      { page: `${PAGE}#events` },
    )
    rule(
      'after-commit',
      'An event is sent after its change is committed: the commission can be read when the event arrives',
      async (t) => {
        const { discountCode } = await t.sharedAffiliate()
        const hook = await receive(t, { events: ['commission.created'] })
        const wrong: string[] = []
        t.shop.receiver?.onDelivery(hook.path, async ({ json }) => {
          const { status, body } = await t.get('/commissions', { id: json.data.id })
          if (status !== 200 || body.data.length !== 1) wrong.push(json.data.id)
        })
        const ids: string[] = []
        for (const _ of [1, 2, 3])
          ids.push((await t.order({ amountCents: 1000, couponCode: discountCode })).commission.id)
        const arrived = await Promise.all(ids.map(hook.of))
        await end(t, hook.id)
        t.ok(arrived.every(Boolean), 'not every event was received')
        t.equal(wrong, [], 'commissions that could not be read when their event arrived')
      },
      { page: `${PAGE}#delivery` },
    )
    rule(
      'does-not-block',
      'A receiver that fails does not affect the request',
      async (t) => {
        const { discountCode } = await t.sharedAffiliate()
        const hook = await receive(t, { events: ['commission.created'] })
        t.shop.receiver?.respond(hook.path, 500)
        const start = Date.now()
        const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
        t.ok(Date.now() - start < 5000, 'the response took more than 5 seconds')
        t.ok(await hook.of(commission.id), 'the event was not sent')
        await end(t, hook.id)
      },
      { page: `${PAGE}#delivery` },
    )
    rule(
      'one-attempt',
      'A failed delivery is not attempted again by default',
      async (t) => {
        const { discountCode } = await t.sharedAffiliate()
        const hook = await receive(t, { events: ['commission.created'] })
        t.shop.receiver?.respond(hook.path, 500)
        const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
        await hook.of(commission.id)
        await t.sleep(Math.min(6500, t.shop.webhookTimeoutMs))
        const attempts = t.shop.receiver?.received(hook.path).filter(({ json }) => json.data.id === commission.id)
        await end(t, hook.id)
        t.equal(attempts?.length, 1, 'the number of attempts')
      },
      { page: `${PAGE}#delivery` },
    )
    rule(
      'retried',
      'With `retryPolicy: standard` a failed delivery is attempted again after about 5 seconds, with the same bytes and webhook-id',
      async (t) => {
        const { discountCode } = await t.sharedAffiliate()
        const hook = await receive(t, { events: ['commission.created'], retryPolicy: 'standard' })
        t.shop.receiver?.respond(hook.path, 500)
        const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
        const of = () => t.shop.receiver?.received(hook.path).filter(({ json }) => json.data.id === commission.id) ?? []
        await t.until(() => (of().length > 1 ? true : undefined), t.shop.webhookTimeoutMs + 1000)
        await end(t, hook.id)
        const [first, second] = of()
        t.ok(first && second, 'there was no second attempt in time')
        t.ok(first?.body.equals(second?.body ?? Buffer.alloc(0)), 'the bodies differ')
        t.equal(second?.headers['webhook-id'], first?.headers['webhook-id'], 'webhook-id')
      },
      { page: `${PAGE}#retries` },
    )
    rule(
      'no-redirect',
      'A redirect is not followed',
      async (t) => {
        const { discountCode } = await t.sharedAffiliate()
        const hook = await receive(t, { events: ['commission.created'] })
        const target = `/${t.id('target')}`
        t.shop.receiver?.respond(hook.path, 307, { Location: t.shop.receiver.url(target) })
        const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
        await hook.of(commission.id)
        await t.sleep(500)
        await end(t, hook.id)
        t.equal(t.shop.receiver?.received(target).length, 0, 'requests to the target')
      },
      { page: `${PAGE}#delivery` },
    )
    rule('unsubscribed', 'A deleted subscription receives nothing', async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const [gone, hook] = [await receive(t), await receive(t)]
      await end(t, gone.id)
      const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
      await hook.of(commission.id)
      await end(t, hook.id)
      const late = t.shop.receiver?.received(gone.path).filter(({ json }) => json.data.id === commission.id)
      t.equal(late?.length, 0, 'requests to the deleted subscription')
    })
    testEvents(rule)
  },
)

function ownerDeliveries(rule: Define): void {
  const { page } = { page: `${PAGE}#delivery` }
  const logged = async (t: Context, subscriptionId: string): Promise<Json | undefined> =>
    t.until(async () =>
      t
        .expect(await t.owner('GET', '/deliveries', undefined, { subscriptionId }), 200)
        .data.find((one: Json) => one.finishedAt),
    )
  rule(
    'redelivered',
    'A redelivery sends the same bytes with the same webhook-id',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const hook = await receive(t, { events: ['commission.created'], secret: randomUUID() })
      const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
      await hook.of(commission.id)
      const own = () => t.shop.receiver?.received(hook.path).filter(({ json }) => json.data.id === commission.id) ?? []
      const all = () => t.owner('GET', '/deliveries', undefined, { subscriptionId: hook.id, limit: 100 })
      const webhookId = own()[0]?.headers['webhook-id']
      const row = await t.until(async () =>
        t.expect(await all(), 200).data.find((one: Json) => one.webhookId === webhookId && one.finishedAt),
      )
      t.ok(row, 'the delivery is not listed')
      t.expect(await t.owner('POST', `/deliveries/${row?.id}/redeliver`), 200)
      await t.until(() => (own().length > 1 ? true : undefined))
      await end(t, hook.id)
      const [first, second] = own()
      t.ok(first && second && first.body.equals(second.body), 'the bytes differ, or nothing was sent')
      t.equal(second?.headers['webhook-id'], first?.headers['webhook-id'], 'webhook-id')
    },
    { page },
  )
  rule(
    'delivery-log',
    'The outcome of a delivery is a fixed code: `ok`, or `http_5xx` for a receiver that fails',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const [good, bad] = [
        await receive(t, { events: ['commission.created'] }),
        await receive(t, { events: ['commission.created'] }),
      ]
      t.shop.receiver?.respond(bad.path, 503)
      await t.order({ amountCents: 1000, couponCode: discountCode })
      const rows = [await logged(t, good.id), await logged(t, bad.id)]
      for (const { id } of [good, bad]) await end(t, id)
      t.equal(
        rows.map((one) => [one?.status, one?.code, one?.httpStatus]),
        [
          ['SENT', 'ok', 200],
          ['FAILED', 'http_5xx', 503],
        ],
        'status, code and httpStatus',
      )
    },
    { page },
  )
  rule(
    'new-secret',
    'After a change of the secret, X-Service-Signature uses the new one, and webhook-signature has one with each',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const [old, secret] = [randomUUID(), randomUUID()]
      const hook = await receive(t, { events: ['commission.created'], secret: old })
      t.expect(await t.settled(() => t.owner('PATCH', `/webhooks/${hook.id}`, { secret })), 200)
      const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
      const delivery = await hook.of(commission.id)
      await end(t, hook.id)
      t.ok(delivery, 'commission.created was not received in time')
      t.equal(delivery?.headers['x-service-signature'], delivery && hex(secret, delivery.body), 'X-Service-Signature')
      t.equal(delivery?.headers['webhook-signature']?.split(' ').length, 2, 'the number of signatures')
    },
    { page: `${PAGE}#request` },
  )
  rule(
    'redelivered-many',
    'Failed deliveries of a period can be queued again',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const hook = await receive(t, { events: ['commission.created'] })
      t.shop.receiver?.respond(hook.path, 500)
      await t.order({ amountCents: 1000, couponCode: discountCode })
      t.ok(await logged(t, hook.id), 'the delivery is not listed')
      const { data } = t.expect(await t.owner('POST', `/webhooks/${hook.id}/redeliver`, { from: '2020-01-01' }), 200)
      await end(t, hook.id)
      t.ok(data.dryRun === false && data.queued >= 1, JSON.stringify(data))
    },
    { page: `${PAGE}#retries` },
  )
}

/** What an owner can do with deliveries. */
export const ownerWebhooks = group(
  'owner-deliveries',
  { title: 'Deliveries for owners', page: `${PAGE}#delivery`, profile: 'owner', needs: ['owner', 'receiver'] },
  ownerDeliveries,
)

function testEvents(rule: Define): void {
  rule(
    'test-event',
    'A test event reaches the subscriptions to all events and to `test`, and no others',
    async (t) => {
      const [all, named, other] = [
        await receive(t),
        await receive(t, { events: ['test'] }),
        await receive(t, { events: ['commission.created'] }),
      ]
      t.expect(await t.post('/webhooks', { url: URL_OF_NOBODY }, { query: { test: '1' } }), 200)
      const isTest = ({ json }: Delivery) => json.event === 'test'
      const of = (path: string) => t.shop.receiver?.received(path).filter(isTest) ?? []
      const arrived = await t.until(
        () => (of(all.path).length && of(named.path).length ? true : undefined),
        t.shop.webhookTimeoutMs,
      )
      await t.sleep(300)
      for (const { id } of [all, named, other]) await end(t, id)
      t.ok(arrived, 'the test event was not received')
      t.equal(of(other.path).length, 0, 'test events of the other subscription')
      t.equal(of(all.path)[0]?.json.data.test, true, 'data.test')
    },
    { page: `${PAGE}#events`, isExclusive: true },
  )
}
