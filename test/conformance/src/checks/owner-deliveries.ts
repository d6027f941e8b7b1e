import { randomUUID } from 'node:crypto'
import { type Define, group } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { end, hex, PAGE, receive } from './webhooks.ts'

function ownerDeliveries(rule: Define): void {
  const logged = async (t: Context, subscriptionId: string): Promise<Json | undefined> =>
    t.until(
      async () =>
        t
          .expect(await t.owner('GET', '/deliveries', undefined, { subscriptionId }), 200)
          .data.find((delivery: Json) => delivery.finishedAt),
      t.shop.webhookTimeoutMs,
    )
  rule('redelivered', 'A redelivery sends the same bytes with the same webhook-id', async (t) => {
    const { discountCode } = await t.sharedAffiliate()
    const hook = await receive(t, { events: ['commission.created'], secret: randomUUID() })
    const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
    await hook.of(commission.id)
    const own = () => t.shop.receiver?.received(hook.path).filter(({ json }) => json.data.id === commission.id) ?? []
    const all = () => t.owner('GET', '/deliveries', undefined, { subscriptionId: hook.id, limit: 100 })
    const webhookId = own()[0]?.headers['webhook-id']
    const row = await t.until(
      async () =>
        t
          .expect(await all(), 200)
          .data.find((delivery: Json) => delivery.webhookId === webhookId && delivery.finishedAt),
      t.shop.webhookTimeoutMs,
    )
    t.ok(row, 'the delivery is not listed')
    t.expect(await t.owner('POST', `/deliveries/${row?.id}/redeliver`), 200)
    await t.until(() => (own().length > 1 ? true : undefined), t.shop.webhookTimeoutMs)
    await end(t, hook.id)
    const [first, second] = own()
    t.ok(first && second && first.body.equals(second.body), 'the bytes differ, or nothing was sent')
    t.equal(second?.headers['webhook-id'], first?.headers['webhook-id'], 'webhook-id')
  })
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
        rows.map((delivery) => [delivery?.status, delivery?.code, delivery?.httpStatus]),
        [
          ['SENT', 'ok', 200],
          ['FAILED', 'http_5xx', 503],
        ],
        'status, code and httpStatus',
      )
    },
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
  { title: 'Deliveries for owners', page: `${PAGE}#delivery`, suite: 'owner', needs: ['owner', 'receiver'] },
  ownerDeliveries,
)
