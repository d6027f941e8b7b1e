import { sql } from 'kysely'
import type { RunAside } from '../../server/src/database/report-thread.ts'

type Wish = 'statement' | 'shops' | 'exit' | 'hang' | 'rest' | 'bug' | 'odd bug' | 'odd answer' | 'storage' | 'write'

/** What the tests let the thread do. */
export const runAside: RunAside<{ wish: Wish }, unknown> = async (db, { wish }) => {
  if (wish === 'exit') process.exit(3)
  if (wish === 'hang') for (;;);
  if (wish === 'statement')
    return sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 12000000) select count(*) from n`.execute(
      db,
    )
  if (wish === 'rest') return new Promise((done) => setTimeout(done, 25))
  if (wish === 'odd bug') throw new TypeError('odd', { cause: () => 'no function can be copied' })
  if (wish === 'odd answer') return () => 'no function can be copied'
  if (wish === 'bug') throw new TypeError('a bug')
  if (wish === 'storage')
    return db
      .selectFrom('nothing' as 'shops')
      .selectAll()
      .execute()
  if (wish === 'write') return db.deleteFrom('shops').execute()
  return (await db.selectFrom('shops').select('id').execute()).length
}
