// PostgreSQL only: what docs/scaling.md promises about its schema.
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDeps } from '../../server/src/core/context.ts'
import { testConfig } from '../../server/src/testing/config.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'

const page = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8')
const blocks = [...page.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, code = '']) => code)
/** Tables that the page leaves on the coordinator. */
const LOCAL = ['kysely_migration', 'kysely_migration_lock', 'rateLimits']

let database: TestDatabase
beforeEach(async () => {
  database = await testDatabase()
})
afterEach(() => database.remove())

const tables = () =>
  database.sql.prepare(`select tablename as name from pg_tables where schemaname = 'public'`).all() as {
    name: string
  }[]
const hasColumn = (table: string, column: string) =>
  database.sql
    .prepare(`select 1 from information_schema.columns where table_name = '${table}' and column_name = '${column}'`)
    .all().length === 1

test('the calls for Citus distribute every table once, by a column that it has', () => {
  const calls = [...blocks[0]!.matchAll(/^select create_(distributed|reference)_table\('"?(\w+)"?'(?:, '(\w+)')?.*$/gm)]
  expect(calls).toHaveLength(blocks[0]!.trim().split('\n').length)
  const names = calls.map(([, , table = '']) => table)
  expect([...names, ...LOCAL].sort()).toEqual(
    tables()
      .map(({ name }) => name)
      .sort(),
  )
  expect(names[0]).toBe('shops')
  for (const [call, kind, table = '', column = ''] of calls) {
    expect([call, /[A-Z]/.test(table)]).toEqual([call, call.includes(`"${table}"`)])
    if (kind === 'distributed') expect([table, hasColumn(table, column)]).toEqual([table, true])
    if (kind === 'distributed' && table !== 'shops') expect([table, column]).toEqual([table, 'shopId'])
  }
})

test('there are no foreign keys and no sequences', () => {
  expect(database.sql.prepare(`select conname from pg_constraint where contype = 'f'`).all()).toEqual([])
  expect(database.sql.prepare('select sequencename from pg_sequences').all()).toEqual([])
})

test('events are stored in the partition of their month, which can be dropped', () => {
  database.sql.exec(blocks[1]!)
  const { newId } = createDeps(testConfig(database.dir), database.db)
  expect(newId('evt')).toMatch(/^evt_[0-9A-Z]{26}$/)
  const columns = database.sql
    .prepare(`select column_name as name, data_type as type from information_schema.columns
      where table_name = 'webhookEvents' and column_name not in ('shopId', 'id')`)
    .all() as { name: string; type: string }[]
  const names = ['"shopId"', 'id', ...columns.map(({ name }) => `"${name}"`)]
  const values = columns.map(({ type }) => (type === 'text' ? `'x'` : '0'))
  for (const id of ['evt_01AAAAAAAAA', `${bound('2027-01')}0`, `${bound('2027-02')}0`])
    database.sql.exec(`insert into "webhookEvents" (${names.join()}) values (${[`'s'`, `'${id}'`, ...values].join()})`)
  const stored = () =>
    (
      database.sql.prepare('select tableoid::regclass::text as name from "webhookEvents" order by id').all() as {
        name: string
      }[]
    ).map(({ name }) => name.replaceAll('"', ''))
  expect(stored()).toEqual(['webhookEvents_2026', 'webhookEvents_2027_01', 'webhookEvents_later'])
  database.sql.exec('drop table "webhookEvents_2026"')
  expect(stored()).toEqual(['webhookEvents_2027_01', 'webhookEvents_later'])
})

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** The first id of a month. */
function bound(month: string): string {
  let text = ''
  for (let rest = Date.parse(`${month}-01T00:00:00Z`), n = 0; n < 10; n++, rest = Math.floor(rest / 32))
    text = ALPHABET[rest % 32] + text
  return `evt_${text}`
}
