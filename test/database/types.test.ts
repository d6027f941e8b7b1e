import { expect, test } from 'vitest'
import type { Reader, Transaction } from '../../server/src/database/database.ts'
import { insertRow } from '../../server/src/database/rows.ts'
import type { ShopRow } from '../../server/src/database/tables.ts'

// Each of these is checked by the compiler: an error that is expected and does not happen fails the type check.
test('a write through a reader does not compile', () => {
  const attempts = (reader: Reader, transaction: Transaction, row: ShopRow) => {
    // @ts-expect-error A reader has no insertInto.
    reader.insertInto('shops')
    // @ts-expect-error A reader has no updateTable.
    reader.updateTable('shops')
    // @ts-expect-error A reader has no deleteFrom.
    reader.deleteFrom('shops')
    // @ts-expect-error A common table expression could write.
    reader.with('deleted', (db) => db.deleteFrom('shops'))
    // @ts-expect-error A query that writes takes a transaction.
    insertRow(reader, 'shops', row)
    reader.selectFrom('shops')
    return insertRow(transaction, 'shops', row)
  }
  expect(attempts).toBeTypeOf('function')
})
