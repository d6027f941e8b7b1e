// Full: it starts other processes.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDeps } from '../../server/src/core/context.ts'
import { checkEncryptionKey } from '../../server/src/core/installation.ts'
import { CopyError, copyDatabase } from '../../server/src/database/copy.ts'
import { openDatabase } from '../../server/src/database/open.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { check } from '../../server/src/operator/check.ts'
import { seed } from '../../server/src/operator/seed.ts'
import { testDatabase } from '../support/database.ts'
import { rejectWrites } from '../support/faults.ts'
import { run } from '../support/process.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { createShop } from '../support/tenants.ts'

// The journey of both is longer than a page of the copy.
const WISH = { affiliates: 30, clicks: 200, commissions: 400, days: 20 }

async function seeded(): Promise<TestServer> {
  const server = await testServer()
  server.pin('shp', 'shp_seeded')
  const { shopId } = await server.createShop()
  await seed(server.deps, { ...WISH, shop: shopId })
  return server
}

const rows = (server: TestServer, table: string) =>
  server.sql.prepare(`select * from "${table}" where "shopId" = 'shp_seeded' order by 1, 2`).all()

describe('seed', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await seeded()
  })
  afterAll(() => server.close())

  test('creates the requested rows, spread over the days, through the engine', async () => {
    const commissions = rows(server, 'commissions') as { happenedAt: string; attributionMethod: string }[]
    expect(commissions).toHaveLength(WISH.commissions)
    expect(rows(server, 'affiliates')).toHaveLength(WISH.affiliates)
    const clicks = rows(server, 'journey').filter((row) => (row as { type: string }).type === 'click')
    expect(clicks).toHaveLength(WISH.clicks)
    expect(new Set(commissions.map(({ happenedAt }) => happenedAt.slice(0, 10))).size).toBe(WISH.days)
    expect(new Set(commissions.map(({ attributionMethod }) => attributionMethod)).size).toBeGreaterThan(1)
    expect(server.sql.prepare('select count(*) from deliveries').pluck().get()).toBe(0)
    expect(await check(server.deps)).toMatchObject({ ok: true })
  })

  test('creates the same rows in another database, and nothing twice in this one', async () => {
    const other = await seeded()
    for (const table of ['affiliates', 'commissions', 'journey', 'orders'])
      expect(rows(other, table)).toEqual(rows(server, table))
    const before = rows(other, 'audits').length
    const lines: string[] = []
    await seed(other.deps, { ...WISH, shop: 'shp_seeded' }, (line) => lines.push(line))
    expect(lines.at(-1)).toBe('400 of 400 commissions')
    expect(lines.length).toBeLessThanOrEqual(60)
    expect(rows(other, 'commissions')).toEqual(rows(server, 'commissions'))
    expect(rows(other, 'audits')).toHaveLength(before)
    await other.close()
  })
})

test('a database is copied from SQLite into this engine with identical rows, and works', async () => {
  const target = await testServer()
  const empty = await testDatabase()
  const file = `file:${join(target.deps.config.dataDir, 'source.db')}`
  const source = await openDatabase(file)
  await source.migrate()
  const deps = createDeps({ ...target.deps.config, logLevel: 'silent' }, source)
  const { shopId } = await createShop(deps, {
    name: 'Ümläut 💚',
    plan: 'ENTERPRISE',
    currency: 'EUR',
    ownerEmail: 'o@x.de',
  })
  await seed({ ...deps, now: target.deps.now }, { ...WISH, shop: shopId })

  const tables = await copyDatabase(file, empty.url)
  const counts = Object.fromEntries(tables.map(({ table, rows }) => [table, rows]))
  expect(counts).toMatchObject({ shops: 1, affiliates: 30, commissions: 400, orders: 400, journey: 600 })
  expect(await check({ db: empty.db })).toMatchObject({ ok: true, audit: { breaks: [] } })
  expect(await empty.db.read.selectFrom('shops').select(['name', 'currency']).execute()).toEqual([
    { name: 'Ümläut 💚', currency: 'EUR' },
  ])
  await shops.update({ ...deps, db: empty.db }, shopId, { apiEnabled: false })
  expect(await check({ db: empty.db })).toMatchObject({ ok: true })

  // Copying back gives the same rows.
  const back = `file:${join(target.deps.config.dataDir, 'back.db')}`
  const fresh = await openDatabase(back)
  await fresh.migrate()
  await copyDatabase(empty.url, back)
  await fresh.close()
  await expect(copyDatabase(file, empty.url)).rejects.toThrow(CopyError)
  await expect(copyDatabase(file, empty.url)).rejects.toThrow(/is not empty/)
  await source.close()
  const none = join(target.deps.config.dataDir, 'none', 'referral.db')
  const { code, stderr } = await run(['copy', '--from', `file:${none}`, '--to', back], {})
  expect([code, stderr, existsSync(none)]).toEqual([1, `There is no database at ${none}.\n`, false])
  await empty.remove()
  await target.close()
})

test('an interrupted copy is recognized as incomplete and continues where it stopped', async () => {
  const source = await testServer()
  const { shopId } = await source.createShop()
  await seed(source.deps, { ...WISH, shop: shopId })
  const target = await testDatabase()
  const other = await testDatabase()
  rejectWrites(target, 'insert', 'orders')
  await expect(copyDatabase(source.url, target.url)).rejects.toThrow()
  const copied = target.sql.prepare('select count(*) as n from commissions').get()
  expect(copied).toEqual({ n: WISH.commissions })
  expect((await check({ db: target.db })).problems).toContainEqual(expect.stringContaining('incomplete copy'))
  await expect(checkEncryptionKey({ ...source.deps, db: target.db }, 'The key')).rejects.toThrow('incomplete copy')
  await expect(copyDatabase(other.url, target.url)).rejects.toThrow('unfinished copy of another database')
  target.sql.exec('drop trigger broken')

  const lines: string[] = []
  const tables = await copyDatabase(source.url, target.url, (line) => lines.push(line))
  expect(lines).toEqual(['Continuing an interrupted copy.'])
  expect(tables.find(({ table }) => table === 'orders')?.rows).toBe(WISH.commissions)
  expect(await check({ db: target.db })).toMatchObject({ ok: true, problems: [] })
  await checkEncryptionKey({ ...source.deps, db: target.db }, 'The key')
  await Promise.all([source.close(), target.remove(), other.remove()])
})
