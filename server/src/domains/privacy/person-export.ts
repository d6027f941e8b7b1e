import { type Context, nowIso } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { toByteStream } from '../../core/ndjson.ts'
import { defineReport } from '../../database/database.ts'
import type { TableName } from '../../database/personal-data.ts'
import { COLUMNS, PERSONAL_TABLES } from '../../database/personal-data.ts'
import { pagesOf, type Row, readPrimaryKey } from '../../database/table-keys.ts'
import type { PayeeRow } from '../../database/tables.ts'
import { openPayee } from '../affiliates/payees.ts'
import { matchPerson } from './concern.ts'
import { ID_PASSES, type IdPass } from './find.ts'
import { mailboxHashOf, Person, type PersonIds, requireAddress } from './person.ts'

/**
 * Streams everything stored about the person with an email address, as newline-delimited JSON. The last line has the
 * number of rows, so that an incomplete export can be detected. The credential is checked again before each portion.
 *
 * @throws ApiError 400 `invalid_body` for an invalid email address, 503 `server_busy`.
 */
export async function exportPerson(ctx: Context, email: string): Promise<ReadableStream<Uint8Array>> {
  const address = requireAddress(email)
  return toByteStream(linesOf(ctx, address, await readPortion(ctx, address)))
}

/** The lines of a person's export, each with its line break. */
export async function* linesOf(ctx: Context, email: string, first?: Portion): AsyncGenerator<string, void> {
  yield toLine({ export: 'person', version: 1, shopId: ctx.shop.id, email, createdAt: nowIso(ctx) })
  let count = 0
  for (
    let portion = first ?? (await readPortion(ctx, email));
    ;
    portion = await readPortion(ctx, email, portion.next)
  ) {
    for (const { table, row } of portion.rows) {
      yield toLine({ table, row: readable(ctx, table, row) })
      count++
    }
    if (!portion.next) break
  }
  yield toLine({ end: { rows: count } })
}

/** Where an export continues: the pass, the last row read, and the person's known IDs. */
interface Position {
  pass: number
  after: unknown[] | undefined
  ids: PersonIds
}

interface Portion {
  rows: { table: TableName; row: Row }[]
  next?: Position | undefined
}

const readPortion = (ctx: Context, email: string, from?: Position): Promise<Portion> =>
  readFrom(ctx, portionReport, { email, mailboxHash: mailboxHashOf(ctx, email), from })

/** First the person's IDs, then every table. */
const PASSES: (Omit<IdPass, 'visit'> & Partial<IdPass>)[] = [
  ...ID_PASSES,
  ...PERSONAL_TABLES.map((table) => ({ table })),
]
/** The time after which other reports have a turn. */
const PORTION_MS = 200
/** The maximum size of a portion, which stays in memory while the client reads. */
const PORTION_BYTES = 256 * 1024

interface PortionQuery {
  email: string
  mailboxHash: string
  from: Position | undefined
}

/**
 * Reads part of the shop in the report thread, because the whole shop takes minutes and parsing blocks the event loop.
 */
export const portionReport = defineReport(
  import.meta.url,
  'portionReport',
  async (
    db,
    { shopId, query: { email, mailboxHash, from } }: { shopId: string; query: PortionQuery },
  ): Promise<Portion> => {
    const person = new Person(email, { mailboxHash, ids: from?.ids })
    const until = performance.now() + PORTION_MS
    const rows: Portion['rows'] = []
    let bytes = 0
    let after = from?.after
    for (let pass = from?.pass ?? 0; pass < PASSES.length; pass++) {
      const { table, visit } = PASSES[pass]!
      const key = await readPrimaryKey(db, table)
      for await (const page of pagesOf(db, table, { shopId, limit: PAGE_SIZE, afterKey: after })) {
        for (const row of page) {
          const concerned = visit ? undefined : rowOf(person, { table, key, row })
          visit?.(person, row)
          if (concerned) {
            rows.push({ table, row: concerned })
            bytes += JSON.stringify(concerned).length
          }
          after = key.map((column) => row[column])
          if (performance.now() > until || bytes > PORTION_BYTES)
            return { rows, next: { pass, after, ids: person.ids() } }
        }
      }
      after = undefined
    }
    return { rows }
  },
)

const PAGE_SIZE = 100

/** A row's columns in an export. */
function rowOf(person: Person, { table, key, row }: { table: TableName; key: string[]; row: Row }): Row | undefined {
  const concern = matchPerson(person, table, row)
  if (!concern || concern.isOwn) return concern && row
  // From another person's row, only the columns that mention this person.
  return Object.fromEntries([...key, ...Object.keys(concern.changes)].map((column) => [column, row[column]]))
}

const toLine = (value: object): string => `${JSON.stringify(value)}\n`

/** Columns that are derived from others, or that only the server can read. */
const OMITTED_COLUMNS = [
  'searchText',
  'emailKey',
  'codeKey',
  'customerEmailKey',
  'emailHash',
  'mailboxHash',
  'tokenHash',
  'fingerprint',
]

function readable(ctx: Context, table: TableName, row: Row): Row {
  const kinds = COLUMNS[table] as Record<string, string>
  const columns = Object.entries(row).filter(([column]) => !OMITTED_COLUMNS.includes(column))
  const isJson = (column: string) => kinds[column] === 'json' || (table === 'idempotencyKeys' && column === 'result')
  const parsed = columns.map(([column, value]) => [column, isJson(column) ? JSON.parse(String(value)) : value])
  return { ...Object.fromEntries(parsed), ...opened(ctx, table, row) }
}

/** Payee details belong to the affiliate and are sealed. Null without the encryption key. */
function opened({ vault }: Context, table: TableName, row: Row): Row {
  if (table === 'payees' && row.details) return { details: openPayee(vault, row as unknown as PayeeRow) }
  if (table !== 'payoutLines' || row.details === undefined) return {}
  const text = vault.open(String(row.details), String(row.id))
  return { details: text && JSON.parse(text) }
}
