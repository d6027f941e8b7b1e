import { UnknownOutcomeError } from '@referral/sdk'
import { describe, expect, test } from 'vitest'
import { broken, json, refusal, scripted } from './support/scripted.ts'

describe('the raw client', () => {
  test('gives data, or the error of the service, and retries like every call', async () => {
    const { client, requests } = scripted([
      refusal(503, 'storage_unavailable', { 'Retry-After': '0' }),
      json(201, { data: { id: 'aff_1' } }),
      refusal(409, 'email_taken'),
    ])
    const made = await client.POST('/api/v1/affiliates', { body: { email: 'a@b.example', name: 'A' } })
    expect(made.data).toEqual({ data: { id: 'aff_1' } })
    expect(made.response.status).toBe(201)
    expect(requests[0]!.headers.get('Idempotency-Key')).toBe(requests[1]!.headers.get('Idempotency-Key'))
    const taken = await client.POST('/api/v1/affiliates', {
      params: { header: { 'Idempotency-Key': 'mine' } },
      body: { email: 'a@b.example', name: 'A' },
    })
    expect(taken).toMatchObject({ error: { error: 'Refused: email_taken.' }, response: { status: 409 } })
    expect(requests[2]!.headers.get('Idempotency-Key')).toBe('mine')
  })

  test('reads the quick start as text', async () => {
    const { client } = scripted([new Response('<!doctype html>', { headers: { 'Content-Type': 'text/html' } })])
    expect((await client.GET('/api/v1/docs')).data).toBe('<!doctype html>')
  })

  test('takes the options of a call', async () => {
    const { client, requests } = scripted([refusal(503, 'api_disabled')])
    const { error } = await client.GET('/api/v1/webhooks', { maxRetries: 0, headers: { 'X-Request-Id': 'mine' } })
    expect(error).toEqual({ error: 'Refused: api_disabled.' })
    expect(requests).toHaveLength(1)
    expect(requests[0]!.headers.get('X-Request-Id')).toBe('mine')
  })
})

describe('the raw client after a lost answer', () => {
  const reset = broken('ECONNRESET')
  const body = { periodStart: '2026-10-01', periodEnd: '2026-11-01' }

  test('a keyed write reconciles under the same key', async () => {
    const { client, requests } = scripted([reset, json(200, { data: { id: 'bat_1' } })], { maxRetries: 0 })
    const error = await client.POST('/api/v1/payouts', { body }).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    const result = await (error as UnknownOutcomeError<{ data: unknown }>).reconcile()
    expect(result.data).toEqual({ data: { id: 'bat_1' } })
    expect(new Set(requests.map(({ headers }) => headers.get('Idempotency-Key'))).size).toBe(1)
  })

  test('a 409 on a repeated change says nothing: nobody has looked at the state', async () => {
    const { client } = scripted([reset, refusal(409, 'payout_already_paid')])
    const paid = client.PATCH('/api/v1/payouts', { params: { query: { id: 'bat_1', action: 'pay' } } })
    await expect(paid).rejects.toThrow(UnknownOutcomeError)
  })

  test('what has no key and cannot be repeated is not sent again', async () => {
    const { client, requests } = scripted([reset])
    const call = client.POST('/admin/v1/keys', { body: { label: 'A', scopes: ['affiliates:read'] } })
    const error = (await call.catch((caught: unknown) => caught)) as UnknownOutcomeError
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    expect(error.canReconcile).toBe(false)
    await expect(error.reconcile()).rejects.toBe(error)
    expect(requests).toHaveLength(1)
    expect(requests[0]!.headers.has('Idempotency-Key')).toBe(false)
  })

  test('parameters of the path are filled in', async () => {
    const { client, requests } = scripted([json(200, { ok: true })])
    await client.DELETE('/admin/v1/keys/{id}', { params: { path: { id: 'key/1' } } })
    expect(requests[0]!.url).toBe('https://api.example/admin/v1/keys/key%2F1')
  })
})
