// SQLite only: both databases have the same columns.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { COLUMNS } from '../bench/floor/list-columns.ts'
import { INSERTED } from '../bench/floor/order.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { document } from '../support/document.ts'

interface Column {
  name: string
  notnull: 0 | 1
  dflt_value: string | null
}

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase()
})
afterAll(() => database.remove())

test.each(Object.entries(INSERTED))(
  'the floors of the benchmark insert every required column of %s',
  (table, columns) => {
    const inserted = columns.split(' ')
    const schema = database.sql.prepare(`select * from pragma_table_info('${table}')`).all() as Column[]
    const required = schema.filter(({ notnull, dflt_value }) => notnull === 1 && dflt_value === null)
    expect(required.map(({ name }) => name).filter((name) => !inserted.includes(name))).toEqual([])
    expect(inserted.filter((name) => !schema.some((column) => column.name === name))).toEqual([])
  },
)

test('the floor of lists selects the fields of a commission, in the order of the document', () => {
  const selected = [...COLUMNS.matchAll(/\w+/g)].map(([name]) => name)
  expect(selected).toEqual(Object.keys(document.components.schemas.Commission.properties))
})
