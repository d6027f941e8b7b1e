import SqliteDatabase from 'better-sqlite3'
import pg from 'pg'

/** About as long as a step of a payout. */
const WORK_MS = 10
const TRIAL_ROWS = 10_000

const numbers = (rows: number) =>
  `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows}) select sum(i * i % 7) from n`

/** A transaction of constant work that touches no row of a server. */
export async function openControl(url: string): Promise<() => Promise<unknown>> {
  const work = url.startsWith('file:') ? openSqlite(url.slice('file:'.length)) : await openPostgres(url)
  const trials: number[] = []
  for (let n = 0; n < 5; n++) {
    const startedAt = performance.now()
    await work(TRIAL_ROWS)
    trials.push(performance.now() - startedAt)
  }
  const rows = Math.max(1, Math.round((TRIAL_ROWS * WORK_MS) / Math.min(...trials)))
  return () => work(rows)
}

function openSqlite(file: string): (rows: number) => Promise<unknown> {
  const db = new SqliteDatabase(file)
  db.pragma('journal_mode = wal')
  db.pragma('synchronous = full')
  db.exec('create table if not exists control (sum integer)')
  return async (rows) => db.exec(`insert into control ${numbers(rows)}`)
}

async function openPostgres(url: string): Promise<(rows: number) => Promise<unknown>> {
  const pool = new pg.Pool({ connectionString: url, max: 1, options: '-c jit=off' })
  pool.on('error', () => {})
  await pool.query('create table if not exists control (sum numeric)')
  return (rows) => pool.query(`insert into control ${numbers(rows)}`)
}
