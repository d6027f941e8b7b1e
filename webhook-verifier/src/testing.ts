import { type Bytes, type RawBody, toBytes } from './bytes.ts'
import type { KnownEvent } from './event-types.ts'
import { signWebhook } from './sender.ts'
import type { Secrets } from './signature.ts'

/** An event to deliver. Missing fields get defaults. */
export interface DraftEvent {
  event: KnownEvent['event'] | (string & {})
  /** Defaults to now, ISO 8601. */
  timestamp?: string
  shop_id?: string
  data?: object
}

/** Options of {@link signedDelivery}. */
export interface SignOptions {
  /** The first one signs `X-Service-Signature`, all of them sign `webhook-signature`. */
  secret: Secrets
  /** `webhook-id`. Defaults to a new one. */
  id?: string
  /** `webhook-timestamp`, in seconds since 1970. Defaults to now. */
  timestamp?: number
  /** Headers to override, for tests of invalid deliveries. `undefined` removes a header. */
  headers?: Record<string, string | undefined>
}

/** The body and the headers of a delivery. */
export interface SignedDelivery {
  body: Bytes
  /** Names are lowercase. */
  headers: Record<string, string>
}

const isDraft = (event: DraftEvent | RawBody): event is DraftEvent => typeof event === 'object' && 'event' in event

const serialize = ({ event, timestamp = new Date().toISOString(), shop_id = 'shp_test', data = {} }: DraftEvent) =>
  JSON.stringify({ event, timestamp, shop_id, data })

const lowercaseNames = (headers: object): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/**
 * Returns the body and the headers of one delivery as the server sends them, for tests of a receiver.
 *
 * @param event Text or bytes are used as the body itself.
 * @throws {WebhookError} `secret_invalid` or `body_parsed`.
 *
 * @example
 * const { body, headers } = await signedDelivery({ event: 'test' }, { secret: 'test-secret' })
 */
export const signedDelivery = async (event: DraftEvent | RawBody, options: SignOptions): Promise<SignedDelivery> => {
  const { secret, id = `evt_${crypto.randomUUID()}`, timestamp = Math.floor(Date.now() / 1000) } = options
  const body = toBytes(isDraft(event) ? serialize(event) : event)
  const headers = {
    'content-type': 'application/json',
    ...(isDraft(event) ? { 'x-service-event': event.event } : {}),
    ...lowercaseNames(await signWebhook(body, secret, { id, timestamp })),
    ...lowercaseNames(options.headers ?? {}),
  }
  const sent = Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined)
  return { body, headers: Object.fromEntries(sent) }
}

/**
 * Returns {@link signedDelivery} as a `Request`. Its URL defaults to `https://receiver.test/webhooks`.
 *
 * @throws {WebhookError} `secret_invalid` or `body_parsed`.
 *
 * @example
 * const response = await app.fetch(await signedRequest({ event: 'test' }, { secret: 'test-secret' }))
 */
export const signedRequest = async (
  event: DraftEvent | RawBody,
  options: SignOptions & { url?: string },
): Promise<Request> => {
  const { body, headers } = await signedDelivery(event, options)
  return new Request(options.url ?? 'https://receiver.test/webhooks', { method: 'POST', headers, body })
}
