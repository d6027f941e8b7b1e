// What checks of webhooks share.
import { createHmac } from 'node:crypto'
import type { Context, Json } from '../context.ts'
import type { Delivery } from '../receiver.ts'

export const PAGE = 'concepts/webhooks.md'

/** A filter that matches no event, so that nothing is sent. */
export const SILENT = { events: ['conformance.nothing'] }
export const URL_OF_NOBODY = 'https://hooks.conformance.example/'

export async function subscribe(t: Context, body: Json = {}): Promise<Json> {
  return t.expect(await t.settled(() => t.post('/webhooks', { url: URL_OF_NOBODY, ...SILENT, ...body })), 200).data
}
export const unsubscribe = async (t: Context, { id }: Json) =>
  void t.expect(await t.settled(() => t.delete(`/webhooks?id=${id}`)), 200)

/** Subscribes an address of the receiver. */
export async function receive(
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
export const end = async (t: Context, id: string) => void (await t.settled(() => t.delete(`/webhooks?id=${id}`)))

/** Records an order and waits until the subscription received its event. */
export async function delivered(t: Context, body: Json = {}): Promise<{ delivery: Delivery; commission: Json }> {
  const { discountCode } = await t.sharedAffiliate()
  const hook = await receive(t, body)
  const { commission } = await t.order({ amountCents: 1000, couponCode: discountCode })
  const delivery = await hook.of(commission.id)
  await end(t, hook.id)
  t.ok(delivery, 'commission.created was not received in time')
  return { delivery: delivery as Delivery, commission }
}
export const hex = (secret: string, body: Buffer) => createHmac('sha256', secret).update(body).digest('hex')
