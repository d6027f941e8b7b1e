import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import type { Database } from '../../server/src/database/database.ts'
import type { TableName as Table } from '../../server/src/database/personal-data.ts'
import type { Tables } from '../../server/src/database/tables.ts'
import { findFigures } from '../../server/src/domains/affiliates/figure-queries.ts'
import { overviewReport } from '../../server/src/domains/analytics/overview.ts'
import { PLAIN_SUBSCRIPTION } from '../../server/src/domains/webhooks/queries.ts'
import { pointerTo, problems } from './document.ts'
import type { TestServer } from './server.ts'
import type { Sql, Statement } from './sql.ts'

// Access to stored rows, for tests whose subject is storage: the outbox, the audit log, damage, retention and states
// that no request can produce.

/** A separate connection to a server's database. */
export type Connection = Pick<TestServer, 'sql'>

type Columns<Name extends Table> = Partial<Tables[Name]>

const quoted = (names: string[]) => names.map((name) => `"${name}"`)

/** Every given column equals its value; null matches null. */
function matching(where: object): { condition: string; values: unknown[] } {
  const terms = Object.entries(where).map(([name, value]) => `"${name}" ${value === null ? 'is null' : '= ?'}`)
  return { condition: terms.join(' and ') || '1 = 1', values: Object.values(where).filter((value) => value !== null) }
}

/** The stored figures of affiliates by id. */
export const figuresOf = ({ db, shop }: Pick<TestServer, 'db' | 'shop'>, affiliateIds: string[]) =>
  findFigures(db.read, shop.shopId, affiliateIds)

/** The commission in USD that charts of the last year show. */
export async function chartedCommission({ db, shop, clock }: Pick<TestServer, 'db' | 'shop' | 'clock'>) {
  const [from, to] = [clock.ms - 366 * 86_400_000, clock.ms].map((ms) => new Date(ms).toISOString()) as [string, string]
  const query = { currency: 'USD', before: from, from, to, timeZone: 'UTC' }
  const { days } = await overviewReport.run(db.read, { shopId: shop.shopId, query })
  return days.reduce((sum, { currency, commissionCents }) => sum + (currency === 'USD' ? commissionCents : 0), 0)
}

const IDS = [
  'id',
  'seq',
  'orderId',
  'batchId',
  'commissionId',
  'externalRefundId',
  'kind',
  'noticeId',
  'key',
  'version',
]

/** The rows of a table with these values, in the order of their ids. */
export function rowsOf<Name extends Table>(
  { sql }: Connection,
  table: Name,
  where: Columns<Name> = {},
): Tables[Name][] {
  const { condition, values } = matching(where)
  const rows = sql.prepare(`select * from "${table}" where ${condition}`).all(...values) as Record<string, string>[]
  const byId = (a: (typeof rows)[number], b: typeof a) => {
    const differing = IDS.find((id) => a[id] !== b[id])
    return differing === undefined ? 0 : a[differing]! < b[differing]! ? -1 : 1
  }
  return rows.sort(byId) as unknown[] as Tables[Name][]
}

/** The only row with these values. */
export function rowOf<Name extends Table>(server: Connection, table: Name, where: Columns<Name>): Tables[Name] {
  const [row, ...others] = rowsOf(server, table, where)
  if (!row || others.length > 0) throw new Error(`${others.length + Number(!!row)} rows of ${table}, not one`)
  return row
}

/** The number of rows of a table with these values. */
export function countOf<Name extends Table>({ sql }: Connection, table: Name, where: Columns<Name> = {}): number {
  const { condition, values } = matching(where)
  return Number(
    sql
      .prepare(`select count(*) from "${table}" where ${condition}`)
      .pluck()
      .get(...values),
  )
}

/** Rows in one statement, fewer than a database accepts values. */
const BATCH_SIZE = 500

/** Inserts rows that have the same columns, past every check of the server. */
export function insertRows<Name extends Table>({ sql }: Connection, table: Name, rows: Columns<Name>[]): void {
  const names = Object.keys(rows[0] ?? {})
  const places = `(${names.map(() => '?')})`
  for (let i = 0; i < rows.length; i += BATCH_SIZE) {
    const batch = rows.slice(i, i + BATCH_SIZE)
    sql
      .prepare(`insert into "${table}" (${quoted(names)}) values ${batch.map(() => places)}`)
      .run(...batch.flatMap((row) => Object.values(row)))
  }
}

/** Inserts one row, past every check of the server. */
export const insertRow = <Name extends Table>(server: Connection, table: Name, row: Columns<Name>): void =>
  insertRows(server, table, [row])

/** Changes rows past every check of the server, and returns how many. */
export function updateRows<Name extends Table>(
  { sql }: Connection,
  table: Name,
  change: Columns<Name>,
  where: Columns<Name> = {},
): number {
  const { condition, values } = matching(where)
  const assignments = quoted(Object.keys(change)).map((name) => `${name} = ?`)
  return sql.prepare(`update "${table}" set ${assignments} where ${condition}`).run(...Object.values(change), ...values)
    .changes
}

/** Changes rows as another process does, without blocking the requests of the server that are in progress. */
export const updateFromOutside = <Name extends Table>(
  db: Database,
  table: Name,
  change: Columns<Name>,
  where: Columns<Name>,
): Promise<unknown> =>
  db.transact((trx) => {
    const update = trx.updateTable(table as 'shops').set(change as object)
    return update.where((term) => term.and(where as object)).execute()
  })

/** Deletes rows past every check of the server. */
export function deleteRows<Name extends Table>({ sql }: Connection, table: Name, where: Columns<Name> = {}): void {
  const { condition, values } = matching(where)
  sql.prepare(`delete from "${table}" where ${condition}`).run(...values)
}

/** The rows of every table, by its name. */
export const allTables = ({ sql }: Connection): [table: string, rows: Record<string, unknown>[]][] =>
  sql.tables().map((table) => [table, sql.prepare(`select * from "${table}"`).all() as Record<string, unknown>[]])

/** Every row of every table, to show that a secret is stored nowhere. */
export const allRows = (server: Connection): unknown[] => allTables(server).flatMap(([, rows]) => rows)

export interface Announced {
  event: string
  timestamp: string
  shop_id: string
  // biome-ignore lint/suspicious/noExplicitAny: checked against the document where it is read
  data: any
}

/** Inserts a webhook subscription and returns its id; without event names it receives every event. */
export function subscribe(server: TestServer, events: string[] = [], shopId = server.shop.shopId): string {
  const id = server.deps.newId('whs')
  const now = new Date(server.deps.now()).toISOString()
  insertRow(server, 'subscriptions', {
    ...PLAIN_SUBSCRIPTION,
    id,
    shopId,
    url: 'https://hooks.example.com/',
    events: JSON.stringify(events),
    source: 'api',
    secret: null,
    createdAt: now,
    updatedAt: now,
  })
  return id
}

/** Returns a function that returns the events added to the outbox since its last call, each validated against its schema. */
export function outbox(server: Connection) {
  const rows = () => rowsOf(server, 'webhookEvents')
  let seen = rows().length
  return (): Announced[] => {
    const fresh = rows().slice(seen)
    seen += fresh.length
    return fresh.map(({ event, body }) => {
      const announced: Announced = JSON.parse(body)
      const schema = pointerTo('webhooks', event, 'post', 'requestBody', 'content', 'application/json', 'schema')
      expect(problems(schema, announced)).toEqual([])
      expect(announced.event).toBe(event)
      return announced
    })
  }
}

export interface Audited {
  action: string
  subjectId: string | null
  actor: string
  data: Record<string, unknown>
  shopId: string
}

/** Returns a function that returns the audit rows added since its last call, oldest first. */
export function auditLog({ sql }: Connection) {
  const rows = () =>
    sql.prepare('select id, action, "subjectId", actor, data, "shopId" from audits order by id').all() as (Omit<
      Audited,
      'data'
    > & { id: string; data: string })[]
  // By id: the deletion of a shop deletes its rows.
  const seen = new Set(rows().map(({ id }) => id))
  return (): Audited[] => {
    const fresh = rows().filter(({ id }) => !seen.has(id))
    for (const { id } of fresh) seen.add(id)
    return fresh.map(({ id, ...row }) => ({ ...row, data: JSON.parse(row.data) }))
  }
}

const lastHash = new WeakMap<Sql, { version: string; hash: string }>()

/** Of all tables of a SQLite file but these, without `lastUsedAt`. They are read again only after a commit. */
export function hashOfFile(server: TestServer, except: string[]): string {
  const version = `${except} ${versionOf(server)}`
  const last = lastHash.get(server.sql)
  if (last?.version === version) return last.hash
  const hash = createHash('sha256')
  for (const [name, rows] of allTables(server).filter(([table]) => !except.includes(table))) {
    const texts = rows.map(({ lastUsedAt, ...row }) => JSON.stringify(row)).sort()
    hash.update(`${name}\n${texts.join('\n')}\n`)
  }
  const made = { version, hash: hash.digest('hex') }
  lastHash.set(server.sql, made)
  return made.hash
}

/** Changes with every commit: of another connection, of this one, and of the schema. */
const versionOf = ({ sql }: TestServer): string =>
  ['pragma data_version', 'select total_changes()', 'pragma schema_version']
    .map((text) => sql.prepare(text).pluck().get())
    .join(' ')

/** The statements of `hashOfRows`, by what they leave out. */
const hashes = new WeakMap<Sql, Map<string, Statement>>()

/** Of all tables but these, without `lastUsedAt`, by PostgreSQL alone: reading every table for each test takes longer. */
export function hashOfRows({ sql }: TestServer, except: string[]): string {
  const known = hashes.get(sql) ?? new Map<string, Statement>()
  hashes.set(sql, known)
  const key = except.join(' ')
  const statement = known.get(key) ?? sql.prepare(textOfHash(sql, except), `hash ${key}`).pluck()
  known.set(key, statement)
  return String(statement.get())
}

function textOfHash(sql: Sql, except: string[]): string {
  const columns = `select table_name from information_schema.columns where table_schema = 'public' and column_name = 'lastUsedAt'`
  const used = sql.prepare(columns).pluck().all()
  // A sum does not depend on the order of the rows and needs no sort.
  const sums = sql
    .tables()
    .filter((name) => !except.includes(name))
    .map((name) => {
      const row = used.includes(name) ? `(to_jsonb(t) - 'lastUsedAt')` : 't'
      return `select concat('${name}', ' ', count(*), ' ', sum(hashtextextended(${row}::text, 0)::numeric)) as line from "${name}" t`
    })
  return `select string_agg(line, chr(10) order by line) from (${sums.join(' union all ')}) as tables`
}

/** Adds a column to every table, with this value in every row. */
export function addColumns(server: TestServer, name: string, value: string): void {
  for (const [table] of allTables(server))
    server.sql.exec(`alter table "${table}" add column "${name}" text default '${value}'`)
}

/** Every row of every table, as text, by table. */
export const dumpOf = ({ sql }: Connection): Map<string, string[]> =>
  new Map(
    sql.tables().map((name) => [
      name,
      sql
        .prepare(`select * from "${name}"`)
        .all()
        .map((row) => JSON.stringify(row)),
    ]),
  )
