import { toBytes } from './bytes.ts'
import { reject } from './error.ts'
import type { WebhookEvent } from './event.ts'
import {
  parseHexSignature,
  parseStandardSignature,
  type Secrets,
  type Verification,
  verifySignature,
} from './signature.ts'

/** Headers of any runtime: `Headers`, or a record whose names may be in any case. */
export type HeadersLike =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined }

/** A `Request`, or the headers and the raw body. */
export type Delivery =
  | {
      readonly headers: HeadersLike
      readonly bodyUsed: boolean
      readonly body?: unknown
      arrayBuffer(): Promise<ArrayBuffer>
    }
  | { readonly headers: HeadersLike; readonly bodyUsed?: never; readonly body: unknown }

/** Options of {@link receive} and {@link unwrap}. */
export interface ReceiveOptions {
  /** The secret of the subscription, or several during a rotation. */
  secret: Secrets
  /** The maximum distance of the signed `webhook-timestamp` from now, in seconds. Defaults to 300; `Infinity` disables it. */
  tolerance?: number | undefined
  /**
   * Rejects deliveries without a signed timestamp, which a replay could omit. Defaults to true; the server signs it whenever the
   * subscription has a secret. `false` accepts a delivery with `X-Service-Signature` only.
   */
  requireTimestamp?: boolean | undefined
  /**
   * The maximum distance of the event's own `timestamp` from now, in seconds. Disabled by default, because an event that is
   * redelivered manually is old.
   */
  bodyTolerance?: number | undefined
  /**
   * Called after verification; the delivery is rejected as `duplicate` when it returns true. Only look the key up here:
   * store it in the same transaction as your work.
   */
  seen?: ((dedupeKey: string, event: WebhookEvent) => boolean | Promise<boolean>) | undefined
}

/** A verified event. */
export interface Received {
  event: WebhookEvent
  verification: Verification
}

// Written so that NaN is rejected.
const checkTime = (seconds: number, tolerance: number) => {
  const age = Date.now() / 1000 - seconds
  if (!(Math.abs(age) <= tolerance))
    reject(
      'timestamp_too_far',
      `The timestamp is ${Math.abs(Math.round(age))} s ${age < 0 ? 'in the future' : 'old'}. Check the clock.`,
    )
}

const parseEvent = (body: Uint8Array): WebhookEvent => {
  try {
    const event = JSON.parse(new TextDecoder().decode(body))
    if (typeof event.event === 'string') return event
  } catch {
    // Not JSON, or null: rejected like any other shape.
  }
  return reject('payload_invalid', 'The body is not a JSON event.')
}

/**
 * Verifies a delivery and returns its event with the details of the signature. Where `webhook-signature` is present, it is
 * verified instead of `X-Service-Signature`: it also covers the timestamp, and has one signature per secret in a rotation.
 *
 * @throws {WebhookError} See {@link WebhookErrorCode}.
 *
 * @example
 * const { event, verification } = await receive(request, { secret: [newSecret, oldSecret] })
 * console.log(event.event, verification.dedupeKey)
 */
export const receive = async (delivery: Delivery, options: ReceiveOptions): Promise<Received> => {
  const { secret, tolerance = 300, requireTimestamp = true, bodyTolerance, seen } = options
  const { headers } = delivery
  const header = (name: string) =>
    `${(typeof headers.get === 'function' ? headers.get(name) : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]) ?? ''}`
  const body = toBytes(delivery.bodyUsed === false ? await delivery.arrayBuffer() : delivery.body)
  const signature = header('webhook-signature')
  let verification: Verification
  if (signature || requireTimestamp) {
    const timestamp = header('webhook-timestamp')
    verification = await verifySignature(
      parseStandardSignature(signature),
      await new Blob([`${header('webhook-id')}.${timestamp}.`, body]).arrayBuffer(),
      body,
      secret,
    )
    checkTime(+timestamp, tolerance)
  } else verification = await verifySignature(parseHexSignature(header('x-service-signature')), body, body, secret)
  const event = parseEvent(body)
  const headerEvent = header('x-service-event')
  if (headerEvent && headerEvent !== event.event)
    reject('event_mismatch', 'X-Service-Event differs from the event of the body.')
  if (bodyTolerance != null) checkTime(Date.parse(event.timestamp) / 1000, bodyTolerance)
  if (await seen?.(verification.dedupeKey, event)) reject('duplicate', verification.dedupeKey)
  return { event, verification }
}

/**
 * Verifies a delivery and returns its event, parsed from the bytes that were signed.
 *
 * @param delivery A `Request`, or the headers and the raw body.
 * @throws {WebhookError} See {@link WebhookErrorCode}.
 *
 * @example
 * const event = await unwrap(request, { secret: process.env.WEBHOOK_SECRET })
 */
export const unwrap = async (delivery: Delivery, options: ReceiveOptions): Promise<WebhookEvent> =>
  (await receive(delivery, options)).event
