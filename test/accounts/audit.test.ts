import { describe, expect } from 'vitest'
import { checkChains } from '../../server/src/accounts/audit-log.ts'
import { hashAudit } from '../../server/src/core/audit.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk, newAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  await Promise.all(Array.from({ length: 20 }, (_, i) => newAffiliate(server, { email: `a${i}@example.com` })))
})

const chain = (server: TestServer) =>
  server.sql.prepare('select * from audits where "shopId" = ? order by seq').all(server.shop.shopId) as Record<
    string,
    string
  >[]

describe('the audit chain', () => {
  test('is valid when many changes share a transaction, with numbers without gaps', async ({ server }) => {
    const rows = chain(server)
    expect(rows.map(({ seq }) => Number(seq))).toEqual(rows.map((_, i) => i + 1))
    expect(new Set(rows.map(({ hash }) => hash)).size).toBe(rows.length)
    expect(await checkChains(server.deps)).toMatchObject({ breaks: [] })
  })

  test('a shop whose whole audit is missing is detected, and the newest hashes are reported', async ({ server }) => {
    const { shopId } = await server.createShop()
    const { heads } = await checkChains(server.deps)
    expect(heads.find((head) => head.shopId === server.shop.shopId)?.hash).toBe(chain(server).at(-1)?.hash)
    server.sql.prepare('delete from audits where "shopId" = ?').run(shopId)
    expect((await checkChains(server.deps)).breaks).toEqual([{ shopId, seq: 1, reason: 'MISSING' }])
    server.sql.prepare('delete from shops where id = ?').run(shopId)
  })

  test('each shop has its own chain', async ({ server }) => {
    const other = await server.createShop()
    const { seq, previousHash } = server.sql
      .prepare('select seq, "previousHash" from audits where "shopId" = ? order by seq limit 1')
      .get(other.shopId) as Record<string, unknown>
    expect([Number(seq), previousHash]).toEqual([1, ''])
  })

  const tampered: [string, string, string][] = [
    ['a changed row', `update audits set "data" = '{"x":1}' where "shopId" = ? and seq = 5`, 'CHANGED'],
    ['a row of another actor', `update audits set "actor" = 'operator' where "shopId" = ? and seq = 5`, 'CHANGED'],
    ['a missing row', `delete from audits where "shopId" = ? and seq = 5`, 'MISSING'],
  ]
  test.for(tampered)('%s is detected', async ([_, change, reason], { server }) => {
    const { shopId } = server.shop
    const before = server.sql.prepare('select * from audits where "shopId" = ? and seq = 5').get(shopId) as object
    server.sql.prepare(change).run(shopId)
    expect((await checkChains(server.deps)).breaks).toEqual([{ shopId, seq: 5, reason }])
    server.sql.prepare('delete from audits where "shopId" = ? and seq = 5').run(shopId)
    const names = Object.keys(before)
    server.sql
      .prepare(
        `insert into audits (${names.map((name) => `"${name}"`).join()}) values (${names.map(() => '?').join()})`,
      )
      .run(...Object.values(before))
    expect((await checkChains(server.deps)).breaks).toEqual([])
  })

  test('a row rewritten with a recomputed hash no longer matches the next row', async ({ server }) => {
    const { shopId } = server.shop
    const row = chain(server)[4] as Record<string, string>
    const forged = { ...row, seq: 5, actor: 'operator' } as unknown as Parameters<typeof hashAudit>[0]
    const set = server.sql.prepare('update audits set "actor" = ?, "hash" = ? where "shopId" = ? and seq = 5')
    set.run('operator', hashAudit(forged), shopId)
    expect((await checkChains(server.deps)).breaks).toEqual([{ shopId, seq: 6, reason: 'UNLINKED' }])
    set.run(row.actor, row.hash, shopId)
  })
})

describe('the audit list', () => {
  let ownerId: string
  test.beforeEach(async ({ owner }) => {
    const { user } = await expectOk(owner('GET', '/session'))
    ownerId = user.id
  })

  test('200 newest first, with the hash of the row before', async ({ owner }) => {
    const { body } = await owner('GET', '/audit?limit=5')
    expect(body.data).toHaveLength(5)
    for (const [newer, older] of body.data.slice(0, -1).map((row: object, i: number) => [row, body.data[i + 1]])) {
      expect([newer.previousHash, newer.seq]).toEqual([older.hash, older.seq + 1])
    }
  })

  test('200 filtered by action, actor and time', async ({ owner }) => {
    await expectOk(owner('POST', '/keys', { label: 'Cron', scopes: ['payouts:read'] }))
    const created = await owner('GET', `/audit?action=key.created&actor=user:${ownerId}`)
    expect(created.body.data).toMatchObject([{ actor: `user:${ownerId}`, data: { label: 'Cron' } }])
    expect((await owner('GET', '/audit?actor=operator')).body.pagination.total).toBe(2)
    expect((await owner('GET', '/audit?to=2026-11-01')).body.data).toEqual([])
    expect((await owner('GET', '/audit?from=2026-11-02&action=affiliate.created')).body.pagination.total).toBe(20)
  })

  test('200 records the access with its user', async ({ owner }) => {
    await owner('GET', '/audit')
    const { body } = await owner('GET', '/audit?limit=1')
    expect(body.data[0]).toMatchObject({ action: 'audit.listed', actor: `user:${ownerId}` })
  })
})
