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
  test('answer every operation', () => {
    const handled: string[] = []
    const add = (method: string) => (path: string) => handled.push(`${method} ${path.replace(baseUrl, '')}`)
    referralHandlers(
      { get: add('GET'), post: add('POST'), put: add('PUT'), patch: add('PATCH'), delete: add('DELETE') },
      { baseUrl },
    )
    expect(handled.sort()).toEqual(operations.map(({ method, path }) => `${method} ${path}`).sort())
  })

  test('answer each method of the client with what its type says', async () => {
    expect((await client.affiliates.list()).data[0]?.slug).toBe('nisa-karim')
    expect((await client.affiliates.create({ email: 'a@b.example', name: 'A' })).status).toMatch(/^[A-Z]+$/)
    expect((await client.payouts.preview({ periodStart: '2026-10-01', periodEnd: '2026-11-01' })).totals).toBeDefined()
    expect((await client.analytics.get()).dailyBreakdown).toBeInstanceOf(Array)
    expect((await client.journey.get({ sessionId: 's-1' })).journey).toBeInstanceOf(Array)
    expect((await client.GET('/api/v1/docs')).data).toMatch(/^<!doctype html>/)
  })

  test('tell apart what shares a path', async () => {
    const order = { externalOrderId: '1001', amountCents: 10_000 }
    expect((await client.events.conversion(order).withResponse()).response.status).toBe(201)
    expect((await client.events.dryRun(order)).dryRun).toBe(true)
    expect((await client.events.click({ ref: 'nisa-karim' }).withResponse()).response.status).toBe(202)
    expect((await client.webhooks.create({ url: 'https://hooks.example' })).id).toMatch(/^whs_/)
    expect((await client.webhooks.sendTest({ url: 'https://hooks.example' })).ok).toBe(true)
  })

  test('an example that is not described is a mistake', async () => {
    vi.spyOn(console, 'error').mockReturnValue(undefined)
    server.use(...referralHandlers(http, { baseUrl, answers: { getAnalytics: 'nowhere' } }))
    await expect(client.analytics.get()).rejects.toMatchObject({ status: 500 })
  })
})

type Resolver = (info: { request: Request }) => Promise<Response>

/** The answer of one operation, as msw would get it. */
const answerOf = (operation: DocumentedOperation, name: string): Promise<Response> => {
  const { id, method, path } = operation
  const record = (verb: string) => (at: string, resolve: Resolver) => ({ verb, at, resolve })
  const verbs = {
    get: record('GET'),
    post: record('POST'),
    put: record('PUT'),
    patch: record('PATCH'),
    delete: record('DELETE'),
  }
  const handlers = referralHandlers(verbs, { baseUrl, answers: { [id]: name } })
  const { resolve } = handlers.find(({ verb, at }) => verb === method && at === `${baseUrl}${path}`)!
  return resolve({ request: new Request(`${baseUrl}${path}`, { method }) })
}

test('every documented answer can be asked for, and is as openapi.yaml describes it', async () => {
  for (const operation of operations) {
    const { path, method, responses } = operation
    for (const [status, codes] of Object.entries(responses)) {
      const described = document.paths[path][method.toLowerCase()].responses[status]
      const home = described.$ref?.slice(1) ?? pointerTo('paths', path, method.toLowerCase(), 'responses', status)
      for (const name of Object.keys(deref(described).content['application/json']?.examples ?? {})) {
        const answer = await answerOf(operation, name)
        expect(`${operation.id} ${answer.status}`).toBe(`${operation.id} ${statusOf(status)}`)
        if (codes.length) expect(answer.headers.get('X-Error-Code')).toBe(name)
        expect(problems(`${home}/content/application~1json/schema`, await answer.json())).toEqual([])
      }
    }
  }
})
