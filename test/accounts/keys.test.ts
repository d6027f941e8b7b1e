import { describe, expect } from 'vitest'
import { isWellFormed } from '../../server/src/core/secret.ts'
import { allRows } from '../support/inspect.ts'
import { rejectionOf } from '../support/rejection.ts'
import type { Reply, TestServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type Owner, test } from '../support/test.ts'

const N = 8

const create = (owner: Owner, body: object = {}) =>
  expectOk(owner('POST', '/keys', { label: 'Cron', scopes: ['programs:read'], ...body }))
const status = async (server: TestServer, key: string) => {
  const reply = await server.request('GET', '/api/v1/programs', { key })
  return [reply.status, reply.headers.get('X-Error-Code')]
}
const listed = async (owner: Owner, id: string) =>
  (await expectOk(owner('GET', '/keys'))).find((key: { id: string }) => key.id === id)

test('201 a key that works immediately, with its secret shown once', async ({ server, owner }) => {
  const reply = await owner('POST', '/keys', { label: 'Kept', scopes: ['programs:read'] })
  expect(reply.headers.get('Cache-Control')).toBe('no-store')
  const { secret, ...key } = await create(owner, { scopes: ['programs:read', 'events:write', 'programs:read'] })
  expect(isWellFormed('rk', secret)).toBe(true)
  expect(key).toMatchObject({
    prefix: secret.slice(0, 10),
    scopes: ['programs:read', 'events:write'],
    status: 'active',
  })
  expect(await status(server, secret)).toEqual([200, null])
  expect(await listed(owner, key.id)).toEqual({ ...key, lastUsedAt: expect.any(String) })
  const everything = allRows(server)
  expect(JSON.stringify([everything, server.logs])).not.toContain(secret)
})

test('a key with an expiry works until it expires', async ({ server, owner }) => {
  const { secret } = await create(owner, { expiresAt: '2026-11-02T13:00:00Z' })
  expect(await status(server, secret)).toEqual([200, null])
  server.clock.advance(3_600_000)
  expect(await status(server, secret)).toEqual([403, 'key_expired'])
  const late = await owner('POST', '/keys', { label: 'X', scopes: ['programs:read'], expiresAt: '2026-11-02' })
  expect(rejectionOf(late)).toEqual({ status: 400, code: 'invalid_body', field: 'expiresAt' })
})

test('rotation creates a new secret, and the old one is invalid immediately; the other fields stay', async ({
  server,
  owner,
}) => {
  const { secret: old, ...key } = await create(owner)
  const { secret, prefix, ...rotated } = await expectOk(owner('POST', `/keys/${key.id}/rotate`))
  expect([await status(server, old), await status(server, secret)]).toEqual([
    [403, 'key_unknown'],
    [200, null],
  ])
  expect(rotated).toEqual({ ...key, prefix: undefined, lastUsedAt: null })
  expect(prefix).toBe(secret.slice(0, 10))
})

describe('rotation with an overlap', () => {
  const HOUR = 3_600_000
  const rotate = (owner: Owner, id: string, overlapSeconds?: number) =>
    expectOk(owner('POST', `/keys/${id}/rotate`, { overlapSeconds }))

  test('both secrets are valid until it ends, in one rate limit window', async ({ server, owner }) => {
    const { id, secret: old } = await create(owner)
    const { secret, previousSecretUntil } = await rotate(owner, id, 3600)
    expect(previousSecretUntil).toBe(new Date(server.clock.ms + HOUR).toISOString())
    expect((await listed(owner, id)).previousSecretUntil).toBe(previousSecretUntil)
    server.clock.advance(HOUR - 1)
    expect([await status(server, old), await status(server, secret)]).toEqual([
      [200, null],
      [200, null],
    ])
    server.clock.advance(1)
    expect([await status(server, old), await status(server, secret)]).toEqual([
      [403, 'key_unknown'],
      [200, null],
    ])
  })

  test('revoking the key invalidates both secrets', async ({ server, owner }) => {
    const { id, secret: old } = await create(owner)
    const { secret } = await rotate(owner, id, 3600)
    await expectOk(owner('DELETE', `/keys/${id}`))
    expect([await status(server, old), await status(server, secret)]).toEqual([
      [403, 'key_revoked'],
      [403, 'key_revoked'],
    ])
  })

  test('rotating again invalidates the secret before the last one', async ({ server, owner }) => {
    const { id, secret: first } = await create(owner)
    const { secret: second } = await rotate(owner, id, 3600)
    const { secret: third } = await rotate(owner, id, 3600)
    expect([await status(server, first), await status(server, second), await status(server, third)]).toEqual([
      [403, 'key_unknown'],
      [200, null],
      [200, null],
    ])
    const { secret: fourth } = await rotate(owner, id, 0)
    expect([await status(server, second), await status(server, third), await status(server, fourth)]).toEqual([
      [403, 'key_unknown'],
      [403, 'key_unknown'],
      [200, null],
    ])
  })

  test.for([[-1], [604_801], [1.5], ['3600']])('400 for an overlap of %s', async ([overlapSeconds], { owner }) => {
    const { id } = await create(owner)
    const reply = await owner('POST', `/keys/${id}/rotate`, { overlapSeconds })
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'invalid_body'])
  })
})

test('a revoked key is invalid immediately and permanently', async ({ server, owner }) => {
  const { id, secret } = await create(owner)
  expect(await expectOk(owner('DELETE', `/keys/${id}`))).toEqual({ ok: true, message: 'API key revoked.', id })
  expect(await status(server, secret)).toEqual([403, 'key_revoked'])
  expect((await listed(owner, id)).status).toBe('revoked')
})

const oneWinner = (replies: Reply[]): Reply => {
  const winners = replies.filter(({ status }) => status === 200)
  expect(winners).toHaveLength(1)
  const others = replies.filter((reply) => reply !== winners[0])
  expect(others.map((reply) => reply.headers.get('X-Error-Code'))).toEqual(Array(N - 1).fill('concurrent_change'))
  return winners[0]!
}

test('rotate against rotate: one wins, and its secret is the only one that works', async ({ server, owner }) => {
  const { id, secret } = await create(owner)
  const replies = await Promise.all(Array.from({ length: N }, () => owner('POST', `/keys/${id}/rotate`)))
  const winner = oneWinner(replies)
  expect([await status(server, winner.body.data.secret), await status(server, secret)]).toEqual([
    [200, null],
    [403, 'key_unknown'],
  ])
  const audits: { subjectId: string }[] = await expectOk(owner('GET', '/audit?action=key.rotated'))
  expect(audits.filter(({ subjectId }) => subjectId === id)).toHaveLength(1)
})

test('rotate against revoke: one wins', async ({ server, owner }) => {
  const { id, secret } = await create(owner)
  const replies = await Promise.all(
    Array.from({ length: N }, (_, i) => (i % 2 ? owner('DELETE', `/keys/${id}`) : owner('POST', `/keys/${id}/rotate`))),
  )
  oneWinner(replies)
  expect((await status(server, secret))[0]).toBe(403)
})

test('keys can be created on any plan; the plan is checked at each call', async ({ server, owner }) => {
  const starter = await server.createShop('STARTER')
  const { secret } = await expectOk(
    owner('POST', '/keys', { label: 'Early', scopes: ['programs:read'] }, { key: starter.ownerToken }),
  )
  expect(await status(server, secret)).toEqual([403, 'plan_required'])
})
