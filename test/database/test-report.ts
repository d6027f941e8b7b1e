import { sql } from 'kysely'
import { defineReport, type Transaction } from '../../server/src/database/database.ts'

/** Makes the report thread do what a test needs. */
export const testReport = defineReport(
  import.meta.url,
  'testReport',
  async (db, { job, release }: { shopId: string; job: string; release?: Int32Array }): Promise<unknown> => {
    if (job === 'exit') process.exit(3)
    if (job === 'hang') for (;;);
    if (job === 'statement')
      return sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 4000000) select count(*) from n`.execute(
        db,
      )
    if (job === 'plan') {
      await sql`select set_config('min_parallel_table_scan_size', '0', false), set_config('parallel_setup_cost', '0', false), set_config('parallel_tuple_cost', '0', false)`.execute(
        db,
      )
      return (await sql`explain (format json) select count(*) from audits`.execute(db)).rows
    }
    if (job === 'long') return new Promise((done) => setTimeout(done, 1000))
    if (job === 'wait') return Atomics.wait(release!, 0, 0, 10_000)
    if (job === 'rest') return new Promise((done) => setTimeout(done, 25))
    if (job === 'odd bug') throw new TypeError('odd', { cause: () => 'no function can be copied' })
    if (job === 'odd answer') return () => 'no function can be copied'
    if (job === 'bug') throw new TypeError('a bug')
    if (job === 'storage')
      return db
        .selectFrom('nothing' as 'shops')
        .selectAll()
        .execute()
    if (job === 'write') return (db as Transaction).deleteFrom('shops').execute()
    return (await db.selectFrom('shops').select('id').execute()).length
  },
)

let runs = 0

/** Returns how often it has run in its thread. */
export const sharedReport = defineReport(
  import.meta.url,
  'sharedReport',
  async (_db, _input: { shopId: string }) => ++runs,
  { isShared: true },
)
