// PostgreSQL only: SQLite plans without statistics of a batch.
import pg from 'pg'
import { expect } from 'vitest'
import { OCTOBER } from '../payouts/rows.ts'
import { addMany } from '../support/many-commissions.ts'
import { testServer } from '../support/server.ts'
import { test } from '../support/test.ts'

const COMMISSIONS = 3000
/** Added up, gathered, reserved, and assigned: each reads a commission and the entry of an index, or two. */
const MAX_READS = 8

test('a batch reads each of its commissions a few times, whatever the statistics say', {
  timeout: 60_000,
}, async () => {
  const server = await testServer()
  addMany(server, COMMISSIONS)
  const observer = new pg.Client(server.url)
  await observer.connect()
  // As autovacuum does before the batch exists: the planner expects no commission in any batch.
  await observer.query('vacuum analyze commissions')
  /** Rows and entries of indexes that were read so far. Sessions report them when they end. */
  const reads = async (): Promise<number> => {
    await observer.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state = 'idle'`)
    const { rows } = await observer.query(
      `select (seq_tup_read + (select sum(idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid))::int as reads
        from pg_stat_user_tables t where relname = 'commissions'`,
    )
    return rows[0].reads
  }
  const before = await reads()
  const { status } = await server.request('POST', '/api/v1/payouts', { body: OCTOBER })
  expect(status).toBe(200)
  expect((await reads()) - before).toBeLessThan(MAX_READS * COMMISSIONS)
  await observer.end()
  await server.close()
})
