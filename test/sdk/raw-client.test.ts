import { UnknownOutcomeError } from '@referral/sdk'
import { describe, expect, test } from 'vitest'
import { connectionError, errorResponse, jsonResponse, scriptedClient, success } from './support/scripted-client.ts'

describe('the raw client', () => {
  test('returns data or the error of the API, and retries like every call', async () => {
    const { client, requests } = scriptedClient([
      errorResponse(503, 'storage_unavailable', { 'Retry-After': '0' }),
      jsonResponse(201, { data: { id: 'aff_1' } }),
      errorResponse(409, 'email_taken'),
    ])
    const made = await client.POST('/api/v1/affiliates', { body: { email: 'a@b.example', name: 'A' } })
    expect(made.data).toEqual({ data: { id: 'aff_1' } })
    expect(made.response.status).toBe(201)
    expect(requests[0]!.headers.get('Idempotency-Key')).toBe(requests[1]!.headers.get('Idempotency-Key'))
    const taken = await client.POST('/api/v1/affiliates', {
      params: { header: { 'Idempotency-Key': 'mine' } },
      body: { email: 'a@b.example', name: 'A' },
    })
    expect(taken).toMatchObject({ error: { error: 'Rejected: email_taken.' }, response: { status: 409 } })
    expect(requests[2]!.headers.get('Idempotency-Key')).toBe('mine')
  })

  test('returns HTML as text', async () => {
    const { client } = scriptedClient([new Response('<!doctype html>', { headers: { 'Content-Type': 'text/html' } })])
    expect((await client.GET('/api/v1/docs')).data).toBe('<!doctype html>')
  })

  test('accepts the options of a call', async () => {
    const { client, requests } = scriptedClient([errorResponse(503, 'api_disabled')])
    const { error } = await client.GET('/api/v1/webhooks', { maxRetries: 0, headers: { 'X-Request-Id': 'mine' } })
    expect(error).toEqual({ error: 'Rejected: api_disabled.' })
    expect(requests).toHaveLength(1)
    expect(requests[0]!.headers.get('X-Request-Id')).toBe('mine')
  })
})

describe('the raw client after a lost response', () => {
  const connectionReset = connectionError('ECONNRESET')
  const body = { periodStart: '2026-10-01', periodEnd: '2026-11-01' }

  test('a keyed write reconciles with the same key', async () => {
    const { client, requests } = scriptedClient([connectionReset, jsonResponse(200, { data: { id: 'bat_1' } })], {
      maxRetries: 0,
    })
    const error = await client.POST('/api/v1/payouts', { body }).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    const result = await (error as UnknownOutcomeError<{ data: unknown }>).reconcile()
    expect(result.data).toEqual({ data: { id: 'bat_1' } })
    expect(new Set(requests.map(({ headers }) => headers.get('Idempotency-Key'))).size).toBe(1)
  })

  test('409 on a retried update is an UnknownOutcomeError, because the state is not checked', async () => {
    const { client } = scriptedClient([connectionReset, errorResponse(409, 'payout_already_paid')])
    const paid = client.PATCH('/api/v1/payouts', { params: { query: { id: 'bat_1', action: 'pay' } } })
    await expect(paid).rejects.toThrow(UnknownOutcomeError)
  })

  test('an operation without a key that is not repeatable is not retried', async () => {
    const { client, requests } = scriptedClient([connectionReset])
    const call = client.POST('/admin/v1/keys', { body: { label: 'A', scopes: ['affiliates:read'] } })
    const error = (await call.catch((caught: unknown) => caught)) as UnknownOutcomeError
    expect(error).toBeInstanceOf(UnknownOutcomeError)
    expect(error.canReconcile).toBe(false)
    await expect(error.reconcile()).rejects.toBe(error)
    expect(requests).toHaveLength(1)
    expect(requests[0]!.headers.has('Idempotency-Key')).toBe(false)
  })

  test('an operation of a later API is never repeated', async () => {
    const { client, requests } = scriptedClient([connectionReset])
    const post = client.POST as (path: string) => Promise<unknown>
    for (const path of ['/api/v1/payments', '/admin/v1/payments'])
      await expect(post(path)).rejects.toThrow(UnknownOutcomeError)
    expect(requests).toHaveLength(2)
  })

  test('path parameters are inserted and encoded', async () => {
    const { client, requests } = scriptedClient([jsonResponse(200, success)])
    await client.DELETE('/admin/v1/keys/{id}', { params: { path: { id: 'key/1' } } })
    expect(requests[0]!.url).toBe('https://api.example/admin/v1/keys/key%2F1')
  })
})
