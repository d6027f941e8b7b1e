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
const withoutStandard = { 'webhook-id': undefined, 'webhook-timestamp': undefined, 'webhook-signature': undefined }

const attempt = async (signing: Partial<SignOptions>, options: Partial<ReceiveOptions> = {}) => {
  const delivery = await signedDelivery({ event: 'test', data: { test: true } }, { secret, ...signing })
  return unwrap(delivery, { secret, ...options }).then(
    ({ event }) => event,
    (error: WebhookError) => error.code,
  )
}

describe('arguments', () => {
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
  ])('accepts a body of type: %s', async (_name, raw) => expect(await given(raw)).toBe('accepted'))

  it.each([
    ['a parsed object', { event: 'test', data: {} }],
    ['an array of numbers', [...body]],
    ['a DataView', new DataView(body.buffer)],
    ['a Blob', new Blob([body])],
    ['a stream', new Blob([body]).stream()],
    ['undefined', undefined],
    ['null', null],
    ['a number', 5],
    ['an object that resembles a buffer', { byteLength: 26, length: 26, buffer: [...body] }],
  ])('body_parsed for a body of type: %s', async (_name, raw) => expect(await given(raw)).toBe('body_parsed'))

  it.each([
    ['', 'signature_missing'],
    [null, 'signature_missing'],
    [undefined, 'signature_missing'],
    [123, 'signature_malformed'],
    [{}, 'signature_malformed'],
    [body, 'signature_malformed'],
    ['0'.repeat(64), 'signature_mismatch'],
  ])('the signature %j has the result %s', async (signature, code) => {
    await expect(verify(body, signature as string, secret)).rejects.toMatchObject({ name: 'WebhookError', code })
  })

  it.each([[''], [undefined], [null], [5], [{}], [body], [[]], [['']], [[secret, '']], [[secret, undefined]], [[[]]]])(
    'secret_invalid for %j, even next to a valid secret',
    async (wrong) => {
      const signature = await sign(body, secret)
      await expect(verify(body, signature, wrong as string)).rejects.toMatchObject({ code: 'secret_invalid' })
      await expect(sign(body, wrong as string)).rejects.toMatchObject({ code: 'secret_invalid' })
    },
  )

  it('copies the body, so that the caller can reuse its buffer', async () => {
    const buffer = Buffer.from(body)
    const { headers } = await signedDelivery(buffer, { secret })
    const pending = unwrap({ body: buffer, headers }, { secret })
    buffer.fill(0x20)
    expect(await pending).toMatchObject({ event: 'test' })
  })
})

describe('several secrets', () => {
  it('returns the index of the one that matched', async () => {
    const delivery = await signedDelivery({ event: 'test' }, { secret: 'old' })
    const { verification } = await receive(delivery, { secret: ['new', 'old'] })
    expect(verification).toMatchObject({ secretIndex: 1 })
  })

  it('a receiver with the old secret accepts deliveries signed with both', async () => {
    expect(await attempt({ secret: ['new', 'old'] }, { secret: 'old' })).toBe('test')
    const plain = { secret: ['new', 'old'], headers: withoutStandard }
    expect(await attempt(plain, { secret: 'old', requireTimestamp: false })).toBe('signature_mismatch')
  })
})

describe('the signed timestamp', () => {
  it.each([
    [0, 'test'],
    [-299, 'test'],
    [299, 'test'],
    [-302, 'timestamp_too_far'],
    [302, 'timestamp_too_far'],
  ])('a timestamp %i s from now has the result %s', async (distance, outcome) => {
    expect(await attempt({ timestamp: now() + distance })).toBe(outcome)
  })

  it('accepts another tolerance, or none', async () => {
    expect(await attempt({ timestamp: now() - 302 }, { tolerance: 600 })).toBe('test')
    expect(await attempt({ timestamp: 0 }, { tolerance: Number.POSITIVE_INFINITY })).toBe('test')
    expect(await attempt({}, { tolerance: Number.NaN })).toBe('timestamp_too_far')
  })

  it('cannot be changed, because it is signed', async () => {
    const headers = { 'webhook-timestamp': `${now()}` }
    expect(await attempt({ timestamp: now() - 1000, headers })).toBe('signature_mismatch')
  })

  it('is required unless told otherwise, because a replay could omit it', async () => {
    expect(await attempt({ headers: withoutStandard })).toBe('signature_missing')
    expect(await attempt({})).toBe('test')
    const old = { timestamp: now() - 1000, headers: withoutStandard }
    expect(await attempt(old, { requireTimestamp: false })).toBe('test')
  })

  it('of the event is checked with bodyTolerance only', async () => {
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
  ])('%s: %s, even with a valid X-Service-Signature', async (signature, code) => {
    expect(await attempt({ headers: { 'webhook-signature': signature } })).toBe(code)
  })

  it('may contain other versions and signatures of other secrets', async () => {
    const delivery = await signedDelivery({ event: 'test' }, { secret })
    const valid = delivery.headers['webhook-signature']
    const around = (count: number) => `${`v1,${'A'.repeat(43)}= `.repeat(count)}v1a,xyz ${valid}`
    const outcome = (signature: string) =>
      unwrap({ ...delivery, headers: { ...delivery.headers, 'webhook-signature': signature } }, { secret }).then(
        () => 'accepted',
        (error) => error.code,
      )
    expect(await outcome(around(6))).toBe('accepted')
    expect(await outcome(around(7))).toBe('signature_mismatch')
  })

  it('requires webhook-id and webhook-timestamp', async () => {
    expect(await attempt({ headers: { 'webhook-id': undefined } })).toBe('signature_mismatch')
    expect(await attempt({ headers: { 'webhook-timestamp': undefined } })).toBe('signature_mismatch')
  })
})

describe('headers', () => {
  it('are found in any case and any container', async () => {
    const { body, headers } = await signedDelivery({ event: 'test' }, { secret })
    const uppercased = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
    for (const shape of [
      headers,
      uppercased,
      new Headers(headers),
      new Map(Object.entries(headers)) as unknown as Headers,
    ])
      expect(await unwrap({ body, headers: shape }, { secret })).toMatchObject({ event: 'test' })
  })

  it('may include one named get', async () => {
    const { body, headers } = await signedDelivery({ event: 'test' }, { secret })
    expect(await unwrap({ body, headers: { ...headers, get: 'x' } }, { secret })).toMatchObject({ event: 'test' })
  })

  it('sent twice are rejected', async () => {
    const { body, headers } = await signedDelivery({ event: 'test' }, { secret, headers: withoutStandard })
    const twice = [headers['x-service-signature']!, headers['x-service-signature']!]
    await expect(
      unwrap({ body, headers: { 'x-service-signature': twice } }, { secret, requireTimestamp: false }),
    ).rejects.toMatchObject({
      code: 'signature_malformed',
    })
  })

  it('X-Service-Event must match the event of the body, or be absent', async () => {
    expect(await attempt({ headers: { 'x-service-event': 'commission.created' } })).toBe('event_mismatch')
    expect(await attempt({ headers: { 'x-service-event': undefined } })).toBe('test')
  })
})

describe('the payload', () => {
  it.each(['', 'null', '[]', '"text"', '5', '{}', '{"event":5}', '{"event":null}', '{', '{"event":"test"} x'])(
    'payload_invalid for a signed body that is not an event: %s',
    async (body) => {
      await expect(unwrap(await signedRequest(body, { secret }), { secret })).rejects.toMatchObject({
        code: 'payload_invalid',
      })
    },
  )

  it('of an unknown event is returned', async () => {
    const event = await unwrap(await signedRequest({ event: 'payout.completed', data: { a: 1 } }, { secret }), {
      secret,
    })
    expect(isKnownEvent(event)).toBe(false)
    expect(event).toMatchObject({ event: 'payout.completed', data: { a: 1 } })
  })

  it('cannot pollute a prototype', async () => {
    const body = '{"event":"test","data":{},"__proto__":{"polluted":true}}'
    await unwrap(await signedRequest(body, { secret }), { secret })
    expect('polluted' in {}).toBe(false)
  })
})

describe('seen', () => {
  it('is called with the same key for every delivery of an event, after verification', async () => {
    const keys: string[] = []
    const seen = (key: string) => keys.push(key) > 1
    const event = { event: 'test', timestamp: '2026-10-20T15:04:05.000Z' }
    const first = await signedDelivery(event, { secret, id: 'evt_1' })
    const again = await signedDelivery(event, { secret, id: 'evt_2', timestamp: now() - 5 })
    const stripped = await signedDelivery(event, { secret: [secret], headers: withoutStandard })
    expect(await unwrap(first, { secret, seen })).toMatchObject(event)
    for (const delivery of [again, stripped])
      await expect(unwrap(delivery, { secret, seen, requireTimestamp: false })).rejects.toMatchObject({
        code: 'duplicate',
      })
    expect(new Set(keys).size).toBe(1)
    await expect(unwrap(first, { secret: 'other', seen })).rejects.toMatchObject({ code: 'signature_mismatch' })
    expect(keys).toHaveLength(3)
  })

  it('may be async, and its errors are thrown', async () => {
    expect(await attempt({}, { seen: async () => true })).toBe('duplicate')
    const delivery = await signedDelivery({ event: 'test' }, { secret })
    const seen = async () => Promise.reject(new Error('the database is unavailable'))
    await expect(unwrap(delivery, { secret, seen })).rejects.toThrow('the database is unavailable')
  })
})

describe('an error', () => {
  it('is a WebhookError whose text contains no secret, signature or body', async () => {
    const { body, headers } = await signedDelivery({ event: 'test', data: { canary: 'body-canary' } }, { secret })
    const wrong = await unwrap({ body, headers }, { secret: ' secret-canary ' }).catch((error) => error)
    expect(wrong).toBeInstanceOf(WebhookError)
    expect(wrong.message).toMatch(/^signature_mismatch: Check the secret.*re-serialized/)
    for (const canary of [
      'secret-canary',
      'body-canary',
      headers['webhook-signature']!,
      headers['x-service-signature']!,
    ])
      expect(`${wrong.stack} ${JSON.stringify(wrong)}`).not.toContain(canary)
  })
})

it('a rejection names the header that is missing, and a time in the future', async () => {
  const message = async (signing: Partial<SignOptions>) => {
    const delivery = await signedDelivery({ event: 'test', data: { test: true } }, { secret, ...signing })
    return unwrap(delivery, { secret }).catch((error: WebhookError) => error.message)
  }
  expect(await message({ headers: withoutStandard })).toContain(
    'webhook-signature, which also signs the time, is missing',
  )
  expect(await message({ timestamp: now() + 400 })).toMatch(/\d+ s in the future/)
  expect(await message({ timestamp: now() - 400 })).toMatch(/\d+ s old/)
})
