import { sign, unwrap, verify, type WebhookError } from '@referral/webhook-verifier'
import { webhook as route } from '@referral/webhook-verifier/next'
import { signWebhook } from '@referral/webhook-verifier/sender'
import { signedDelivery, signedRequest } from '@referral/webhook-verifier/testing'
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

it('proves the bytes as they were given, although their buffer is used again meanwhile', async () => {
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

it('takes a whole signature only, with nothing before or behind it', async () => {
  const { body, headers } = await signedDelivery({ event: 'test' }, { secret })
  const right = headers['webhook-signature']!
  const given = (signature: string) =>
    code(unwrap({ body, headers: { ...headers, 'webhook-signature': signature } }, { secret }))
  expect(await given(right)).toBe('accepted')
  expect(await given(`v2,x ${right}`)).toBe('accepted')
  for (const wrong of [`x${right}`, `${right}x`, `${right}=`]) expect(await given(wrong)).toBe('signature_malformed')
})

it('takes a signed time that is exactly as far away as allowed, and none that is further', async () => {
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

describe('a refusal says what to look at', () => {
  it.each([
    [
      'how old the signed time is',
      { timestamp: Math.floor(Date.now() / 1000) - 1000 },
      {},
      /^timestamp_too_far: 100\d s old$/,
    ],
    ['which header is wrong', { headers: { 'X-Service-Event': 'other' } }, {}, /^event_mismatch: X-Service-Event$/],
    ['what a secret must be', {}, { secret: '' }, /^secret_invalid: empty or not a string$/],
    ['how a signature looks', { headers: { 'webhook-signature': 'v1,x' } }, {}, /^signature_malformed: .*v1,/],
    ['what may have changed the bytes', {}, { secret: 'other' }, /^signature_mismatch: another secret, white space/],
  ])('%s', async (_name, signing, options, expected) => {
    const delivery = await signedDelivery({ event: 'test' }, { secret, ...signing })
    expect(await message(unwrap(delivery, { secret, ...options }))).toMatch(expected)
  })

  it('what a sender may not send', async () => {
    const stamp = { id: 'evt_1', timestamp: 1 }
    expect(await message(signWebhook('{}', secret, { ...stamp, id: 'a.b' }))).toBe(
      'id must be printable ASCII without a dot',
    )
    expect(await message(signWebhook('{}', secret, { ...stamp, timestamp: 1.5 }))).toBe(
      'timestamp must be whole seconds since 1970',
    )
  })
})

describe('a route of Web requests', () => {
  const post = route({ secret, maxBytes: 2000 }, () => undefined)
  const answered = async (request: Request) => {
    const response = await post(request)
    return [response.status, await response.json()]
  }
  const silent = () => vi.spyOn(console, 'warn').mockImplementation(() => undefined)

  it('tells the console why it refused, and the caller only the code', async () => {
    const warned = silent()
    expect(await answered(await signedRequest({ event: 'test' }, { secret: 'other' }))).toEqual([
      400,
      { error: 'signature_mismatch' },
    ])
    expect(warned).toHaveBeenCalledExactlyOnceWith(expect.stringMatching(/^signature_mismatch: /))
  })

  it('refuses a body that was read or is being read, and one that is missing', async () => {
    silent()
    const read = await signedRequest({ event: 'test' }, { secret })
    await read.clone().text()
    await read.text()
    expect(await answered(read)).toEqual([500, { error: 'body_parsed' }])
    const locked = await signedRequest({ event: 'test' }, { secret })
    locked.body?.getReader()
    expect(await answered(locked)).toEqual([500, { error: 'body_parsed' }])
    expect(await answered(new Request('https://receiver.test/', { method: 'POST' }))).toEqual([
      400,
      { error: 'signature_missing' },
    ])
  })

  it('takes a body of exactly as many bytes as it reads', async () => {
    silent()
    const sized = (length: number) => {
      const bare = JSON.stringify({ event: 'test', data: '' }).length
      return signedRequest(JSON.stringify({ event: 'test', data: 'x'.repeat(length - bare) }), { secret })
    }
    expect(await answered(await sized(2000))).toEqual([200, { ok: true }])
    expect(await answered(await sized(2001))).toEqual([413, { error: 'body_too_large' }])
  })

  it('answers what it has seen before as done', async () => {
    const seen = route({ secret, seen: () => true }, () => {
      throw new Error('not again')
    })
    const response = await seen(await signedRequest({ event: 'test' }, { secret }))
    expect([response.status, await response.json()]).toEqual([200, { ok: true }])
  })
})
