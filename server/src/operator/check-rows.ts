import type { Deps } from '../core/context.ts'
import { isStorable } from '../database/database.ts'
import { TABLE_NAMES, type TableName } from '../database/personal-data.ts'
import { forEachPage, type Row, readPrimaryKey } from '../database/table-keys.ts'
import type { Tables } from '../database/tables.ts'
import { replay } from '../domains/commissions/explain.ts'
import { goodsOf } from '../engine/commission.ts'
import { ENGINE_VERSION } from '../engine/decide.ts'
import { parseFacts } from '../engine/stored-facts.ts'

/** The number of rows between two lines of progress. */
export const PROGRESS_ROWS = 100_000

/** Counts rows, and reports each {@link PROGRESS_ROWS}. */
export function countProgress(
  onProgress: (line: string) => void,
  describe: (rows: number) => string,
): (rows: number) => void {
  let total = 0
  return (rows) => {
    const before = total
    total += rows
    if (Math.floor(total / PROGRESS_ROWS) > Math.floor(before / PROGRESS_ROWS)) onProgress(describe(total))
  }
}

/** Columns that contain JSON. The audit chain covers the audit's own. */
const JSON_COLUMNS: { [Table in TableName]?: (keyof Tables[Table])[] } = {
  shops: ['attributionPrecedence'],
  apiKeys: ['scopes'],
  orders: ['facts', 'decision'],
  refunds: ['lineItems'],
  orderNotices: ['body'],
  geoRules: ['countries', 'states', 'cities', 'postalPrefixes'],
  programTerms: ['rules'],
  subscriptions: ['events'],
  webhookEvents: ['body'],
  idempotencyKeys: ['result'],
}

/** The maximum number of problems reported per table. */
export const MAX_PROBLEMS = 20

/**
 * Reads every row of every table and returns a message for each that the server cannot have written: text that it never
 * stores, JSON that does not parse, and orders whose stored facts now lead to another decision.
 */
export async function findBadRows(
  { db }: Pick<Deps, 'db'>,
  onProgress: (line: string) => void = () => {},
): Promise<string[]> {
  const problems: string[] = []
  for (const table of TABLE_NAMES) {
    const badRows: string[] = []
    const key = await readPrimaryKey(db.read, table)
    const check = (row: Row) =>
      problemsOf(table, row).map((problem) => `Row ${describeKey(key, row)} of ${table} ${problem}.`)
    const onRows = countProgress(onProgress, (count) => `${table}: ${count} rows read`)
    try {
      await forEachPage(db.read, table, (rows) => {
        badRows.push(...rows.flatMap(check))
        onRows(rows.length)
      })
    } catch (error) {
      badRows.push(`The table ${table} cannot be read to its end: ${(error as Error).message}.`)
    }
    problems.push(...badRows.slice(0, MAX_PROBLEMS))
    if (badRows.length > MAX_PROBLEMS)
      problems.push(`${badRows.length - MAX_PROBLEMS} more rows of ${table} are damaged.`)
  }
  return problems
}

export function problemsOf(table: TableName, row: Row): string[] {
  const unstorable = Object.keys(row).filter((column) => typeof row[column] === 'string' && !isStorable(row[column]))
  if (unstorable.length > 0) return [`contains text in ${unstorable.join(', ')} that the server cannot have written`]
  const unreadable = (JSON_COLUMNS[table] ?? []).map(String).filter((column) => !isJson(row[column]))
  if (unreadable.length > 0) return [`contains invalid JSON in ${unreadable.join(', ')}`]
  if (table !== 'orders') return []
  if (!matchesReplay(row)) return ['has a decision that does not match its stored facts']
  return matchesFacts(row) ? [] : ['has a currency or goods that do not match its stored facts']
}

function matchesFacts({ facts, orderCurrency, goodsCents }: Row): boolean {
  const { order } = parseFacts(String(facts))
  return order.currency === orderCurrency && goodsOf(order).base === goodsCents
}

/**
 * The engine is deterministic, so the same facts give an identical decision. Other engine versions' decisions are
 * skipped.
 */
function matchesReplay({ facts, decision }: Row): boolean {
  try {
    const { identical, recordedEngineVersion } = replay({ facts: String(facts), decision: String(decision) })
    return identical || recordedEngineVersion !== ENGINE_VERSION
  } catch {
    return false
  }
}

export function isJson(value: unknown): boolean {
  if (typeof value !== 'string' || value === '') return value === null || value === ''
  try {
    JSON.parse(value)
    return true
  } catch {
    return false
  }
}

/** Names a row. A damaged key may contain any bytes, so only printable characters are kept. */
const describeKey = (key: string[], row: Row): string =>
  key.map((column) => String(row[column]).replace(/[^ -~]/g, '?')).join(' ')
