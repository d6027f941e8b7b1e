import SQLite from 'better-sqlite3'
import { withStablePlan } from '../../../server/src/database/sqlite-executor.ts'
import type { Work } from './postgres-work.ts'
import type { Statement } from './statements.ts'

interface Index {
  table: string
  columns: string[]
  isUnique: boolean
  where: string
}

/** What a statement asks of a column, with the values for its placeholders. */
interface Condition {
  column: string
  text: string
  values: unknown[]
}

/**
 * How many rows the plans of statements read: as many as meet the conditions that an index is searched by. A page in
 * the order of its index ends where it is full, unless other conditions are left to check.
 *
 * @param counts what was counted in these rows before; statistics do not change it
 */
export function openSqliteWork(file: string, counts: Map<string, number>) {
  const database = new SQLite(file, { readonly: true })
  const indexes = readIndexes(database)

  function count(sql: string, values: unknown[] = []): number {
    const key = JSON.stringify([sql, values])
    const known =
      counts.get(key) ??
      (database
        .prepare(sql)
        .pluck()
        .get(...values) as number | null) ??
      0
    counts.set(key, known)
    return known
  }

  /** Rows that meet conditions; without all of them, the largest group of rows that are equal in these columns. */
  function rowsOf(table: string, index: Index | undefined, terms: Term[], conditions: Condition[]): number {
    const own = index?.where ? [`(${index.where})`] : []
    const found = terms.map(({ column }) => conditions.filter((one) => one.column === column))
    if (found.every((list) => list.length > 0)) {
      const all = found.flat()
      const where = [...own, ...all.map(({ text }) => text)].join(' and ') || '1 = 1'
      return count(
        `select count(*) from "${table}" where ${where}`,
        all.flatMap(({ values }) => values),
      )
    }
    const names = terms.filter(({ isEqual }) => isEqual).map(({ column }) => `"${column}"`)
    const where = [...own, ...names.map((name) => `${name} is not null`)].join(' and ') || '1 = 1'
    const groups = `select count(*) as n from "${table}" where ${where} ${names.length > 0 ? `group by ${names}` : ''}`
    return count(`select max(n) from (${groups})`)
  }

  function workOfLine(
    line: string,
    { sql, given, isPaged }: { sql: string; given: readonly unknown[]; isPaged: boolean },
  ) {
    const [, how = '', name = ''] = /^(SCAN|SEARCH) (\S+)/.exec(line) ?? []
    const index = indexes.get(/USING (?:COVERING )?INDEX (\S+)/.exec(line)?.[1] ?? '')
    const table = index?.table ?? name
    const columns = columnsOf(database, table)
    if (!how || columns.length === 0) return 0
    const terms = readTerms(/\((.*)\)/.exec(line)?.[1] ?? '')
    const isOne =
      index?.isUnique && index.columns.every((column) => terms.some((term) => term.column === column && term.isEqual))
    if (isOne) return 1
    const isRead = (column: string) => terms.some((term) => term.column === column) || index?.where.includes(column)
    const left =
      conditionsOf(sql, given, 'last').some(
        ({ column }) => column !== 'id' && columns.includes(column) && !isRead(column),
      ) ||
      (!/[<>]/.test(line) && comparedRows(sql).some((names) => names.every((column) => columns.includes(column))))
    return isPaged && !left ? 0 : rowsOf(table, index, terms, conditionsOf(sql, given, 'all'))
  }

  return {
    close: () => database.close(),
    /** The work of the most expensive line of the plan, for the values that make it most expensive. */
    workOf: ({ sql, values }: Statement): Work =>
      values
        .flatMap((given) => {
          const plan = database.prepare(`explain query plan ${withStablePlan(sql)}`).all(...given) as {
            detail: string
          }[]
          const isSorted = plan.some(({ detail }) => /TEMP B-TREE FOR .*ORDER BY/.test(detail))
          const isPaged = / limit /i.test(sql) && !isSorted
          return plan.map(({ detail }) => ({ rows: workOfLine(detail, { sql, given, isPaged }), where: detail }))
        })
        .reduce((most, one) => (one.rows > most.rows ? one : most), { rows: 0, where: 'no table' }),
  }
}

interface Term {
  column: string
  isEqual: boolean
}

/** The columns that an index is searched by, as `shopId=? AND (createdAt,id)<(?,?)` names them. */
function readTerms(text: string): Term[] {
  // A skipped first column is walked through.
  if (text.includes('ANY(')) return []
  return [...text.matchAll(/(\w+)(=\?|[<>]\?|<expr|>expr)/g)].map(([, column = '', sign = '']) => ({
    column,
    isEqual: sign.startsWith('='),
  }))
}

const CONDITION =
  /(?:"?\w+"?\.)?"?(\w+)"?\s*((?:=|<>|<=|>=|<|>|\blike\b)\s*(?:\?|'[^']*')|\bin\s*\((?:\s*(?:\?|'[^']*')\s*,?)+\)|\bis\s+(?:not\s+)?null)/gi

/** The conditions with values of a statement, of all of it or of its last `where`. */
function conditionsOf(sql: string, given: readonly unknown[], part: 'all' | 'last'): Condition[] {
  const from = part === 'last' ? sql.toLowerCase().lastIndexOf(' where ') : 0
  return [...sql.matchAll(CONDITION)]
    .filter(({ index }) => index >= from)
    .map((match) => {
      const [, column = '', rest = ''] = match
      const before = sql.slice(0, match.index).split('?').length - 1
      const own = rest.split('?').length - 1
      return { column, text: `"${column}" ${rest}`, values: [...given.slice(before, before + own)] }
    })
}

/** The columns of comparisons such as `("createdAt", "id") < (?, ?)`, which SQLite also checks row by row. */
const comparedRows = (sql: string): string[][] =>
  [...sql.matchAll(/\(([\w"., ]+)\)\s*[<>]=?\s*\(/g)].map(([, list = '']) =>
    list.split(',').map((column) => column.replace(/^.*\.|["\s]/g, '')),
  )

const columns = new Map<string, string[]>()

function columnsOf(database: SQLite.Database, table: string): string[] {
  const known =
    columns.get(table) ?? (database.pragma(`table_info("${table}")`) as { name: string }[]).map(({ name }) => name)
  columns.set(table, known)
  return known
}

function readIndexes(database: SQLite.Database): Map<string, Index> {
  const rows = database.prepare(`select name, tbl_name as "table", sql from sqlite_schema where type = 'index'`).all()
  return new Map(
    (rows as { name: string; table: string; sql: string | null }[]).map(({ name, table, sql }) => {
      const named = (database.pragma(`index_info("${name}")`) as { name: string }[]).map((column) => column.name)
      const isUnique = sql === null || /^create unique/i.test(sql)
      return [name, { table, columns: named, isUnique, where: /\bwhere\b(.*)$/is.exec(sql ?? '')?.[1]?.trim() ?? '' }]
    }),
  )
}
