import { toBytes } from './bytes.ts'
import { refuse } from './error.ts'
import type { WebhookEvent } from './event.ts'
import { prove, type Secrets, type SignatureFacts } from './hmac.ts'
import { parseHex, parseStandard } from './macs.ts'

/** Headers as any runtime gives them: `Headers`, or a record in any case of letters. */
export type HeadersLike =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined }

/** A `Request`, or what a server without one has: the headers and the raw body. */
export type Delivery =
  | {
      readonly headers: HeadersLike
      readonly bodyUsed: boolean
      readonly body?: unknown
      arrayBuffer(): Promise<ArrayBuffer>
    }
  | { readonly headers: HeadersLike; readonly bodyUsed?: never; readonly body: unknown }

export interface ReceiveOptions {
  /** The secret of the subscription, or several while it is replaced. */
  secret: Secrets
  /** How far the signed `webhook-timestamp` may be from now, either way, in seconds. Default 300; `Infinity` turns it off. */
  tolerance?: number | undefined
  /** Refuses a delivery without a signed time; a replay can be stripped of it. Default false. */
  requireTimestamp?: boolean | undefined
  /** How far the event's own `timestamp` may be from now, in seconds. Default off: an event sent again by hand is late by design. */
  bodyTolerance?: number | undefined
  /** Asked once the delivery is proven; true refuses it as a `duplicate`. It only looks: store the key with the work itself. */
  seen?: ((dedupeKey: string, event: WebhookEvent) => boolean | Promise<boolean>) | undefined
}

/** A proven event, and the facts of its signature. */
export interface Received {
  event: WebhookEvent
  facts: SignatureFacts
}

// Written so that NaN refuses.
const checkTime = (seconds: number, tolerance: number) => {
  const age = Date.now() / 1000 - seconds
  if (!(Math.abs(age) <= tolerance)) refuse('timestamp_too_far', `${Math.round(age)} s old`)
}

const parseEvent = (body: Uint8Array): WebhookEvent => {
  try {
    const event = JSON.parse(new TextDecoder().decode(body))
    if (typeof event.event === 'string') return event
  } catch {
    // Not JSON, or null: refused like any other shape.
  }
  return refuse('payload_invalid', 'not a JSON event')
}

/**
 * Like {@link unwrap}, with the facts of the signature beside the event. Where `webhook-signature` is present
 * it decides: it covers the time, and a secret that is being replaced signs it too.
 */
export const receive = async (delivery: Delivery, options: ReceiveOptions): Promise<Received> => {
  const { secret, tolerance = 300, requireTimestamp, bodyTolerance, seen } = options
  const { headers } = delivery
  const header = (name: string) =>
    `${(typeof headers.get === 'function' ? headers.get(name) : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]) ?? ''}`
  const body = toBytes(delivery.bodyUsed === false ? await delivery.arrayBuffer() : delivery.body)
  const signature = header('webhook-signature')
  let facts: SignatureFacts
  if (signature || requireTimestamp) {
    const timestamp = header('webhook-timestamp')
    facts = await prove(
      parseStandard(signature),
      await new Blob([`${header('webhook-id')}.${timestamp}.`, body]).arrayBuffer(),
      body,
      secret,
    )
    checkTime(+timestamp, tolerance)
  } else facts = await prove(parseHex(header('x-service-signature')), body, body, secret)
  const event = parseEvent(body)
  const named = header('x-service-event')
  if (named && named !== event.event) refuse('event_mismatch', 'X-Service-Event')
  if (bodyTolerance != null) checkTime(Date.parse(event.timestamp) / 1000, bodyTolerance)
  if (await seen?.(facts.dedupeKey, event)) refuse('duplicate', facts.dedupeKey)
  return { event, facts }
}

/**
 * Proves a delivery (section 6.3) and gives its event (section 6.2), parsed from the very bytes that were signed.
 * Rejects with a WebhookError, whose `code` says why.
 */
export const unwrap = async (delivery: Delivery, options: ReceiveOptions): Promise<WebhookEvent> =>
  (await receive(delivery, options)).event
