import type { RunAside } from '../../server/src/db/aside.ts'

type Wish = 'threads' | 'shops' | 'exit' | 'hang' | 'bug' | 'storage' | 'write'

/** What the tests let the thread do. */
export const runAside: RunAside<Wish, unknown> = async (db, wish) => {
  if (wish === 'exit') process.exit(3)
  if (wish === 'hang') for (;;);
  if (wish === 'bug') throw new TypeError('a bug')
  if (wish === 'storage')
    return db
      .selectFrom('nothing' as 'shops')
      .selectAll()
      .execute()
  if (wish === 'write') return db.deleteFrom('shops').execute()
  return (await db.selectFrom('shops').select('id').execute()).length
}
