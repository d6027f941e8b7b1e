import { createReferralClient } from '@referral/sdk'
import { referralHandlers } from '@referral/sdk/msw'
import { http } from 'msw/http'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  type DocumentedOperation,
  deref,
  document,
  operations,
  pointerTo,
  problems,
  statusOf,
} from '../support/document.ts'

const baseUrl = 'https://referrals.example'
const server = setupServer(...referralHandlers(http, { baseUrl }))
const client = createReferralClient({ apiKey: 'any', baseUrl, maxRetries: 0 })

beforeAll(() => server.listen({ onUnhandledFrame: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

describe('the handlers', () => {
  test('cover every operation', () => {
    const handled: string[] = []
    const add = (method: string) => (path: string) => handled.push(`${method} ${path.replace(baseUrl, '')}`)
    referralHandlers(
      { get: add('GET'), post: add('POST'), put: add('PUT'), patch: add('PATCH'), delete: add('DELETE') },
      { baseUrl },
    )
    expect(handled.sort()).toEqual(operations.map(({ method, path }) => `${method} ${path}`).sort())
  })

  test('respond to each client method with data of its type', async () => {
    expect((await client.affiliates.list()).data[0]?.slug).toBe('nisa-karim')
    expect((await client.affiliates.create({ email: 'a@b.example', name: 'A' })).status).toMatch(/^[A-Z]+$/)
    expect((await client.payouts.preview({ periodStart: '2026-10-01', periodEnd: '2026-11-01' })).totals).toBeDefined()
    expect((await client.analytics.get()).dailyBreakdown).toBeInstanceOf(Array)
    expect((await client.journey.get({ sessionId: 's-1' })).journey).toBeInstanceOf(Array)
    expect((await client.GET('/api/v1/docs')).data).toMatch(/^<!doctype html>/)
  })

  test('distinguish operations that share a path', async () => {
    const order = { externalOrderId: '1001', amountCents: 10_000 }
    expect((await client.events.conversion(order).withResponse()).response.status).toBe(201)
    expect((await client.events.dryRun(order)).dryRun).toBe(true)
    expect((await client.events.click({ ref: 'nisa-karim' }).withResponse()).response.status).toBe(202)
    expect((await client.webhooks.create({ url: 'https://hooks.example' })).id).toMatch(/^whs_/)
    expect((await client.webhooks.sendTest({ url: 'https://hooks.example' })).ok).toBe(true)
  })

  test('fail for an example that does not exist', async () => {
    vi.spyOn(console, 'error').mockReturnValue(undefined)
    server.use(...referralHandlers(http, { baseUrl, examples: { getAnalytics: 'nowhere' } }))
    await expect(client.analytics.get()).rejects.toMatchObject({ status: 500 })
  })
})

type Resolver = (info: { request: Request }) => Promise<Response>

/** The response to one operation, as msw receives it. */
const responseTo = (operation: DocumentedOperation, name: string): Promise<Response> => {
  const { id, method, path } = operation
  const record = (verb: string) => (at: string, resolve: Resolver) => ({ verb, at, resolve })
  const verbs = {
    get: record('GET'),
    post: record('POST'),
    put: record('PUT'),
    patch: record('PATCH'),
    delete: record('DELETE'),
  }
  const handlers = referralHandlers(verbs, { baseUrl, examples: { [id]: name } })
  const { resolve } = handlers.find(({ verb, at }) => verb === method && at === `${baseUrl}${path}`)!
  return resolve({ request: new Request(`${baseUrl}${path}`, { method }) })
}

test('every documented response can be selected and matches its schema', async () => {
  for (const operation of operations) {
    const { path, method, responses } = operation
    for (const [status, codes] of Object.entries(responses)) {
      const documented = document.paths[path][method.toLowerCase()].responses[status]
      const home = documented.$ref?.slice(1) ?? pointerTo('paths', path, method.toLowerCase(), 'responses', status)
      for (const name of Object.keys(deref(documented).content['application/json']?.examples ?? {})) {
        const response = await responseTo(operation, name)
        expect(`${operation.id} ${response.status}`).toBe(`${operation.id} ${statusOf(status)}`)
        if (codes.length) expect(response.headers.get('X-Error-Code')).toBe(name)
        expect(problems(`${home}/content/application~1json/schema`, await response.json())).toEqual([])
      }
    }
  }
})
