import { openPayee } from '../affiliates/payees.ts'
import { type Context, nowIso } from '../core/context.ts'
import { toNdjsonStream } from '../core/ndjson.ts'
import { PRIMARY_KEYS, type Row, type TableName } from '../database/table-keys.ts'
import type { PayeeRow } from '../database/tables.ts'
import { type Concern, concernOf } from './concern.ts'
import { findIds, pages } from './find.ts'
import { Person } from './person.ts'
import { COLUMNS, PERSONAL_TABLES } from './personal-data.ts'
import { requireAddress } from './request.ts'

/**
 * Streams everything that is stored about the person with an email address, as newline-delimited JSON. The last line has the
 * number of rows, so that an incomplete export is recognized. The credential is checked again before each page.
 *
 * @throws ApiError 400 `invalid_body` for a text that is no address.
 */
export const exportPerson = async (ctx: Context, email: string): Promise<ReadableStream<Uint8Array>> =>
  toNdjsonStream(linesOf(ctx, requireAddress(email)))

/** The lines of the export of a person, each with its line break. */
export async function* linesOf(ctx: Context, email: string): AsyncGenerator<string, void> {
  const person = new Person(email)
  yield toLine({ export: 'person', version: 1, shopId: ctx.shop.id, email, createdAt: nowIso(ctx) })
  await findIds(ctx, person)
  let count = 0
  for (const table of PERSONAL_TABLES) {
    for await (const rows of pages(ctx, table)) {
      await ctx.recheck?.(ctx.db.read)
      for (const row of rows) {
        const concern = concernOf(person, table, row)
        if (!concern) continue
        yield toLine({ table, row: readable(ctx, table, concern.isOwn ? row : mentionIn(table, row, concern)) })
        count++
      }
    }
  }
  yield toLine({ end: { rows: count } })
}

/** Of the row of another person, only the columns that mention the person. */
const mentionIn = (table: TableName, row: Row, { changes }: Concern): Row =>
  Object.fromEntries([...PRIMARY_KEYS[table], ...Object.keys(changes)].map((column) => [column, row[column]]))

const toLine = (value: object): string => `${JSON.stringify(value)}\n`

/** Columns that are derived from others, or that only the server can read. */
const OMITTED_COLUMNS = ['searchText', 'emailKey', 'codeKey', 'customerEmailKey', 'tokenHash', 'fingerprint']

function readable(ctx: Context, table: TableName, row: Row): Row {
  const kinds = COLUMNS[table] as Record<string, string>
  const columns = Object.entries(row).filter(([column]) => !OMITTED_COLUMNS.includes(column))
  const isJson = (column: string) => kinds[column] === 'json' || (table === 'idempotencyKeys' && column === 'result')
  const parsed = columns.map(([column, value]) => [column, isJson(column) ? JSON.parse(String(value)) : value])
  return { ...Object.fromEntries(parsed), ...opened(ctx, table, row) }
}

/** Payee details belong to the affiliate, and are sealed. Null without the encryption key. */
function opened({ vault }: Context, table: TableName, row: Row): Row {
  if (table === 'payees' && row.details) return { details: openPayee(vault, row as unknown as PayeeRow) }
  if (table !== 'payoutLines' || row.details === undefined) return {}
  const text = vault.open(String(row.details), String(row.id))
  return { details: text && JSON.parse(text) }
}
