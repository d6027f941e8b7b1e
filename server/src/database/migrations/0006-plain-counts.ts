import { type Kysely, sql } from 'kysely'
import { createAuditHeads, createRateLimits } from './0001-start/core.ts'
import { countTriggers, createRowCounts } from './0001-start/row-counts.ts'
import { schemaOf } from './0001-start/schema.ts'

const KEY = sql.raw('"shopId", list, scope, "programId", status, currency, "orderCurrency"')
const TOTALS = ['rows', 'orders', 'goodsCents', 'commissionCents', 'paidCents']

/**
 * Counts, audit heads and rate limits are rows that are updated in place. Databases of earlier versions move them from one
 * key to the next.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const tables = await db.introspection.getTables()
  if (!tables.some(({ columns }) => columns.some(({ name }) => name === 'generation'))) return
  const schema = schemaOf(db)
  for (const text of countTriggers(schema)) {
    const [, name] = /^create (?:trigger|function) ("\w+")/.exec(text)!
    if (!schema.isPostgres) await sql.raw(`drop trigger ${name}`).execute(db)
    else if (text.startsWith('create function')) await sql.raw(`drop function ${name}() cascade`).execute(db)
  }
  const totals = sql.join(TOTALS.map((name) => sql`cast(sum(${sql.ref(name)}) as bigint) as ${sql.ref(name)}`))
  await sql`create table "countsBefore" as select ${KEY}, ${totals} from "rowCounts" group by ${KEY}`.execute(db)
  await sql`create table "headsBefore" as select "shopId", seq, hash, "eventId" from "auditHeads"`.execute(db)
  await sql`drop table "rowCounts"`.execute(db)
  await sql`drop table "auditHeads"`.execute(db)
  await createRowCounts(schema)
  await createAuditHeads(schema)
  const names = sql.join(TOTALS.map((name) => sql.ref(name)))
  await sql`insert into "rowCounts" (${KEY}, ${names}) select ${KEY}, ${names} from "countsBefore"`.execute(db)
  await sql`insert into "auditHeads" select * from "headsBefore"`.execute(db)
  await sql`drop table "countsBefore"`.execute(db)
  await sql`drop table "headsBefore"`.execute(db)
  if (!schema.isPostgres) return
  await sql`drop table "rateLimits"`.execute(db)
  await createRateLimits(db)
}
