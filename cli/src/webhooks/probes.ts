import type { DraftEvent, SignedDelivery, SignOptions } from '@referral/webhook-verifier/testing'

/** Makes deliveries as the service does; what is given last breaks them. */
export interface ProbeContext {
  sign: (event: DraftEvent | string | Uint8Array, options?: Partial<SignOptions>) => Promise<SignedDelivery>
  secret: string
  now: number
}

/** Something a receiver must get right. */
export interface Probe {
  name: string
  expected: 'accept' | 'refuse'
  /** What to do when it does not. */
  advice: string
  /** Deliveries that are sent one after the other. */
  deliveries: (kit: ProbeContext) => Promise<SignedDelivery[]>
}

const HOUR = 3600
const event: DraftEvent = { event: 'test', data: { test: true, message: 'referral webhooks check' } }
const NO_STANDARD_HEADERS = { 'webhook-id': undefined, 'webhook-timestamp': undefined, 'webhook-signature': undefined }
/** Only the old signature, so that a broken one is all there is to judge by. */
const legacySignatureOnly = async (kit: ProbeContext, change: (signature: string) => string | undefined) => {
  const { body, headers } = await kit.sign(event)
  const signature = change(headers['x-service-signature'] ?? '')
  return [
    await kit.sign(body, {
      headers: { ...NO_STANDARD_HEADERS, 'x-service-event': 'test', 'x-service-signature': signature },
    }),
  ]
}
const signRawBody = (kit: ProbeContext, body: string | Uint8Array, name = 'test') =>
  kit.sign(body, { headers: { 'x-service-event': name } })

// Spaces, escapes, a number with a zero and the order of keys: all lost when the body is parsed and written again.
const unusualJson = (kit: ProbeContext) =>
  `{ "data" : {"test":true,"message":"caf\\u00e9 \\/ 1.0","amount":1.0,"big":12345678901234567890} ,\n "shop_id":"shp_check","timestamp":"${new Date(kit.now).toISOString()}","event":"test"}`

export const probes: readonly Probe[] = [
  {
    name: 'a valid delivery',
    expected: 'accept',
    advice: 'Answer 2xx. If all else is refused too, the receiver has another secret.',
    deliveries: async (kit) => [await kit.sign(event)],
  },
  {
    name: 'one bit of the body flipped',
    expected: 'refuse',
    advice: 'Check the signature over the raw bytes before anything else.',
    deliveries: async (kit) => {
      const { body, headers } = await kit.sign(event)
      const flipped = Uint8Array.from(body)
      // The last letter of the message: still JSON, another content.
      const at = flipped.lastIndexOf('k'.charCodeAt(0))
      flipped[at] = (flipped[at] ?? 0) ^ 1
      return [{ body: flipped, headers }]
    },
  },
  {
    name: 'an empty signature',
    expected: 'refuse',
    advice: 'An empty X-Service-Signature means unsigned. Do not skip the check for it.',
    deliveries: (kit) => legacySignatureOnly(kit, () => ''),
  },
  {
    name: 'no signature at all',
    expected: 'refuse',
    advice: 'Refuse a delivery without signature headers.',
    deliveries: (kit) => legacySignatureOnly(kit, () => undefined),
  },
  {
    name: 'signed with another secret',
    expected: 'refuse',
    advice: 'Compare with the signature that your own secret makes.',
    deliveries: async (kit) => [await kit.sign(event, { secret: `${kit.secret}x` })],
  },
  {
    name: 'the signature in capitals',
    expected: 'refuse',
    advice: 'The signature is 64 lowercase hex digits; a loose comparison accepts more than was signed.',
    deliveries: (kit) =>
      legacySignatureOnly(kit, (signature) => signature.toUpperCase().replace(/^[^A-F]*$/, 'F'.repeat(64))),
  },
  {
    name: 'half a signature',
    expected: 'refuse',
    advice: 'Check its form first: comparing buffers of different lengths throws in many libraries. Refuse with 4xx.',
    deliveries: (kit) => legacySignatureOnly(kit, (signature) => signature.slice(0, 32)),
  },
  {
    name: 'signed an hour ago',
    expected: 'refuse',
    advice: 'Verify webhook-signature, which covers webhook-timestamp, and refuse what is older than five minutes.',
    deliveries: async (kit) => [await kit.sign(event, { timestamp: Math.floor(kit.now / 1000) - HOUR })],
  },
  {
    name: 'signed an hour ahead',
    expected: 'refuse',
    advice: 'Refuse what is dated more than five minutes ahead, or an old delivery can be kept fresh.',
    deliveries: async (kit) => [await kit.sign(event, { timestamp: Math.floor(kit.now / 1000) + HOUR })],
  },
  {
    name: 'the same delivery twice',
    expected: 'accept',
    advice: 'An event may arrive more than once: answer 2xx and do nothing the second time.',
    deliveries: async (kit) => {
      const delivery = await kit.sign(event)
      return [delivery, delivery]
    },
  },
  {
    name: 'JSON that does not survive parsing',
    expected: 'accept',
    advice: 'The body was parsed and written again before the check. Hand the raw bytes to the verifier.',
    deliveries: async (kit) => [await signRawBody(kit, unusualJson(kit))],
  },
  {
    name: 'a byte order mark in front',
    expected: 'accept',
    advice: 'The body was decoded before the check, which drops the mark. Keep bytes.',
    deliveries: async (kit) => [
      await signRawBody(
        kit,
        `\ufeff${JSON.stringify({ timestamp: new Date(kit.now).toISOString(), shop_id: 'shp_check', ...event })}`,
      ),
    ],
  },
  {
    name: 'an event nobody knows yet',
    expected: 'accept',
    advice: 'Later versions send more events: answer 2xx to what you do not handle.',
    deliveries: async (kit) => [await kit.sign({ ...event, event: 'check.unknown_event' })],
  },
  {
    name: 'a body of 1 MB',
    expected: 'accept',
    advice: 'The body limit is too small; 2 MiB is enough.',
    deliveries: async (kit) => [await kit.sign({ ...event, data: { test: true, message: 'm'.repeat(1_000_000) } })],
  },
]
