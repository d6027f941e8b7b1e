import { type Kysely, sql } from 'kysely'
import { PRIMARY_KEYS } from './primary-keys.ts'
import type { Tables } from './tables.ts'

export type Row = Record<string, unknown>
export type TableName = keyof typeof PRIMARY_KEYS

const PAGE = 500

/** Every table whose rows are facts of their own. */
export const TABLE_NAMES = Object.keys(PRIMARY_KEYS) as TableName[]

/** Reads all rows of a table in the order of their keys, a page at a time. */
export async function eachPage(db: Kysely<Tables>, name: TableName, take: (rows: Row[]) => unknown): Promise<void> {
  const keys = PRIMARY_KEYS[name].map((key) => sql.ref(key))
  let after: unknown[] | undefined
  for (;;) {
    const where = after ? sql`where (${sql.join(keys)}) > (${sql.join(after)})` : sql``
    const { rows } = await sql<Row>`
      select * from ${sql.table(name)} ${where} order by ${sql.join(keys)} limit ${sql.lit(PAGE)}`.execute(db)
    const last = rows.at(-1)
    if (!last) return
    await take(rows)
    after = PRIMARY_KEYS[name].map((key) => last[key])
  }
}
