import { afterAll, beforeAll, expect, test } from 'vitest'
import { isWellFormed } from '../../server/src/core/secret.ts'
import { admin } from '../support/owner.ts'
import { type Reply, type TestServer, testServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'

const N = 8

let server: TestServer
beforeAll(async () => {
  server = await testServer()
})
afterAll(() => server.close())

const create = (body: object = {}) =>
  expectOk(admin(server, 'POST', '/keys', { label: 'Cron', scopes: ['programs:read'], ...body }))
const status = async (key: string) => {
  const reply = await server.request('GET', '/api/v1/programs', { key })
  return [reply.status, reply.headers.get('X-Error-Code')]
}
const listed = async (id: string) =>
  (await expectOk(admin(server, 'GET', '/keys'))).find((key: { id: string }) => key.id === id)

test('201 a key that works at once, with its secret shown this once', async () => {
  const reply = await admin(server, 'POST', '/keys', { label: 'Kept', scopes: ['programs:read'] })
  expect(reply.headers.get('Cache-Control')).toBe('no-store')
  const { secret, ...key } = await create({ scopes: ['programs:read', 'events:write', 'programs:read'] })
  expect(isWellFormed('rk', secret)).toBe(true)
  expect(key).toMatchObject({
    prefix: secret.slice(0, 10),
    scopes: ['programs:read', 'events:write'],
    status: 'active',
  })
  expect(await status(secret)).toEqual([200, null])
  expect(await listed(key.id)).toEqual({ ...key, lastUsedAt: expect.any(String) })
  const everything = server.sql.tables().flatMap((name) => server.sql.prepare(`select * from "${name}"`).all())
  expect(JSON.stringify([everything, server.logs])).not.toContain(secret)
})

test('a key that expires works until then', async () => {
  const { secret } = await create({ expiresAt: '2026-11-02T13:00:00Z' })
  expect(await status(secret)).toEqual([200, null])
  server.clock.advance(3_600_000)
  expect(await status(secret)).toEqual([403, 'key_expired'])
  const late = await admin(server, 'POST', '/keys', { label: 'X', scopes: ['programs:read'], expiresAt: '2026-11-02' })
  expect([late.status, late.body.error]).toEqual([400, 'expiresAt must be in the future.'])
})

test('rotating gives a new secret, and the old one is dead at once; the rest stays', async () => {
  const { secret: old, ...key } = await create()
  const { secret, prefix, ...rotated } = await expectOk(admin(server, 'POST', `/keys/${key.id}/rotate`))
  expect([await status(old), await status(secret)]).toEqual([
    [403, 'key_unknown'],
    [200, null],
  ])
  expect(rotated).toEqual({ ...key, prefix: undefined, lastUsedAt: null })
  expect(prefix).toBe(secret.slice(0, 10))
})

test('revoking stops a key at once, for good', async () => {
  const { id, secret } = await create()
  expect(await expectOk(admin(server, 'DELETE', `/keys/${id}`))).toEqual({ ok: true, message: 'API key revoked.', id })
  expect(await status(secret)).toEqual([403, 'key_revoked'])
  expect((await listed(id)).status).toBe('revoked')
})

const oneWinner = (replies: Reply[]): Reply => {
  const winners = replies.filter(({ status }) => status === 200)
  expect(winners).toHaveLength(1)
  const others = replies.filter((reply) => reply !== winners[0])
  expect(others.map((reply) => reply.headers.get('X-Error-Code'))).toEqual(Array(N - 1).fill('concurrent_change'))
  return winners[0]!
}

test('rotate against rotate: one wins, and its secret is the only one that works', async () => {
  const { id, secret } = await create()
  const replies = await Promise.all(Array.from({ length: N }, () => admin(server, 'POST', `/keys/${id}/rotate`)))
  const winner = oneWinner(replies)
  expect([await status(winner.body.data.secret), await status(secret)]).toEqual([
    [200, null],
    [403, 'key_unknown'],
  ])
  const audits = server.sql.prepare(`select count(*) from audits where "action" = 'key.rotated' and "subjectId" = ?`)
  expect(Number(audits.pluck().get(id))).toBe(1)
})

test('rotate against revoke: one wins', async () => {
  const { id, secret } = await create()
  const replies = await Promise.all(
    Array.from({ length: N }, (_, i) =>
      i % 2 ? admin(server, 'DELETE', `/keys/${id}`) : admin(server, 'POST', `/keys/${id}/rotate`),
    ),
  )
  oneWinner(replies)
  expect((await status(secret))[0]).toBe(403)
})

test('keys can be made on any plan; the gate is at the call', async () => {
  const starter = await server.createShop('STARTER')
  const { secret } = await expectOk(
    admin(server, 'POST', '/keys', { label: 'Early', scopes: ['programs:read'] }, { key: starter.ownerToken }),
  )
  expect(await status(secret)).toEqual([403, 'plan_required'])
})
