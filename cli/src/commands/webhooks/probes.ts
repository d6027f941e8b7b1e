import type { DraftEvent, SignedDelivery, SignOptions } from '@referral/webhook-verifier/testing'

/** Signs deliveries like the service. Overrides make them invalid. */
export interface ProbeContext {
  sign: (event: DraftEvent | string | Uint8Array, options?: Partial<SignOptions>) => Promise<SignedDelivery>
  secret: string
  now: number
}

/** A check for a receiver. */
export interface Probe {
  name: string
  expected: 'accept' | 'refuse'
  /** The remedy if the check fails. */
  advice: string
  /** The deliveries, which are sent in sequence. */
  deliveries: (context: ProbeContext) => Promise<SignedDelivery[]>
}

const HOUR = 3600
const event: DraftEvent = { event: 'test', data: { test: true, message: 'referral webhooks check' } }
const NO_STANDARD_HEADERS = { 'webhook-id': undefined, 'webhook-timestamp': undefined, 'webhook-signature': undefined }
/** Sends X-Service-Signature without the standard headers, so that the receiver must check it. */
const legacySignatureOnly = async (context: ProbeContext, change: (signature: string) => string | undefined) => {
  const { body, headers } = await context.sign(event)
  const signature = change(headers['x-service-signature'] ?? '')
  return [
    await context.sign(body, {
      headers: { ...NO_STANDARD_HEADERS, 'x-service-event': 'test', 'x-service-signature': signature },
    }),
  ]
}
const signRawBody = (context: ProbeContext, body: string | Uint8Array, name = 'test') =>
  context.sign(body, { headers: { 'x-service-event': name } })

// Parsing and serializing the body loses whitespace, escapes, 1.0, and key order.
const unusualJson = (context: ProbeContext) =>
  `{ "data" : {"test":true,"message":"caf\\u00e9 \\/ 1.0","amount":1.0,"big":12345678901234567890} ,\n "shop_id":"shp_check","timestamp":"${new Date(context.now).toISOString()}","event":"test"}`

export const probes: readonly Probe[] = [
  {
    name: 'a valid delivery',
    expected: 'accept',
    advice: 'Return 2xx. If all other deliveries are rejected too, the receiver has a different secret.',
    deliveries: async (context) => [await context.sign(event)],
  },
  {
    name: 'one bit of the body flipped',
    expected: 'refuse',
    advice: 'Verify the signature over the raw bytes before anything else.',
    deliveries: async (context) => {
      const { body, headers } = await context.sign(event)
      const flipped = Uint8Array.from(body)
      // Changes the message's last letter, so that the body stays valid JSON.
      const at = flipped.lastIndexOf('k'.charCodeAt(0))
      flipped[at] = (flipped[at] ?? 0) ^ 1
      return [{ body: flipped, headers }]
    },
  },
  {
    name: 'an empty signature',
    expected: 'refuse',
    advice: 'An empty X-Service-Signature means unsigned. Do not skip the verification.',
    deliveries: (context) => legacySignatureOnly(context, () => ''),
  },
  {
    name: 'no signature at all',
    expected: 'refuse',
    advice: 'Reject deliveries without signature headers.',
    deliveries: (context) => legacySignatureOnly(context, () => undefined),
  },
  {
    name: 'signed with another secret',
    expected: 'refuse',
    advice: 'Compare with the signature computed from your own secret.',
    deliveries: async (context) => [await context.sign(event, { secret: `${context.secret}x` })],
  },
  {
    name: 'the signature in uppercase',
    expected: 'refuse',
    advice: 'The signature is 64 lowercase hex digits. Compare it exactly.',
    deliveries: (context) =>
      legacySignatureOnly(context, (signature) => signature.toUpperCase().replace(/^[^A-F]*$/, 'F'.repeat(64))),
  },
  {
    name: 'half a signature',
    expected: 'refuse',
    advice: 'Check the length first: comparing buffers of different lengths throws in many libraries. Return 4xx.',
    deliveries: (context) => legacySignatureOnly(context, (signature) => signature.slice(0, 32)),
  },
  {
    name: 'signed an hour ago',
    expected: 'refuse',
    advice: 'Verify webhook-signature, which covers webhook-timestamp, and reject deliveries older than five minutes.',
    deliveries: async (context) => [await context.sign(event, { timestamp: Math.floor(context.now / 1000) - HOUR })],
  },
  {
    name: 'signed an hour ahead',
    expected: 'refuse',
    advice: 'Reject deliveries dated more than five minutes ahead, which could be replayed later.',
    deliveries: async (context) => [await context.sign(event, { timestamp: Math.floor(context.now / 1000) + HOUR })],
  },
  {
    name: 'the same delivery twice',
    expected: 'accept',
    advice: 'An event may arrive more than once: return 2xx without processing it again.',
    deliveries: async (context) => {
      const delivery = await context.sign(event)
      return [delivery, delivery]
    },
  },
  {
    name: 'JSON that changes when parsed and serialized',
    expected: 'accept',
    advice: 'The body was parsed and serialized before the verification. Pass the raw bytes to the verifier.',
    deliveries: async (context) => [await signRawBody(context, unusualJson(context))],
  },
  {
    name: 'a leading byte order mark',
    expected: 'accept',
    advice: 'The body was decoded before the verification, which removes the mark. Pass the raw bytes.',
    deliveries: async (context) => [
      await signRawBody(
        context,
        `\ufeff${JSON.stringify({ timestamp: new Date(context.now).toISOString(), shop_id: 'shp_check', ...event })}`,
      ),
    ],
  },
  {
    name: 'an unknown event type',
    expected: 'accept',
    advice: 'Later versions send more events: return 2xx for those you do not handle.',
    deliveries: async (context) => [await context.sign({ ...event, event: 'check.unknown_event' })],
  },
  {
    name: 'a body of 1 MB',
    expected: 'accept',
    advice: 'The body limit is too small. Accept at least 2 MiB.',
    deliveries: async (context) => [
      await context.sign({ ...event, data: { test: true, message: 'm'.repeat(1_000_000) } }),
    ],
  },
]
