// Full: it compares a clock with a bound.
import { expect } from 'vitest'
import { createApiSwitch } from '../../server/src/core/installation.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { operations } from '../support/document.ts'
import { rowsOf } from '../support/inspect.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { test } from '../support/test.ts'

const statuses = async (server: TestServer, key?: string | null) =>
  Promise.all(
    operations.map(
      async ({ method, path }) =>
        (await server.request(method, path, { key, body: method === 'GET' ? undefined : {} })).status,
    ),
  )

const until = async (server: TestServer, status: number) => {
  const deadline = Date.now() + 2000
  while ((await server.request('GET', '/api/v1/programs')).status !== status) {
    if (Date.now() > deadline) throw new Error(`not ${status} within 2 s`)
    await new Promise((done) => setTimeout(done, 50))
  }
}

test('503 from the whole API within 2 s of the operator’s command; the docs remain available', async ({ server }) => {
  const operator = createApiSwitch(server.deps)
  await operator.set(false)
  await until(server, 503)
  const all = await statuses(server)
  expect(all.filter((status) => status === 200)).toHaveLength(1)
  expect(all.filter((status) => status !== 503)).toHaveLength(1)
  const refused = await server.request('GET', '/api/v1/programs', { key: null })
  expect([refused.status, refused.headers.get('X-Error-Code'), refused.headers.get('Retry-After')]).toEqual([
    503,
    'api_disabled',
    '60',
  ])
  expect((await server.request('GET', '/healthz')).status).toBe(200)
  await operator.set(true)
  await until(server, 200)
  // No request lists the audit of the installation.
  const audits = rowsOf(server, 'audits', { shopId: 'installation' })
  expect(audits.map(({ action }) => action)).toEqual(['api.switched_off', 'api.switched_on'])
})

test('one shop is switched off immediately, and the others keep working', async ({ server }) => {
  const { shopId, key } = await server.createShop()
  await shops.update(server.deps, shopId, { apiEnabled: false })
  expect((await server.request('GET', '/api/v1/programs', { key })).status).toBe(503)
  expect((await server.request('GET', '/api/v1/programs')).status).toBe(200)
  await shops.update(server.deps, shopId, { apiEnabled: true })
  expect((await server.request('GET', '/api/v1/programs', { key })).status).toBe(200)
})

test('the environment variable takes precedence over the database', async () => {
  const off = await testServer({ config: { apiDisabled: true } })
  expect((await off.request('GET', '/api/v1/programs')).status).toBe(503)
  await off.close()
})
