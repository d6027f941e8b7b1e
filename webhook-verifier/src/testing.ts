import { type Bytes, encode, type RawBody, toBytes, toHex } from './bytes.ts'
import type { KnownEvent } from './event-types.ts'
import { importKeys, type Secrets } from './signature.ts'

/** What Standard Webhooks signs together with the body. */
export interface WebhookMetadata {
  /** The same for every delivery of one event: printable ASCII without a dot. */
  id: string
  /** When this delivery is sent, in whole seconds since 1970. */
  timestamp: number
}

/** A delivery's signature headers. */
export interface SignatureHeaders {
  'X-Service-Signature': string
  'webhook-id': string
  'webhook-timestamp': string
  'webhook-signature': string
}

/**
 * Returns the signature headers that the server sends with a body.
 *
 * @param secrets The first one signs `X-Service-Signature`; each adds a `v1,<base64>` to `webhook-signature`.
 * @throws {WebhookError} `secret_invalid` or `body_parsed`.
 * @throws {RangeError} when `id` or `timestamp` is malformed.
 *
 * @example
 * const headers = await signWebhook(body, [newSecret, oldSecret], { id: 'evt_1', timestamp: Math.floor(Date.now() / 1000) })
 */
export const signWebhook = async (
  rawBody: RawBody,
  secrets: Secrets,
  { id, timestamp }: WebhookMetadata,
): Promise<SignatureHeaders> => {
  if (!/^[!-\-/-~]+$/.test(id)) throw new RangeError('id must be printable ASCII without a dot.')
  // More than eleven digits are milliseconds.
  if (!/^\d{1,11}$/.test(`${timestamp}`)) throw new RangeError('timestamp must be in whole seconds since 1970.')
  const body = toBytes(rawBody)
  const signed = new Uint8Array([...encode(`${id}.${timestamp}.`), ...body])
  const keys = await importKeys(secrets)
  const signatures = await Promise.all(keys.map((key) => crypto.subtle.sign('HMAC', key, signed)))
  return {
    'X-Service-Signature': toHex(await crypto.subtle.sign('HMAC', keys[0]!, body)),
    'webhook-id': id,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': signatures
      .map((signature) => `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}`)
      .join(' '),
  }
}

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

/** The body and a delivery's headers. */
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
