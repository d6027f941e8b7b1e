import { createHmac, randomUUID } from 'node:crypto'
import { type Define, group, onPage } from '../check.ts'
import type { Delivery } from '../receiver.ts'
import { delivered, end, hex, PAGE, receive, URL_OF_NOBODY } from './webhooks.ts'

export const deliveries = group(
  'deliveries',
  { title: 'Webhook deliveries', page: `${PAGE}#request`, suite: 'webhooks', needs: ['receiver'] },
  (rule) => {
    const sent = onPage(rule, `${PAGE}#delivery`)
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
    sent(
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
    )
    sent('does-not-block', 'A receiver that fails does not affect the request', async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const hook = await receive(t, { events: ['commission.created'] })
      t.shop.receiver?.respond(hook.path, 500)
      const start = Date.now()
      const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
      t.ok(Date.now() - start < 5000, 'the response took more than 5 seconds')
      t.ok(await hook.of(commission.id), 'the event was not sent')
      await end(t, hook.id)
    })
    sent('one-attempt', 'A failed delivery is not attempted again by default', async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const hook = await receive(t, { events: ['commission.created'] })
      t.shop.receiver?.respond(hook.path, 500)
      const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
      await hook.of(commission.id)
      await t.sleep(Math.min(6500, t.shop.webhookTimeoutMs))
      const attempts = t.shop.receiver?.received(hook.path).filter(({ json }) => json.data.id === commission.id)
      await end(t, hook.id)
      t.equal(attempts?.length, 1, 'the number of attempts')
    })
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
    sent('no-redirect', 'A redirect is not followed', async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const hook = await receive(t, { events: ['commission.created'] })
      const target = `/${t.id('target')}`
      t.shop.receiver?.respond(hook.path, 307, { Location: t.shop.receiver.url(target) })
      const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
      await hook.of(commission.id)
      await t.sleep(500)
      await end(t, hook.id)
      t.equal(t.shop.receiver?.received(target).length, 0, 'requests to the target')
    })
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
