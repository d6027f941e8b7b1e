import { afterAll, beforeAll, expect, test } from 'vitest'
import { TABLE_NAMES } from '../../server/src/database/personal-data.ts'
import { CROSS_SHOP_INDEXES, GLOBAL_TABLES, readPrimaryKey } from '../../server/src/database/table-keys.ts'
import { engine, type TestDatabase, testDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.remove())

interface Index {
  table: string
  name: string
  isPrimary: boolean
  columns: string[]
}

/** Every index that the database has, those of primary keys included, with its columns in order. */
function readIndexes(): Index[] {
  const { sql } = database
  const rows =
    engine === 'postgres'
      ? sql.prepare(`select t.relname as "table", i.relname as name, x.indisprimary as "isPrimary",
          pg_get_indexdef(i.oid, c.n, false) as column
        from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid,
          generate_series(1, x.indnkeyatts) as c(n)
        where t.relnamespace = 'public'::regnamespace order by 1, 2, c.n`)
      : sql.prepare(`select t.name as "table", i.name as name, i.origin = 'pk' as "isPrimary", c.name as column
        from sqlite_schema t join pragma_index_list(t.name) i join pragma_index_info(i.name) c
        where t.type = 'table' order by 1, 2, c.seqno`)
  const indexes = new Map<string, Index>()
  for (const row of rows.all() as { table: string; name: string; isPrimary: unknown; column: string | null }[]) {
    const { table, name, isPrimary, column } = row
    const index = indexes.get(name) ?? { table, name, isPrimary: Boolean(isPrimary), columns: [] }
    index.columns.push((column ?? '').replaceAll('"', ''))
    indexes.set(name, index)
  }
  return [...indexes.values()]
}

const leadsWithShop = ({ table, columns }: Index) => columns[0] === (table === 'shops' ? 'id' : 'shopId')

test('shopId is the first column of every primary key and index that is not listed as global', () => {
  const wrong = readIndexes().filter(
    (index) =>
      !leadsWithShop(index) && !GLOBAL_TABLES.includes(index.table) && !CROSS_SHOP_INDEXES.includes(index.name),
  )
  expect(wrong).toEqual([])
})

test('every key listed as global exists and would otherwise be reported', () => {
  const indexes = readIndexes()
  const tables = engine === 'sqlite' ? GLOBAL_TABLES.filter((table) => table !== 'rateLimits') : GLOBAL_TABLES
  const withoutShop = indexes.filter((index) => !leadsWithShop(index))
  expect(tables.filter((table) => !withoutShop.some((index) => index.table === table))).toEqual([])
  expect(CROSS_SHOP_INDEXES.filter((name) => !withoutShop.some((index) => index.name === name))).toEqual([])
})

test('the primary keys that copy and check use are those of the database', async () => {
  const keys = readIndexes().filter(({ isPrimary }) => isPrimary)
  expect(keys.length).toBeGreaterThan(TABLE_NAMES.length)
  for (const table of TABLE_NAMES)
    expect(await readPrimaryKey(database.db.read, table), table).toEqual(
      keys.find((one) => one.table === table)?.columns,
    )
})
