import { globSync } from 'node:fs'
import { type Kysely, sql as raw } from 'kysely'
import { afterEach, describe, expect, test } from 'vitest'
import { createApp } from '../../server/src/app.ts'
import { type Config, readConfig } from '../../server/src/config.ts'
import { createDeps } from '../../server/src/core/context.ts'
import { checkEncryptionKey } from '../../server/src/core/installation.ts'
import { migrate, migrations } from '../../server/src/database/migrate.ts'
import { openDatabase, withConnection } from '../../server/src/database/open.ts'
import { check } from '../../server/src/operator/check.ts'
import { emptyDatabase, engine, testDatabase } from '../support/database.ts'
import type { Sql } from '../support/sql.ts'
import { type Released, released } from './released/released.ts'

/** When the stored rows were created. */
const THEN = Date.parse('2026-11-02T12:30:00.000Z')

const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function empty() {
  const database = await emptyDatabase()
  ends.push(database.remove, () => database.sql.close())
  return database
}

test('every migration runs', () => {
  const files = globSync('*.ts', { cwd: new URL('../../server/src/database/migrations', import.meta.url) })
  expect(Object.keys(migrations)).toEqual(files.map((file) => file.replace('.ts', '')).sort())
})

/** A database as a released version left it. */
async function left({ sqlite, postgres, rows }: Released) {
  const database = await empty()
  const fill = database.sql.transaction(() => {
    for (const statement of engine === 'postgres' ? postgres : sqlite) database.sql.exec(statement)
    for (const [table, list] of Object.entries(rows)) {
      for (const row of list) insert(database.sql, table, row)
    }
  })
  fill()
  return database
}

/** The definitions of tables, indexes, triggers and functions, however they were created. */
function schemaOf(sql: Sql): unknown {
  if (engine === 'postgres') {
    const columns = `select table_name, column_name, data_type, is_nullable, column_default, collation_name
      from information_schema.columns where table_schema = 'public' order by 1, 2`
    const indexes = `select indexdef from pg_indexes where schemaname = 'public' order by 1`
    const kinds = `select relname, relpersistence from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`
    const triggers = `select pg_get_triggerdef(oid) from pg_trigger where not tgisinternal order by tgname`
    const functions = `select proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace order by 1`
    return [columns, indexes, kinds, triggers, functions].map((text) => sql.prepare(text).all())
  }
  const columns = `select name, type, "notnull", dflt_value, pk from pragma_table_info(?) order by 1`
  const others = `select sql from sqlite_schema where type in ('index', 'trigger') and sql is not null order by name`
  return [sql.tables().map((table) => [table, sql.prepare(columns).all(table)]), sql.prepare(others).all()]
}

const upgrade = (url: string, list = migrations) =>
  withConnection(url, (db) => migrate(db as unknown as Kysely<never>, list))

const rowsIn = (sql: Sql, table: string) => sql.prepare(`select * from "${table}"`).all() as Record<string, unknown>[]

/** Every row, by table, in no particular order. */
const contents = (sql: Sql, tables: string[]) =>
  Object.fromEntries(
    tables.map((table) => [
      table,
      rowsIn(sql, table)
        .map((row) => JSON.stringify(row))
        .sort(),
    ]),
  )

describe.each(released.map((one) => [one.version, one] as const))('a database of %s', (_version, old) => {
  const tables = Object.keys(old.rows).filter((table) => !table.startsWith('kysely'))

  test('the stored example has rows of every table', () => {
    expect(tables.filter((table) => old.rows[table]?.length === 0)).toEqual([])
  })

  test('is upgraded by parallel processes to the schema of a new database', async () => {
    const database = await left(old)
    const db = await openDatabase(database.url)
    await Promise.all([db.migrate(), upgrade(database.url), upgrade(database.url)])
    expect(await db.isMigrated()).toBe(true)
    expect(await check({ db })).toMatchObject({ ok: true, problems: [] })
    await db.close()
    const fresh = await testDatabase()
    ends.push(fresh.remove)
    expect(
      schemaOf(database.sql),
      'A migration was changed. Before its release: node test/database/released/make.ts <version>. After: write a new one.',
    ).toEqual(schemaOf(fresh.sql))
    const kept = fresh.sql.tables()
    // Connections of customers became customers.
    for (const table of tables.filter((one) => kept.includes(one) && one !== 'connections'))
      expect(rowsIn(database.sql, table), table).toHaveLength(old.rows[table]!.length)
  })

  test('runs the missing migrations, with its rows', async () => {
    const database = await left(old)
    const before = contents(database.sql, tables)
    const later = { ...migrations, '9999-later': { up: addNickname } }
    await upgrade(database.url, later)
    const fresh = await empty()
    await upgrade(fresh.url, later)
    expect(schemaOf(database.sql)).toEqual(schemaOf(fresh.sql))
    const affiliates = rowsIn(database.sql, 'affiliates')
    expect(affiliates.map(({ nickname }) => nickname)).toEqual(affiliates.map(({ name }) => `${name}!`))
    database.sql.exec('drop index nicknames')
    database.sql.exec('alter table affiliates drop column nickname')
    if (Object.keys(migrations).length === old.rows.kysely_migration?.length)
      expect(contents(database.sql, tables)).toEqual(before)
  })

  test('keeps working: keys, tokens, repeated requests, new orders', async () => {
    const { app, deps } = await serve(await left(old), old)
    const order = (body: object, idempotencyKey: string) => {
      const headers = { Authorization: `Bearer ${old.apiKey}`, 'Idempotency-Key': idempotencyKey }
      return app.request('/api/v1/events', { method: 'POST', headers, body: JSON.stringify(body) })
    }
    const again = await order(old.answered.body, old.answered.idempotencyKey)
    expect([again.status, again.headers.get('Idempotent-Replayed')]).toEqual([old.answered.status, 'true'])
    expect(await again.json()).toEqual(old.answered.reply)
    const next = await order({ externalOrderId: 'new', amountCents: 1000, couponCode: 'NISA16' }, 'after-the-upgrade')
    expect([next.status, (await next.json()).commission.amountCents]).toEqual([201, 160])
    const headers = { Authorization: `Bearer ${old.ownerToken}` }
    const explained = await app.request('/admin/v1/orders/old/explanation', { headers })
    expect([explained.status, (await explained.json()).data.commission.commissionAmountCents]).toEqual([200, 1600])
    expect(await check(deps)).toMatchObject({ ok: true, problems: [] })
  })

  test('counts its stored refunds', async () => {
    const { asOwner } = await serve(await left(old), old)
    const [{ commissionId, goodsCents }] = old.rows.refunds as [{ commissionId: string; goodsCents: number }]
    const refund = (externalRefundId: string, amountCents: number) =>
      asOwner(`/commissions/${commissionId}/refund`, { externalRefundId, amountCents })
    const rest = 10_000 - goodsCents
    expect((await refund('too-much', rest + 1)).body.error).toContain((rest / 100).toFixed(2))
    expect((await refund('rest', rest)).body.data).toMatchObject({ orderStatus: 'REFUNDED', commissionAmountCents: 0 })
  })
})

/** The server over a database that it upgrades first. */
async function serve({ url }: { url: string }, old: Released) {
  const db = await openDatabase(url)
  ends.push(db.close)
  await db.migrate()
  const config: Config = readConfig({ REFERRAL_ENCRYPTION_KEY: old.encryptionKey, LOG_LEVEL: 'silent' })
  const deps = { ...createDeps(config, db), now: () => THEN }
  await checkEncryptionKey(deps, 'REFERRAL_ENCRYPTION_KEY')
  const app = createApp(deps)
  const asOwner = async (path: string, body: object) => {
    const headers = { Authorization: `Bearer ${old.ownerToken}` }
    const response = await app.request(`/admin/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, body: await response.json() }
  }
  return { app, deps, asOwner }
}

type Row = Record<string, unknown>

function insert(sql: Sql, table: string, row: Row): void {
  const names = Object.keys(row).map((name) => `"${name}"`)
  sql.prepare(`insert into "${table}" (${names}) values (${names.map(() => '?')})`).run(...Object.values(row))
}

test('this version is among the stored ones', () => {
  expect(released.map(({ version }) => version)).toContain('0.1.0')
})

/** What a later version may need: a column, filled from existing values, and an index. */
async function addNickname(db: Kysely<unknown>): Promise<void> {
  await raw`alter table affiliates add column nickname text not null default ''`.execute(db)
  await raw`update affiliates set nickname = name || '!'`.execute(db)
  await raw`create index nicknames on affiliates ("shopId", nickname)`.execute(db)
}

test('an earlier version rejects a later schema', async () => {
  const database = await testDatabase()
  ends.push(database.remove)
  database.sql.exec(`insert into kysely_migration values ('9999-later', '2030-01-01')`)
  await expect(database.db.migrate()).rejects.toThrow('newer version (9999-later)')
})

/** The names of migrations in development versions before the first release. */
const DEVELOPMENT = [['0001-start'], ['0001-start', '0002-row-counts'], ['0001-start', '0010-order-currency']]

test.each(DEVELOPMENT.map((ran) => ({ ran })))(
  'a database of a development version is rejected and unchanged: $ran',
  async ({ ran }) => {
    const database = await empty()
    database.sql.exec(
      'create table kysely_migration (name varchar(255) not null primary key, timestamp varchar(255) not null)',
    )
    database.sql.exec('create table shops (id text primary key)')
    for (const name of ran) database.sql.prepare('insert into kysely_migration values (?, ?)').run(name, '2026-10-01')
    const before = schemaOf(database.sql)
    const db = await openDatabase(database.url)
    ends.push(db.close)
    await expect(db.migrate()).rejects.toThrow('development version before 0.1.0')
    expect(schemaOf(database.sql)).toEqual(before)
  },
)
