import type { Reader, Transaction } from './database.ts'
import { preparedByShape, preparedWriteByShape } from './prepared.ts'
import type { ShopRow, Tables } from './tables.ts'

// Statements about the rows of one table whose columns have some values. Others are in the `queries.ts` of a domain.

/** The values of columns, that of the shop included; null matches null. */
type Where<Name extends keyof Tables> = Partial<Tables[Name]> &
  (Tables[Name] extends { shopId: string } ? { shopId: string } : unknown)

// Kysely's types cannot follow a table that is a parameter: `Where` checks the columns.
const asTable = (name: keyof Tables) => name as 'shops'
const asShop = (columns: object) => columns as Partial<ShopRow>

/** A column without a value would match every row. */
const withValues = (where: object) => {
  if (Object.values(where).includes(undefined)) throw new Error('A column of the condition has no value')
  return asShop(where)
}

const selectWhere = (db: Reader, table: keyof Tables, where: object) =>
  db
    .selectFrom(asTable(table))
    .selectAll()
    .where((eb) => eb.and(asShop(where)))

const finds = new Map<keyof Tables, (db: Reader, where: object) => Promise<unknown[]>>()

/** Finds the rows, in any order. */
export async function findRows<Name extends keyof Tables>(
  db: Reader,
  table: Name,
  where: Where<Name>,
): Promise<Tables[Name][]> {
  const values = withValues(where)
  let find = finds.get(table)
  if (!find) {
    find = preparedByShape<object>()((reader, columns) => selectWhere(reader, table, columns).compile())
    finds.set(table, find)
  }
  // `is null` is another text.
  const hasNull = Object.values(values).includes(null)
  return (await (hasNull ? selectWhere(db, table, values).execute() : find(db, values))) as Tables[Name][]
}

/** Finds the row, or one of the rows. */
export const findRow = async <Name extends keyof Tables>(
  db: Reader,
  table: Name,
  where: Where<Name>,
): Promise<Tables[Name] | undefined> => (await findRows(db, table, where))[0]

const inserts = new Map<keyof Tables, (trx: Transaction, row: object) => Promise<unknown>>()

/** A row to insert. Columns that can be null may be missing. */
type NewRow<Row> = { [Column in keyof Row as null extends Row[Column] ? never : Column]: Row[Column] } & {
  [Column in keyof Row as null extends Row[Column] ? Column : never]?: Row[Column] | undefined
}

/** Inserts a row. */
export async function insertRow<Name extends keyof Tables>(
  trx: Transaction,
  table: Name,
  row: NewRow<Tables[Name]>,
): Promise<void> {
  let insert = inserts.get(table)
  if (!insert) {
    insert = preparedWriteByShape<object>()((db, values) =>
      db
        .insertInto(table)
        .values(values as never)
        .compile(),
    )
    inserts.set(table, insert)
  }
  await insert(trx, row)
}

/** Updates the rows. Returns how many there are. */
export async function updateRows<Name extends keyof Tables>(
  trx: Transaction,
  table: Name,
  where: Where<Name>,
  changes: Partial<Tables[Name]>,
): Promise<number> {
  const update = trx.updateTable(asTable(table)).set(asShop(changes))
  const { numUpdatedRows } = await update.where((eb) => eb.and(withValues(where))).executeTakeFirst()
  return Number(numUpdatedRows)
}

/** Tables with a `version` column. */
type VersionedTable = 'shops' | 'affiliates' | 'programs' | 'commissions' | 'payoutBatches'

/** Updates a row unless its version changed since it was read. Returns whether it was updated. */
export async function updateIfUnchanged<Name extends VersionedTable>(
  trx: Transaction,
  table: Name,
  row: Tables[Name],
  changes: Partial<Tables[Name]>,
): Promise<boolean> {
  const { id, version } = row
  const where = { ...('shopId' in row && { shopId: row.shopId }), id, version } as Where<Name>
  return (await updateRows(trx, table, where, { ...changes, version: version + 1 })) === 1
}

/** Deletes the rows. Returns how many there were. */
export async function deleteRows<Name extends keyof Tables>(
  trx: Transaction,
  table: Name,
  where: Where<Name>,
): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom(asTable(table))
    .where((eb) => eb.and(withValues(where)))
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Some columns of a row. */
export const pick = <Row extends object, Column extends keyof Row>(
  row: Row,
  columns: readonly Column[],
): Pick<Row, Column> => Object.fromEntries(columns.map((column) => [column, row[column]])) as Pick<Row, Column>
