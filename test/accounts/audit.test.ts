import { describe, expect } from 'vitest'
import { hashAudit } from '../../server/src/core/audit.ts'
import { checkChains } from '../../server/src/domains/accounts/audit-log.ts'
import { deleteRows, insertRow, rowOf, rowsOf, updateRows } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk, newAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  await Promise.all(Array.from({ length: 20 }, (_, i) => newAffiliate(server, { email: `a${i}@example.com` })))
})

const chain = (server: TestServer) => rowsOf(server, 'audits', { shopId: server.shop.shopId })

describe('the audit chain', () => {
  test('is valid when many changes share a transaction, with numbers without gaps', async ({ server }) => {
    const rows = chain(server)
    expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, i) => i + 1))
    expect(new Set(rows.map(({ hash }) => hash)).size).toBe(rows.length)
    expect(await checkChains(server.deps)).toMatchObject({ breaks: [] })
  })

  test('a shop whose whole audit is missing is detected, and the newest hashes are reported', async ({ server }) => {
    const { shopId } = await server.createShop()
    const { heads } = await checkChains(server.deps)
    expect(heads.find((head) => head.shopId === server.shop.shopId)?.hash).toBe(chain(server).at(-1)?.hash)
    deleteRows(server, 'audits', { shopId })
    expect((await checkChains(server.deps)).breaks).toEqual([{ shopId, seq: 1, reason: 'MISSING' }])
    deleteRows(server, 'shops', { id: shopId })
  })

  test('each shop has its own chain', async ({ server }) => {
    const other = await server.createShop()
    const [first] = rowsOf(server, 'audits', { shopId: other.shopId })
    expect(first).toMatchObject({ seq: 1, previousHash: '' })
  })

  const fifthOf = ({ shop: { shopId } }: TestServer) => ({ shopId, seq: 5 })
  const damages: [what: string, damage: (server: TestServer) => unknown, reason: string][] = [
    ['a changed row', (server) => updateRows(server, 'audits', { data: '{"x":1}' }, fifthOf(server)), 'CHANGED'],
    [
      'a row with another actor',
      (server) => updateRows(server, 'audits', { actor: 'operator' }, fifthOf(server)),
      'CHANGED',
    ],
    ['a missing row', (server) => deleteRows(server, 'audits', fifthOf(server)), 'MISSING'],
  ]
  test.for(damages)('%s is detected', async ([_, damage, reason], { server }) => {
    const before = rowOf(server, 'audits', fifthOf(server))
    damage(server)
    expect((await checkChains(server.deps)).breaks).toEqual([{ ...fifthOf(server), reason }])
    deleteRows(server, 'audits', fifthOf(server))
    insertRow(server, 'audits', before)
    expect((await checkChains(server.deps)).breaks).toEqual([])
  })

  test('a row rewritten with a recomputed hash no longer matches the next row', async ({ server }) => {
    const { shopId } = server.shop
    const { actor, hash, ...row } = rowOf(server, 'audits', { shopId, seq: 5 })
    const forged = hashAudit({ ...row, actor: 'operator' })
    updateRows(server, 'audits', { actor: 'operator', hash: forged }, { shopId, seq: 5 })
    expect((await checkChains(server.deps)).breaks).toEqual([{ shopId, seq: 6, reason: 'UNLINKED' }])
    updateRows(server, 'audits', { actor, hash }, { shopId, seq: 5 })
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
