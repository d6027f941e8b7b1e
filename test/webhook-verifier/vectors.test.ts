import { createHmac } from 'node:crypto'
import { sign, unwrap, verify, WebhookError } from '@referral/webhook-verifier'
import { signWebhook } from '@referral/webhook-verifier/testing'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, vi } from 'vitest'
import { fromHex, vectors } from './vectors.ts'

describe('every vector', () => {
  it.each(vectors.accept)('verify accepts: $name', async ({ body, secret, signature }) => {
    expect(await verify(fromHex(body), signature, secret)).toMatchObject({ secretIndex: 0 })
    expect(await sign(fromHex(body), secret)).toBe(signature)
  })

  it.each(vectors.reject)('verify and unwrap reject: $name', async ({ body, secret, signature }) => {
    await expect(verify(fromHex(body), signature, secret)).rejects.toThrow(WebhookError)
    const headers = { 'x-service-signature': signature }
    await expect(unwrap({ body: fromHex(body), headers }, { secret })).rejects.toThrow(WebhookError)
  })

  it.each(vectors.accept)('equals the result of node:crypto: $name', ({ body, secret, signature, ...metadata }) => {
    const hmac = () => createHmac('sha256', Buffer.from(secret, 'utf8'))
    expect(hmac().update(fromHex(body)).digest('hex')).toBe(signature)
    const standard = hmac().update(`${metadata.id}.${metadata.timestamp}.`).update(fromHex(body)).digest('base64')
    expect(`v1,${standard}`).toBe(metadata.standardSignature)
  })

  it.each(vectors.accept)(
    'equals the result of signWebhook: $name',
    async ({ body, secret, signature, ...metadata }) => {
      expect(await signWebhook(fromHex(body), secret, metadata)).toEqual({
        'X-Service-Signature': signature,
        'webhook-id': metadata.id,
        'webhook-timestamp': `${metadata.timestamp}`,
        'webhook-signature': metadata.standardSignature,
      })
    },
  )
})

describe('Standard Webhooks', () => {
  it('its library accepts what signWebhook returns, given whsec_ and the base64 of the secret', async () => {
    const [vector] = vectors.accept
    const timestamp = Math.floor(Date.now() / 1000)
    const headers = await signWebhook(fromHex(vector!.body), ['new', vector!.secret], { id: 'evt_1', timestamp })
    const library = new Webhook(`whsec_${Buffer.from(vector!.secret, 'utf8').toString('base64')}`)
    expect(library.verify(Buffer.from(fromHex(vector!.body)), { ...headers })).toMatchObject({
      event: 'commission.created',
    })
  })

  it('unwrap accepts what its library signs', async () => {
    const body = Buffer.from('{"event":"test","data":{}}')
    const now = new Date()
    const library = new Webhook(Buffer.from('a secret'), { format: 'raw' })
    const headers = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': `${Math.floor(now.getTime() / 1000)}`,
      'webhook-signature': library.sign('evt_1', now, body),
    }
    expect(await unwrap({ body, headers }, { secret: 'a secret' })).toMatchObject({ event: 'test' })
  })
})

describe('every single flipped bit', () => {
  const { body, secret, signature, id, timestamp, standardSignature } = vectors.accept[0]!
  const bytes = fromHex(body)

  const flips = (source: Uint8Array) =>
    Array.from({ length: source.length * 8 }, (_, bit) => {
      const flipped = source.slice()
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      return flipped
    })

  const codeOf = (attempt: Promise<unknown>) =>
    attempt.then(
      () => 'accepted',
      (error: WebhookError) => error.code,
    )

  const tally = async (attempts: Promise<unknown>[]) => {
    const codes: Record<string, number> = {}
    for (const code of await Promise.all(attempts.map(codeOf))) codes[code] = (codes[code] ?? 0) + 1
    return codes
  }

  it('of the body is rejected', async () => {
    const attempts = flips(bytes).map((flipped) => verify(flipped, signature, secret))
    expect(await tally(attempts)).toEqual({ signature_mismatch: bytes.length * 8 })
  })

  it('of the decoded signature is rejected', async () => {
    const attempts = flips(fromHex(signature)).map((flipped) =>
      verify(bytes, Buffer.from(flipped).toString('hex'), secret),
    )
    expect(await tally(attempts)).toEqual({ signature_mismatch: 256 })
  })

  it('of the encoded signature is rejected', async () => {
    const attempts = flips(Buffer.from(signature)).map((text) =>
      verify(bytes, Buffer.from(text).toString('latin1'), secret),
    )
    const codes = await tally(attempts)
    expect(codes.accepted).toBeUndefined()
    expect((codes.signature_mismatch ?? 0) + (codes.signature_malformed ?? 0)).toBe(64 * 8)
  })

  it('of the Standard Webhooks headers and the body is rejected', async () => {
    vi.useFakeTimers({ now: timestamp * 1000, toFake: ['Date'] })
    try {
      const headers = { 'webhook-id': id, 'webhook-timestamp': `${timestamp}`, 'webhook-signature': standardSignature }
      expect(await unwrap({ body: bytes, headers }, { secret })).toMatchObject({ event: 'commission.created' })
      for (const [name, value] of Object.entries(headers)) {
        const attempts = flips(Buffer.from(value)).map((text) =>
          unwrap({ body: bytes, headers: { ...headers, [name]: Buffer.from(text).toString('latin1') } }, { secret }),
        )
        expect((await tally(attempts)).accepted, name).toBeUndefined()
      }
      expect(await tally(flips(bytes).map((flipped) => unwrap({ body: flipped, headers }, { secret })))).toEqual({
        signature_mismatch: bytes.length * 8,
      })
    } finally {
      vi.useRealTimers()
    }
  })
})
