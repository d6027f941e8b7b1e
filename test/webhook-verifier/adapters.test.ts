import type { WebhookEvent } from '@referral/webhook-verifier'
import { webhook } from '@referral/webhook-verifier/next'
import { signedRequest } from '@referral/webhook-verifier/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type Options, type Receiver, receivers } from './receivers.ts'

const secret = 'a shared secret'
const bytes = (text: string) => new TextEncoder().encode(text)
const event = (text: string) =>
  `{"event":"test","timestamp":"2026-10-20T15:04:05.000Z","shop_id":"shp_1","data":${text}}`

const unusualBodies: { name: string; body: string | Uint8Array<ArrayBuffer>; data: unknown }[] = [
  { name: 'a byte order mark', body: `\ufeff${event('{"a":1}')}`, data: { a: 1 } },
  { name: 'U+2028', body: event('{"a":"\u2028"}'), data: { a: '\u2028' } },
  {
    name: 'invalid UTF-8',
    body: new Uint8Array(
      Buffer.concat([bytes(event('{"a":"').slice(0, -1)), Buffer.from('c328ff', 'hex'), bytes('"}}')]),
    ),
    data: { a: '\ufffd(\ufffd' },
  },
  { name: 'duplicate keys', body: event('{"a":1,"a":2}'), data: { a: 2 } },
  { name: '1e2', body: event('{"a":1e2}'), data: { a: 100 } },
  { name: 'whitespace', body: ` ${event('{ "a" :\t1 }')}\r\n`, data: { a: 1 } },
  { name: '1 MB', body: event(`{"a":"${'x'.repeat(1_048_576)}"}`), data: { a: 'x'.repeat(1_048_576) } },
]

describe.each(Object.entries(receivers))('%s', (_name, start) => {
  const stop: (() => unknown)[] = []
  afterEach(async () => {
    vi.restoreAllMocks()
    await Promise.all(stop.splice(0).map((close) => close()))
  })

  const receiver = async (options: Partial<Options> = {}, handler?: (event: WebhookEvent) => unknown) => {
    const events: WebhookEvent[] = []
    const rejected: string[] = []
    const started: Receiver = await start(
      { secret, onRejected: (error) => rejected.push(error.message), ...options },
      handler ?? ((received) => events.push(received)),
    )
    stop.push(started.close)
    return { fetch: started.fetch, events, rejected }
  }

  it.each(unusualBodies)('accepts a body unchanged: $name', async ({ body, data }) => {
    const { fetch, events } = await receiver()
    const response = await fetch(await signedRequest(body, { secret }))
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ ok: true })
    expect(events).toMatchObject([{ event: 'test', data }])
  })

  it.each(unusualBodies)('rejects a body with one flipped bit: $name', async ({ body }) => {
    const { fetch, events } = await receiver()
    const flipped = typeof body === 'string' ? bytes(body) : body.slice()
    const request = await signedRequest(flipped, { secret })
    flipped[flipped.length >> 1]! ^= 1
    const response = await fetch(new Request(request.url, { method: 'POST', headers: request.headers, body: flipped }))
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 'signature_mismatch' })
    expect(events).toEqual([])
  })

  it('400 payload_invalid for an empty body with a valid signature', async () => {
    const { fetch, rejected } = await receiver()
    const response = await fetch(await signedRequest('', { secret }))
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: 'payload_invalid' })
    expect(rejected).toEqual([expect.stringMatching(/^payload_invalid: /)])
  })

  it.each(['text/plain', 'application/octet-stream', 'application/json; charset=utf-16', ''])(
    'accepts any content type: %s',
    async (type) => {
      const { fetch, events } = await receiver()
      const headers = { 'content-type': type || undefined }
      expect((await fetch(await signedRequest(event('{}'), { secret, headers }))).status).toBe(200)
      expect(events).toHaveLength(1)
    },
  )

  it('accepts X-Service-Signature without webhook-signature if no timestamp is required', async () => {
    const headers = { 'webhook-id': undefined, 'webhook-timestamp': undefined, 'webhook-signature': undefined }
    const request = () => signedRequest({ event: 'test' }, { secret, headers })
    const strict = await receiver()
    expect((await strict.fetch(await request())).status).toBe(400)
    const { fetch, events } = await receiver({ requireTimestamp: false })
    expect((await fetch(await request())).status).toBe(200)
    expect(events).toHaveLength(1)
  })

  it('400 signature_missing without a signature', async () => {
    const { fetch } = await receiver()
    const response = await fetch(new Request('https://receiver.test/webhooks', { method: 'POST', body: event('{}') }))
    expect([response.status, await response.json()]).toEqual([400, { error: 'signature_missing' }])
  })

  it('413 body_too_large for a body over maxBytes', async () => {
    const { fetch, rejected } = await receiver({ maxBytes: 1000 })
    const response = await fetch(await signedRequest(event(`{"a":"${'x'.repeat(100_000)}"}`), { secret }))
    if (_name === 'express with express.raw()') return expect(response.status).toBe(200)
    expect([response.status, await response.json()]).toEqual([413, { error: 'body_too_large' }])
    expect(rejected).toEqual([expect.stringMatching(/^body_too_large: .*1000/)])
  })

  it.each([undefined, '', [], [secret, '']])('secret_invalid when it is made with the secret %j', async (wrong) => {
    await expect(receiver({ secret: wrong as string })).rejects.toMatchObject({ code: 'secret_invalid' })
  })

  it('200 without calling the handler for a duplicate', async () => {
    const keys = new Set<string>()
    const { fetch, events, rejected } = await receiver({ seen: (key) => keys.has(key) || !keys.add(key) })
    const body = event('{"a":1}')
    for (let delivery = 0; delivery < 3; delivery++)
      expect((await fetch(await signedRequest(body, { secret }))).status).toBe(200)
    expect(events).toHaveLength(1)
    expect(rejected).toEqual([])
  })

  it('500 when the handler throws', async () => {
    // Hono logs the error of a handler.
    vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const { fetch } = await receiver({ onError: () => undefined }, async () => {
      throw new Error('the database is unavailable')
    })
    const response = fetch(await signedRequest({ event: 'test' }, { secret }))
    if (_name === 'next') return expect(response).rejects.toThrow('the database is unavailable')
    expect((await response).status).toBe(500)
  })
})

it('500 secret_invalid without calling the handler when the options of a request have no secret', async () => {
  const handler = vi.fn()
  const onRejected = vi.fn()
  const POST = webhook(() => ({ secret: '', onRejected }), handler)
  const response = await POST(await signedRequest({ event: 'test' }, { secret }))
  expect([response.status, await response.json()]).toEqual([500, { error: 'secret_invalid' }])
  expect([handler, onRejected].map(({ mock }) => mock.calls.length)).toEqual([0, 1])
})
