import { expect } from 'vitest'
import { rowsOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'

const get = (server: TestServer, authorization?: string) =>
  server.request('GET', '/api/v1/programs', {
    key: null,
    headers: authorization === undefined ? {} : { Authorization: authorization },
  })

const statusAndCode = async (pending: ReturnType<typeof get>) => {
  const { status, headers } = await pending
  return [status, headers.get('X-Error-Code')]
}

test('401 without the header, and with an empty one', async ({ server }) => {
  expect(await statusAndCode(get(server))).toEqual([401, 'credentials_missing'])
  expect(await statusAndCode(get(server, ''))).toEqual([401, 'credentials_missing'])
})

test.for(['Bearer', 'Bearer ', 'Basic abc', 'abc', 'Bearer a b', 'Token rk_x'])(
  '401 for the malformed header %j',
  async (header, { server }) => {
    expect(await statusAndCode(get(server, header))).toEqual([401, 'credentials_malformed'])
  },
)

test('200 whatever the letter case of the scheme and the spaces around the key', async ({ server }) => {
  expect((await get(server, `bearer   ${server.shop.key}  `)).status).toBe(200)
})

test('403 for a key with a typing error, of another type, or unknown', async ({ server }) => {
  const { key, ownerToken } = server.shop
  const typo = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a')
  for (const token of [typo, ownerToken, 'rk_short', key.toLowerCase(), `${key}x`]) {
    expect(await statusAndCode(get(server, `Bearer ${token}`)), token).toEqual([403, 'key_unknown'])
  }
})

test('403 immediately after a key is revoked', async ({ server }) => {
  const { key, keyId, ownerToken } = await server.createShop()
  expect((await get(server, `Bearer ${key}`)).status).toBe(200)
  await expectOk(server.owner('DELETE', `/keys/${keyId}`, undefined, { key: ownerToken }))
  expect(await statusAndCode(get(server, `Bearer ${key}`))).toEqual([403, 'key_revoked'])
})

test('403 from the instant a key expires', async ({ server }) => {
  const expiresAt = new Date(server.clock.ms + 1).toISOString()
  const { secret: key } = await expectOk(
    server.owner('POST', '/keys', { label: 'Short', scopes: ['programs:read'], expiresAt }),
  )
  expect((await get(server, `Bearer ${key}`)).status).toBe(200)
  server.clock.advance(1)
  expect(await statusAndCode(get(server, `Bearer ${key}`))).toEqual([403, 'key_expired'])
})

test.for(['FREE', 'STARTER', 'GROWTH'] as const)('403 for the plan %s', async (plan, { server }) => {
  const { key } = await server.createShop(plan)
  expect(await statusAndCode(get(server, `Bearer ${key}`))).toEqual([403, 'plan_required'])
})

test('403 with the missing scope; a write scope does not include reading', async ({ server }) => {
  const { key } = await server.createShop('PROFESSIONAL', ['programs:write'])
  const reply = await get(server, `Bearer ${key}`)
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([403, 'scope_missing'])
  expect(reply.body.error).toContain('programs:read')
})

test('the plan is checked before the scope, and the scope before the body', async ({ server }) => {
  const starter = await server.createShop('STARTER', ['webhooks:read'])
  expect(await statusAndCode(get(server, `Bearer ${starter.key}`))).toEqual([403, 'plan_required'])
  const scoped = await server.createShop('PROFESSIONAL', ['webhooks:read'])
  const reply = await server.request('POST', '/api/v1/programs', { key: scoped.key, raw: '{' })
  expect(reply.headers.get('X-Error-Code')).toBe('scope_missing')
})

test('only the hash of a key is stored, and neither logs nor audit contain the key', async ({ server }) => {
  const { key } = await server.createShop()
  await get(server, `Bearer ${key}`)
  for (const table of ['apiKeys', 'audits', 'users'] as const)
    expect(JSON.stringify(rowsOf(server, table))).not.toContain(key.slice(11))
  expect(server.logs.join('')).not.toContain(key.slice(11))
})

test('the last use is recorded once a minute', async ({ server }) => {
  const { key, keyId, ownerToken } = await server.createShop()
  const lastUsed = async () => {
    const keys = await expectOk(server.owner('GET', '/keys', undefined, { key: ownerToken }))
    return keys.find(({ id }: { id: string }) => id === keyId).lastUsedAt
  }
  await get(server, `Bearer ${key}`)
  const first = await lastUsed()
  expect(first).toBe(new Date(server.clock.ms).toISOString())
  server.clock.advance(59_999)
  await get(server, `Bearer ${key}`)
  expect(await lastUsed()).toBe(first)
  server.clock.advance(1)
  await get(server, `Bearer ${key}`)
  expect(await lastUsed()).toBe(new Date(server.clock.ms).toISOString())
})
