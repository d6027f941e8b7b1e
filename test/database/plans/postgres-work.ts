import pg from 'pg'
import type { Statement } from './statements.ts'

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  'Rows Removed by Join Filter'?: number
  Plans?: Plan[]
}

/** How many rows a plan reads, and where it reads the most. */
export interface Work {
  rows: number
  where: string
}

/** `custom`: planned for the values; `settled`: as PostgreSQL plans a statement that it has planned five times, for any. */
const MODES = ['custom', 'settled'] as const
const SETTLED = 5

/** Runs statements again and counts the rows that their plans actually read; changes are rolled back. */
export async function openPostgresWork(url: string) {
  const client = new pg.Client({ connectionString: url, statement_timeout: 20_000 })
  await client.connect()
  await client.query('set jit = off')
  let prepared = 0

  async function planOf(sql: string, values: readonly unknown[], mode: (typeof MODES)[number]): Promise<Plan> {
    const name = `plan_${++prepared}`
    const call = `execute ${name}${values.length > 0 ? `(${values.map(literal)})` : ''}`
    const before = mode === 'settled' ? Array.from({ length: SETTLED }, () => `explain ${call}`) : []
    try {
      // Sent together: one by one, most of the time is spent on the way.
      const results = (await client.query(
        ['begin', `prepare ${name} as ${sql}`, ...before, `explain (analyze, timing off, format json) ${call}`].join(
          ';',
        ),
      )) as unknown as pg.QueryResult[]
      return results.at(-1)?.rows[0]['QUERY PLAN'][0].Plan
    } finally {
      await client.query('rollback')
      await client.query(`deallocate ${name}`).catch(() => {})
    }
  }

  return {
    close: () => client.end(),
    /** The most work that any values and either kind of plan made. */
    workOf: async ({ sql, values }: Statement): Promise<Work> => {
      const all: Work[] = []
      for (const given of values) for (const mode of MODES) all.push(total(await planOf(sql, given, mode), mode))
      return all.reduce((most, one) => (one.rows > most.rows ? one : most))
    },
  }
}

const literal = (value: unknown) =>
  value === null ? 'null' : pg.escapeLiteral(Array.isArray(value) ? arrayLiteral(value) : String(value))
const arrayLiteral = (values: unknown[]) =>
  `{${values.map((value) => (value === null ? 'NULL' : JSON.stringify(String(value))))}}`

function total(plan: Plan, mode: string): Work {
  const nodes = scans(plan)
  const rows = nodes.reduce((sum, one) => sum + one.rows, 0)
  const most = nodes.toSorted((a, b) => b.rows - a.rows)[0]
  return { rows, where: `${mode}: ${most?.where ?? 'no table'}` }
}

function scans(plan: Plan): Work[] {
  const { 'Node Type': type, 'Relation Name': table, 'Index Name': index, 'Actual Loops': loops } = plan
  const looked =
    plan['Actual Rows'] +
    (plan['Rows Removed by Filter'] ?? 0) +
    (plan['Rows Removed by Index Recheck'] ?? 0) +
    (plan['Rows Removed by Join Filter'] ?? 0)
  return [
    // A bitmap of an index counts where its rows are read.
    ...(table !== undefined ? [{ rows: looked * loops, where: [type, index, table].filter(Boolean).join(' ') }] : []),
    ...(plan.Plans ?? []).flatMap(scans),
  ]
}
