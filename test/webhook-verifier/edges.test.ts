import { sign, unwrap, verify, type WebhookError } from '@referral/webhook-verifier'
import { webhook as route } from '@referral/webhook-verifier/next'
import { signedDelivery, signedRequest, signWebhook } from '@referral/webhook-verifier/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'

const secret = 'a shared secret'
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const message = (work: Promise<unknown>) =>
  work.then(
    () => 'accepted',
    (error: Error) => error.message,
  )
const code = (work: Promise<unknown>) =>
  work.then(
    () => 'accepted',
    (error: WebhookError) => error.code,
  )

it('verifies a copy of the body, so that the caller can reuse its buffer', async () => {
  const { body, headers } = await signedDelivery({ event: 'test' }, { secret })
  const reused = Buffer.from(body)
  const pending = unwrap({ body: reused, headers }, { secret })
  reused.fill(0)
  expect((await pending).event).toBe('test')
  const again = Buffer.from(body)
  const verified = verify(again, await sign(body, secret), secret)
  again.fill(0)
  expect((await verified).secretIndex).toBe(0)
  const whole = body.slice().buffer
  const pendingWhole = verify(whole, await sign(body, secret), secret)
  new Uint8Array(whole).fill(0)
  expect((await pendingWhole).secretIndex).toBe(0)
})

it('rejects a signature with extra characters', async () => {
  const { body, headers } = await signedDelivery({ event: 'test' }, { secret })
  const valid = headers['webhook-signature']!
  const given = (signature: string) =>
    code(unwrap({ body, headers: { ...headers, 'webhook-signature': signature } }, { secret }))
  expect(await given(valid)).toBe('accepted')
  expect(await given(`v2,x ${valid}`)).toBe('accepted')
  for (const wrong of [`x${valid}`, `${valid}x`, `${valid}=`]) expect(await given(wrong)).toBe('signature_malformed')
})

it('the tolerance is inclusive', async () => {
  const timestamp = 1_800_000_000
  const delivery = await signedDelivery({ event: 'test' }, { secret, timestamp })
  for (const [ms, expected] of [
    [300_000, 'accepted'],
    [-300_000, 'accepted'],
    [300_001, 'timestamp_too_far'],
    [-300_001, 'timestamp_too_far'],
  ] as const) {
    vi.setSystemTime(timestamp * 1000 + ms)
    expect([ms, await code(unwrap(delivery, { secret }))]).toEqual([ms, expected])
  }
})

describe('error messages', () => {
  it.each([
    [
      'name the age of the timestamp',
      { timestamp: Math.floor(Date.now() / 1000) - 1000 },
      {},
      /^timestamp_too_far: .* 100\d s /,
    ],
    ['name the wrong header', { headers: { 'X-Service-Event': 'other' } }, {}, /^event_mismatch: .*X-Service-Event/],
    ['say which secret is required', {}, { secret: '' }, /^secret_invalid: The secret is missing/],
    ['name the format of a signature', { headers: { 'webhook-signature': 'v1,x' } }, {}, /^signature_malformed: .*v1,/],
    ['list causes of a mismatch', {}, { secret: 'other' }, /^signature_mismatch: Check the secret/],
  ])('%s', async (_name, signing, options, expected) => {
    const delivery = await signedDelivery({ event: 'test' }, { secret, ...signing })
    expect(await message(unwrap(delivery, { secret, ...options }))).toMatch(expected)
  })

  it('name the invalid argument of a sender', async () => {
    const stamp = { id: 'evt_1', timestamp: 1 }
    expect(await message(signWebhook('{}', secret, { ...stamp, id: 'a.b' }))).toMatch(/^id must/)
    expect(await message(signWebhook('{}', secret, { ...stamp, timestamp: 1.5 }))).toMatch(/^timestamp must/)
  })
})

describe('the Web request adapter', () => {
  const post = route({ secret, maxBytes: 2000 }, () => undefined)
  const respond = async (request: Request) => {
    const response = await post(request)
    return [response.status, await response.json()]
  }
  const silent = () => vi.spyOn(console, 'warn').mockImplementation(() => undefined)

  it('logs the reason and responds with the code only', async () => {
    const warned = silent()
    expect(await respond(await signedRequest({ event: 'test' }, { secret: 'other' }))).toEqual([
      400,
      { error: 'signature_mismatch' },
    ])
    expect(warned).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(/^signature_mismatch: /))
  })

  it('rejects a body that was read, is locked or is missing', async () => {
    silent()
    const read = await signedRequest({ event: 'test' }, { secret })
    await read.clone().text()
    await read.text()
    expect(await respond(read)).toEqual([500, { error: 'body_parsed' }])
    const locked = await signedRequest({ event: 'test' }, { secret })
    locked.body?.getReader()
    expect(await respond(locked)).toEqual([500, { error: 'body_parsed' }])
    expect(await respond(new Request('https://receiver.test/', { method: 'POST' }))).toEqual([
      400,
      { error: 'signature_missing' },
    ])
  })

  it('accepts a body of exactly maxBytes', async () => {
    silent()
    const sized = (length: number) => {
      const bare = JSON.stringify({ event: 'test', data: '' }).length
      return signedRequest(JSON.stringify({ event: 'test', data: 'x'.repeat(length - bare) }), { secret })
    }
    expect(await respond(await sized(2000))).toEqual([200, { ok: true }])
    expect(await respond(await sized(2001))).toEqual([413, { error: 'body_too_large' }])
  })

  it('responds with 200 to a duplicate', async () => {
    const seen = route({ secret, seen: () => true }, () => {
      throw new Error('called again')
    })
    const response = await seen(await signedRequest({ event: 'test' }, { secret }))
    expect([response.status, await response.json()]).toEqual([200, { ok: true }])
  })
})
