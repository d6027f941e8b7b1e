import { type RawBody, toBytes } from './bytes.ts'
import type { KnownEvent } from './events.ts'
import type { Secrets } from './hmac.ts'
import { signWebhook } from './sender.ts'

/** An event to deliver; what is left out is filled in. */
export interface DraftEvent {
  event: KnownEvent['event'] | (string & {})
  /** Default now, ISO 8601. */
  timestamp?: string
  shop_id?: string
  data?: object
}

export interface SignOptions {
  /** Signs; of several, all sign `webhook-signature` and the first `X-Service-Signature`. */
  secret: Secrets
  /** `webhook-id`. Default a new one. */
  id?: string
  /** `webhook-timestamp`, in seconds since 1970. Default now. */
  timestamp?: number
  /** Set last, so that a test can break them; undefined leaves that header out. */
  headers?: Record<string, string | undefined>
}

export interface SignedDelivery {
  body: Uint8Array<ArrayBuffer>
  /** Named in lower case. */
  headers: Record<string, string>
}

const isDraft = (event: DraftEvent | RawBody): event is DraftEvent => typeof event === 'object' && 'event' in event

const serialise = ({ event, timestamp = new Date().toISOString(), shop_id = 'shp_test', data = {} }: DraftEvent) =>
  JSON.stringify({ event, timestamp, shop_id, data })

const lowercase = (headers: object): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/**
 * The body and the headers of one delivery, as the service sends them, for a receiver's own tests.
 * A text or bytes are taken as the body itself.
 */
export const signedDelivery = async (event: DraftEvent | RawBody, options: SignOptions): Promise<SignedDelivery> => {
  const { secret, id = `evt_${crypto.randomUUID()}`, timestamp = Math.floor(Date.now() / 1000) } = options
  const body = toBytes(isDraft(event) ? serialise(event) : event)
  const headers = {
    'content-type': 'application/json',
    ...(isDraft(event) ? { 'x-service-event': event.event } : {}),
    ...lowercase(await signWebhook(body, secret, { id, timestamp })),
    ...lowercase(options.headers ?? {}),
  }
  const sent = Object.entries(headers).filter((header): header is [string, string] => header[1] !== undefined)
  return { body, headers: Object.fromEntries(sent) }
}

/** {@link signedDelivery} as a `Request`. The default URL is `https://receiver.test/webhooks`. */
export const signedRequest = async (
  event: DraftEvent | RawBody,
  options: SignOptions & { url?: string },
): Promise<Request> => {
  const { body, headers } = await signedDelivery(event, options)
  return new Request(options.url ?? 'https://receiver.test/webhooks', { method: 'POST', headers, body })
}
