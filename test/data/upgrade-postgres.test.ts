// PostgreSQL only: on SQLite a migration is alone.
import type { Kysely } from 'kysely'
import { afterEach, expect, test } from 'vitest'
import { withHandle } from '../../server/src/database/handle.ts'
import { migrate, migrations } from '../../server/src/database/migrate.ts'
import type { Tables } from '../../server/src/database/tables.ts'
import { listWrongCounts } from '../../server/src/operator/consistency.ts'
import { emptyDatabase } from '../support/database.ts'

const ends: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const upgrade = (url: string, list = migrations) =>
  withHandle(url, (db) => migrate(db as unknown as Kysely<never>, list))

/** A database of the version before row counts, and a server of that version that can be stopped in the middle. */
async function beforeCounts() {
  const at = await emptyDatabase()
  ends.push(at.remove, () => at.sql.close())
  await upgrade(at.url, { '0001-start': migrations['0001-start']! })
  const put = (db: Kysely<Tables>, table: 'affiliates' | 'payoutBatches', id: string) => {
    const names = at.sql
      .prepare(`select column_name, data_type from information_schema.columns where table_name = '${table}'`)
      .all() as { column_name: string; data_type: string }[]
    const values = names.map(({ column_name: name, data_type: type }) => [name, type === 'text' ? id : 1])
    return db
      .insertInto(table)
      .values({ ...Object.fromEntries(values), deletedAt: undefined, paidAt: undefined })
      .execute()
  }
  const waiting = at.sql.prepare(`select count(*) from pg_locks join pg_database d on d.oid = database
    where not granted and datname = current_database()`)
  const isWaiting = () => Number(waiting.pluck().get()) > 0
  return { at, put, isWaiting }
}

const until = async (what: () => boolean) => {
  for (let turn = 0; turn < 200 && !what(); turn++) await new Promise((done) => setTimeout(done, 10))
  expect(what()).toBe(true)
}

test('what an earlier version is writing during the upgrade is counted, whichever order it writes in', async () => {
  const { at, put, isWaiting } = await beforeCounts()
  await withHandle(at.url, (db) =>
    db.transaction().execute(async (trx) => {
      await put(trx, 'payoutBatches', 'x1')
      const upgraded = upgrade(at.url)
      ends.push(() => upgraded)
      await until(isWaiting)
      // Behind the upgrade in the line for a table that it comes to first.
      await put(trx, 'affiliates', 'x2')
    }),
  )
  await Promise.all(ends.splice(2).map((end) => end()))
  expect(at.sql.prepare('select list, rows from "rowCounts" where scope = \'\' order by 1').all()).toEqual([
    { list: 'affiliates', rows: 1 },
    { list: 'payoutBatches', rows: 1 },
  ])
  await withHandle(at.url, async (db) => expect(await listWrongCounts(db)).toEqual([]))
})
