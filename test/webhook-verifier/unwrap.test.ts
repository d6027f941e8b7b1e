import {
  isKnownEvent,
  type ReceiveOptions,
  receive,
  sign,
  unwrap,
  verify,
  WebhookError,
} from '@referral/webhook-verifier'
import { type SignOptions, signedDelivery, signedRequest } from '@referral/webhook-verifier/testing'
import { describe, expect, it } from 'vitest'

const secret = 'a shared secret'
const now = () => Math.floor(Date.now() / 1000)
const bare = { 'webhook-id': undefined, 'webhook-timestamp': undefined, 'webhook-signature': undefined }

const attempt = async (signing: Partial<SignOptions>, options: Partial<ReceiveOptions> = {}) => {
  const delivery = await signedDelivery({ event: 'test', data: { test: true } }, { secret, ...signing })
  return unwrap(delivery, { secret, ...options }).then(
    ({ event }) => event,
    (error: WebhookError) => error.code,
  )
}

describe('what is given', () => {
  const body = new TextEncoder().encode('{"event":"test","data":{}}')
  const given = async (raw: unknown) =>
    verify(raw as string, await sign(body, secret), secret).then(
      () => 'accepted',
      (error) => error.code,
    )

  it.each([
    ['a Uint8Array', body],
    ['a Buffer', Buffer.from(body)],
    ['a slice of a larger buffer', Buffer.from(`xx${'{"event":"test","data":{}}'}xx`).subarray(2, -2)],
    ['an ArrayBuffer', body.buffer],
    ['text', '{"event":"test","data":{}}'],
  ])('is accepted: %s', async (_name, raw) => expect(await given(raw)).toBe('accepted'))

  it.each([
    ['a parsed object', { event: 'test', data: {} }],
    ['an array of numbers', [...body]],
    ['a DataView', new DataView(body.buffer)],
    ['a Blob', new Blob([body])],
    ['a stream', new Blob([body]).stream()],
    ['undefined', undefined],
    ['null', null],
    ['a number', 5],
    ['an object that says it has bytes', { byteLength: 26, length: 26, buffer: [...body] }],
  ])('is refused as body_parsed: %s', async (_name, raw) => expect(await given(raw)).toBe('body_parsed'))

  it.each([
    ['', 'signature_missing'],
    [null, 'signature_missing'],
    [undefined, 'signature_missing'],
    [123, 'signature_malformed'],
    [{}, 'signature_malformed'],
    [body, 'signature_malformed'],
    ['0'.repeat(64), 'signature_mismatch'],
  ])('a signature %j is %s', async (signature, code) => {
    await expect(verify(body, signature as string, secret)).rejects.toMatchObject({ name: 'WebhookError', code })
  })

  it.each([[''], [undefined], [null], [5], [{}], [body], [[]], [['']], [[secret, '']], [[secret, undefined]], [[[]]]])(
    'a secret %j is refused, even beside a right one',
    async (wrong) => {
      const signature = await sign(body, secret)
      await expect(verify(body, signature, wrong as string)).rejects.toMatchObject({ code: 'secret_invalid' })
      await expect(sign(body, wrong as string)).rejects.toMatchObject({ code: 'secret_invalid' })
    },
  )

  it('is copied at once: a buffer reused meanwhile changes nothing', async () => {
    const buffer = Buffer.from(body)
    const { headers } = await signedDelivery(buffer, { secret })
    const pending = unwrap({ body: buffer, headers }, { secret })
    buffer.fill(0x20)
    expect(await pending).toMatchObject({ event: 'test' })
  })
})

describe('several secrets', () => {
  it('says which one matched', async () => {
    const delivery = await signedDelivery({ event: 'test' }, { secret: 'old' })
    const { facts } = await receive(delivery, { secret: ['new', 'old'] })
    expect(facts).toMatchObject({ secretIndex: 1 })
  })

  it('a receiver with the old one alone stays served while the sender signs with both', async () => {
    expect(await attempt({ secret: ['new', 'old'] }, { secret: 'old' })).toBe('test')
    expect(await attempt({ secret: ['new', 'old'], headers: bare }, { secret: 'old' })).toBe('signature_mismatch')
  })
})

describe('the signed time', () => {
  it.each([
    [0, 'test'],
    [-299, 'test'],
    [299, 'test'],
    [-302, 'timestamp_too_far'],
    [302, 'timestamp_too_far'],
  ])('%i s away by default: %s', async (distance, outcome) => {
    expect(await attempt({ timestamp: now() + distance })).toBe(outcome)
  })

  it('takes another tolerance, and none', async () => {
    expect(await attempt({ timestamp: now() - 302 }, { tolerance: 600 })).toBe('test')
    expect(await attempt({ timestamp: 0 }, { tolerance: Number.POSITIVE_INFINITY })).toBe('test')
    expect(await attempt({}, { tolerance: Number.NaN })).toBe('timestamp_too_far')
  })

  it('cannot be moved: it is signed', async () => {
    const headers = { 'webhook-timestamp': `${now()}` }
    expect(await attempt({ timestamp: now() - 1000, headers })).toBe('signature_mismatch')
  })

  it('can be asked for, or a replay could leave it out', async () => {
    expect(await attempt({ timestamp: now() - 1000, headers: bare })).toBe('test')
    expect(await attempt({ headers: bare }, { requireTimestamp: true })).toBe('signature_missing')
    expect(await attempt({}, { requireTimestamp: true })).toBe('test')
  })

  it('of the event itself counts only when asked', async () => {
    const old = { event: 'test', timestamp: '2026-01-01T00:00:00.000Z' }
    const delivery = await signedDelivery(old, { secret })
    expect(await unwrap(delivery, { secret })).toMatchObject(old)
    await expect(unwrap(delivery, { secret, bodyTolerance: 3600 })).rejects.toMatchObject({ code: 'timestamp_too_far' })
    const timeless = await signedDelivery('{"event":"test","data":{}}', { secret })
    await expect(unwrap(timeless, { secret, bodyTolerance: 3600 })).rejects.toMatchObject({ code: 'timestamp_too_far' })
    expect(await attempt({}, { bodyTolerance: 3600 })).toBe('test')
  })
})

describe('webhook-signature', () => {
  it.each([
    ['v2,x v1a,y', 'signature_malformed'],
    ['v1,', 'signature_malformed'],
    ['v1,AAAA', 'signature_malformed'],
    [`v1,${'A'.repeat(43)}=`, 'signature_mismatch'],
    [`v1,${'A'.repeat(42)}B=`, 'signature_malformed'],
    [`v1,${'A'.repeat(44)}`, 'signature_malformed'],
    [`v1,${'_'.repeat(43)}=`, 'signature_malformed'],
  ])('%s is %s, whatever X-Service-Signature says', async (signature, code) => {
    expect(await attempt({ headers: { 'webhook-signature': signature } })).toBe(code)
  })

  it('may hold other versions and other secrets beside ours', async () => {
    const delivery = await signedDelivery({ event: 'test' }, { secret })
    const ours = delivery.headers['webhook-signature']
    const around = (count: number) => `${`v1,${'A'.repeat(43)}= `.repeat(count)}v1a,xyz ${ours}`
    const outcome = (signature: string) =>
      unwrap({ ...delivery, headers: { ...delivery.headers, 'webhook-signature': signature } }, { secret }).then(
        () => 'accepted',
        (error) => error.code,
      )
    expect(await outcome(around(6))).toBe('accepted')
    expect(await outcome(around(7))).toBe('signature_mismatch')
  })

  it('needs its id and its time', async () => {
    expect(await attempt({ headers: { 'webhook-id': undefined } })).toBe('signature_mismatch')
    expect(await attempt({ headers: { 'webhook-timestamp': undefined } })).toBe('signature_mismatch')
  })
})

describe('headers', () => {
  it('in any case and any shape are found', async () => {
    const { body, headers } = await signedDelivery({ event: 'test' }, { secret })
    const shouted = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
    for (const shape of [
      headers,
      shouted,
      new Headers(headers),
      new Map(Object.entries(headers)) as unknown as Headers,
    ])
      expect(await unwrap({ body, headers: shape }, { secret })).toMatchObject({ event: 'test' })
  })

  it('a header named get does not break the reading', async () => {
    const { body, headers } = await signedDelivery({ event: 'test' }, { secret })
    expect(await unwrap({ body, headers: { ...headers, get: 'x' } }, { secret })).toMatchObject({ event: 'test' })
  })

  it('sent twice are refused', async () => {
    const { body, headers } = await signedDelivery({ event: 'test' }, { secret, headers: bare })
    const twice = [headers['x-service-signature']!, headers['x-service-signature']!]
    await expect(unwrap({ body, headers: { 'x-service-signature': twice } }, { secret })).rejects.toMatchObject({
      code: 'signature_malformed',
    })
  })

  it('X-Service-Event must name the event of the body, or be absent', async () => {
    expect(await attempt({ headers: { 'x-service-event': 'commission.created' } })).toBe('event_mismatch')
    expect(await attempt({ headers: { 'x-service-event': undefined } })).toBe('test')
  })
})

describe('the payload', () => {
  it.each(['', 'null', '[]', '"text"', '5', '{}', '{"event":5}', '{"event":null}', '{', '{"event":"test"} x'])(
    'signed, but not an event, is payload_invalid: %s',
    async (body) => {
      await expect(unwrap(await signedRequest(body, { secret }), { secret })).rejects.toMatchObject({
        code: 'payload_invalid',
      })
    },
  )

  it('of an event nobody knows yet is given all the same', async () => {
    const event = await unwrap(await signedRequest({ event: 'payout.completed', data: { a: 1 } }, { secret }), {
      secret,
    })
    expect(isKnownEvent(event)).toBe(false)
    expect(event).toMatchObject({ event: 'payout.completed', data: { a: 1 } })
  })

  it('cannot reach a prototype', async () => {
    const body = '{"event":"test","data":{},"__proto__":{"polluted":true}}'
    await unwrap(await signedRequest(body, { secret }), { secret })
    expect('polluted' in {}).toBe(false)
  })
})

describe('seen', () => {
  it('is asked with one key for every delivery of an event, only after the proof', async () => {
    const asked: string[] = []
    const seen = (key: string) => asked.push(key) > 1
    const event = { event: 'test', timestamp: '2026-10-20T15:04:05.000Z' }
    const first = await signedDelivery(event, { secret, id: 'evt_1' })
    const again = await signedDelivery(event, { secret, id: 'evt_2', timestamp: now() - 5 })
    const stripped = await signedDelivery(event, { secret: [secret], headers: bare })
    expect(await unwrap(first, { secret, seen })).toMatchObject(event)
    for (const delivery of [again, stripped])
      await expect(unwrap(delivery, { secret, seen })).rejects.toMatchObject({ code: 'duplicate' })
    expect(new Set(asked).size).toBe(1)
    await expect(unwrap(first, { secret: 'other', seen })).rejects.toMatchObject({ code: 'signature_mismatch' })
    expect(asked).toHaveLength(3)
  })

  it('may answer later, and what it throws is thrown', async () => {
    expect(await attempt({}, { seen: async () => true })).toBe('duplicate')
    const delivery = await signedDelivery({ event: 'test' }, { secret })
    const seen = async () => Promise.reject(new Error('the database is away'))
    await expect(unwrap(delivery, { secret, seen })).rejects.toThrow('the database is away')
  })
})

describe('an error', () => {
  it('is a WebhookError whose text holds no secret, signature or body', async () => {
    const { body, headers } = await signedDelivery({ event: 'test', data: { canary: 'body-canary' } }, { secret })
    const wrong = await unwrap({ body, headers }, { secret: ' secret-canary ' }).catch((error) => error)
    expect(wrong).toBeInstanceOf(WebhookError)
    expect(wrong.message).toMatch(/^signature_mismatch: .*white space.*re-serialised/)
    for (const canary of [
      'secret-canary',
      'body-canary',
      headers['webhook-signature']!,
      headers['x-service-signature']!,
    ])
      expect(`${wrong.stack} ${JSON.stringify(wrong)}`).not.toContain(canary)
  })
})
