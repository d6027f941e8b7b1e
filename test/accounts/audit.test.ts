import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkChains } from '../../server/src/accounts/audit-log.ts'
import { hashAudit } from '../../server/src/core/audit.ts'
import { admin } from '../support/owner.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { expectOk, newAffiliate } from '../support/shop.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
  await Promise.all(Array.from({ length: 20 }, (_, i) => newAffiliate(server, { email: `a${i}@example.com` })))
})
afterAll(() => server.close())

const chain = () =>
  server.sql.prepare('select * from audits where "shopId" = ? order by seq').all(server.shop.shopId) as Record<
    string,
    string
  >[]

describe('the chain', () => {
  test('holds when many changes share a transaction, and counts without a gap', async () => {
    const rows = chain()
    expect(rows.map(({ seq }) => Number(seq))).toEqual(rows.map((_, i) => i + 1))
    expect(new Set(rows.map(({ hash }) => hash)).size).toBe(rows.length)
    expect(await checkChains(server.deps)).toMatchObject({ breaks: [] })
  })

  test('a shop that has lost its whole audit is found, and the newest hashes are told', async () => {
    const { shopId } = await server.createShop()
    const { heads } = await checkChains(server.deps)
    expect(heads.find((head) => head.shopId === server.shop.shopId)?.hash).toBe(chain().at(-1)?.hash)
    server.sql.prepare('delete from audits where "shopId" = ?').run(shopId)
    expect((await checkChains(server.deps)).breaks).toEqual([{ shopId, seq: 1, reason: 'MISSING' }])
    server.sql.prepare('delete from shops where id = ?').run(shopId)
  })

  test('each shop has its own', async () => {
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
  test.each(tampered)('%s is found', async (_, change, reason) => {
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

  test('a row that was rewritten with a hash of its own no longer fits the next one', async () => {
    const { shopId } = server.shop
    const row = chain()[4] as Record<string, string>
    const forged = { ...row, seq: 5, actor: 'operator' } as unknown as Parameters<typeof hashAudit>[0]
    const set = server.sql.prepare('update audits set "actor" = ?, "hash" = ? where "shopId" = ? and seq = 5')
    set.run('operator', hashAudit(forged), shopId)
    expect((await checkChains(server.deps)).breaks).toEqual([{ shopId, seq: 6, reason: 'UNLINKED' }])
    set.run(row.actor, row.hash, shopId)
  })
})

describe('the list', () => {
  let ownerId: string
  beforeEach(async () => {
    const { user } = await expectOk(admin(server, 'GET', '/session'))
    ownerId = user.id
  })

  test('200 newest first, with the hash of the row before', async () => {
    const { body } = await admin(server, 'GET', '/audit?limit=5')
    expect(body.data).toHaveLength(5)
    for (const [newer, older] of body.data.slice(0, -1).map((row: object, i: number) => [row, body.data[i + 1]])) {
      expect([newer.previousHash, newer.seq]).toEqual([older.hash, older.seq + 1])
    }
  })

  test('200 filtered by action, actor and time', async () => {
    await expectOk(admin(server, 'POST', '/keys', { label: 'Cron', scopes: ['payouts:read'] }))
    const created = await admin(server, 'GET', `/audit?action=key.created&actor=user:${ownerId}`)
    expect(created.body.data).toMatchObject([{ actor: `user:${ownerId}`, data: { label: 'Cron' } }])
    expect((await admin(server, 'GET', '/audit?actor=operator')).body.pagination.total).toBe(2)
    expect((await admin(server, 'GET', '/audit?to=2026-11-01')).body.data).toEqual([])
    expect((await admin(server, 'GET', '/audit?from=2026-11-02&action=affiliate.created')).body.pagination.total).toBe(
      20,
    )
  })

  test('200 records the access with its user', async () => {
    await admin(server, 'GET', '/audit')
    const { body } = await admin(server, 'GET', '/audit?limit=1')
    expect(body.data[0]).toMatchObject({ action: 'audit.listed', actor: `user:${ownerId}` })
  })
})
