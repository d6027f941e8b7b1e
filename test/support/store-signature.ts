import { createHmac } from 'node:crypto'

/** The header of Stripe's signature of a body, at a time in milliseconds. */
export function stripeSignature(
  body: string | Uint8Array,
  secret: string,
  now: number,
): { 'Stripe-Signature': string } {
  const time = Math.floor(now / 1000)
  const digest = createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex')
  return { 'Stripe-Signature': `t=${time},v1=${digest}` }
}
