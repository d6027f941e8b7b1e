import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestServer, testServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
})
afterAll(() => server.close())

const get = (authorization?: string) =>
  server.request('GET', '/api/v1/programs', {
    key: null,
    headers: authorization === undefined ? {} : { Authorization: authorization },
  })

const statusAndCode = async (pending: ReturnType<typeof get>) => {
  const { status, headers } = await pending
  return [status, headers.get('X-Error-Code')]
}

test('401 without the header, and with an empty one', async () => {
  expect(await statusAndCode(get())).toEqual([401, 'credentials_missing'])
  expect(await statusAndCode(get(''))).toEqual([401, 'credentials_missing'])
})

test.each(['Bearer', 'Bearer ', 'Basic abc', 'abc', 'Bearer a b', 'Token rk_x'])(
  '401 for the malformed header %j',
  async (header) => {
    expect(await statusAndCode(get(header))).toEqual([401, 'credentials_malformed'])
  },
)

test('200 whatever the letter case of the scheme and the spaces around the key', async () => {
  expect((await get(`bearer   ${server.shop.key}  `)).status).toBe(200)
})

test('403 for a key with a typing error, of another kind, or of nobody', async () => {
  const { key, ownerToken } = server.shop
  const typo = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a')
  for (const token of [typo, ownerToken, 'rk_short', key.toLowerCase(), `${key}x`]) {
    expect(await statusAndCode(get(`Bearer ${token}`)), token).toEqual([403, 'key_unknown'])
  }
})

test('403 the moment a key is revoked', async () => {
  const { key, keyId } = await server.createShop()
  expect((await get(`Bearer ${key}`)).status).toBe(200)
  server.sql.prepare('update "apiKeys" set "revokedAt" = ? where id = ?').run('2026-11-02T12:00:00.000Z', keyId)
  expect(await statusAndCode(get(`Bearer ${key}`))).toEqual([403, 'key_revoked'])
})

test('403 from the instant a key expires', async () => {
  const { key, keyId } = await server.createShop()
  const expiresAt = new Date(server.clock.ms + 1).toISOString()
  server.sql.prepare('update "apiKeys" set "expiresAt" = ? where id = ?').run(expiresAt, keyId)
  expect((await get(`Bearer ${key}`)).status).toBe(200)
  server.clock.advance(1)
  expect(await statusAndCode(get(`Bearer ${key}`))).toEqual([403, 'key_expired'])
})

test.each(['FREE', 'STARTER', 'GROWTH'] as const)('403 for the plan %s', async (plan) => {
  const { key } = await server.createShop(plan)
  expect(await statusAndCode(get(`Bearer ${key}`))).toEqual([403, 'plan_required'])
})

test('403 names the scope that is missing, and a write scope does not include reading', async () => {
  const { key } = await server.createShop('PROFESSIONAL', ['programs:write'])
  const reply = await get(`Bearer ${key}`)
  expect([reply.status, reply.body.error]).toEqual([403, 'This API key lacks the scope programs:read.'])
})

test('the plan is refused before the scope, and the scope before the body', async () => {
  const starter = await server.createShop('STARTER', ['webhooks:read'])
  expect(await statusAndCode(get(`Bearer ${starter.key}`))).toEqual([403, 'plan_required'])
  const scoped = await server.createShop('PROFESSIONAL', ['webhooks:read'])
  const reply = await server.request('POST', '/api/v1/programs', { key: scoped.key, raw: '{' })
  expect(reply.headers.get('X-Error-Code')).toBe('scope_missing')
})

test('only the hash of a key is stored, and neither logs nor audits hold it', async () => {
  const { key } = await server.createShop()
  await get(`Bearer ${key}`)
  for (const table of ['apiKeys', 'audits', 'users']) {
    expect(JSON.stringify(server.sql.prepare(`select * from "${table}"`).all())).not.toContain(key.slice(11))
  }
  expect(server.logs.join('')).not.toContain(key.slice(11))
})

test('the last use is noted once a minute', async () => {
  const { key, keyId } = await server.createShop()
  const lastUsed = () => server.sql.prepare('select "lastUsedAt" from "apiKeys" where id = ?').pluck().get(keyId)
  const settled = () => server.db.transact(async () => {})
  await get(`Bearer ${key}`)
  await settled()
  const first = lastUsed()
  expect(first).toBe(new Date(server.clock.ms).toISOString())
  server.clock.advance(59_999)
  await get(`Bearer ${key}`)
  await settled()
  expect(lastUsed()).toBe(first)
  server.clock.advance(1)
  await get(`Bearer ${key}`)
  await settled()
  expect(lastUsed()).toBe(new Date(server.clock.ms).toISOString())
})
