import { sql } from 'kysely'
import { required, type Schema } from './schema.ts'

/** A table whose rows are counted by scope, program and status. `$` is replaced by the row. */
interface Counted {
  table: string
  /** Expressions of the scopes that a row counts in; empty text for all rows. */
  scopes: string[]
  program: string
  status: string
  where: string
  /** The columns whose updates change a count; none if they are never updated. */
  columns: string[]
}

const COUNTED: Counted[] = [
  {
    table: 'commissions',
    // Per affiliate, and per day for totals of periods and for the position of deep pages.
    scopes: [`''`, '$."affiliateId"', `'day:' || substr($."happenedAt", 1, 10)`],
    program: `coalesce($."programId", '')`,
    status: '$."orderStatus"',
    where: '1 = 1',
    columns: ['shopId', 'affiliateId', 'programId', 'orderStatus', 'happenedAt'],
  },
  {
    table: 'affiliates',
    scopes: [`''`],
    program: `coalesce($."campaignId", '')`,
    status: '$.status',
    where: '$."deletedAt" is null',
    columns: ['shopId', 'campaignId', 'status', 'deletedAt'],
  },
  {
    table: 'payoutBatches',
    scopes: [`''`],
    program: `''`,
    status: '$.status',
    where: '1 = 1',
    columns: ['shopId', 'status'],
  },
  { table: 'deliveries', scopes: [`''`], program: `''`, status: `''`, where: '1 = 1', columns: [] },
]

const KEY = '"shopId", list, scope, generation, "programId", status'
/** Updates of a count on PostgreSQL before its scope starts a new generation. */
const MAX_CHANGES = 64
const of = (row: string, text: string) => text.replaceAll('$', row)

/**
 * Triggers update the counts in the transaction of every change, so that they are always exact.
 *
 * While a long read transaction is open, PostgreSQL keeps every earlier version of an updated row, and a look-up by its key
 * visits them all. The counts of a scope therefore move to a new `generation` now and then: the earlier versions remain
 * behind at keys that no look-up visits. All counts of a scope have the same generation, the highest one. SQLite updates in place.
 */
export async function createRowCounts({ db, isPostgres, text }: Schema): Promise<void> {
  await db.schema
    .createTable('rowCounts')
    .addColumn('shopId', text, required)
    .addColumn('list', text, required)
    .addColumn('scope', text, required)
    .addColumn('generation', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('programId', text, required)
    .addColumn('status', text, required)
    .addColumn('rows', 'bigint', required)
    .addColumn('changes', 'integer', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('rowCounts_pk', ['shopId', 'list', 'scope', 'generation', 'programId', 'status'])
    .modifyEnd(isPostgres ? sql`with (fillfactor = 50)` : sql`without rowid`)
    .execute()
  for (const counted of COUNTED) {
    for (const trigger of isPostgres ? onPostgres(counted) : onSqlite(counted)) await sql.raw(trigger).execute(db)
  }
}

function onSqlite({ table, scopes, program, status, where, columns }: Counted): string[] {
  const add = (row: string, n: number) =>
    scopes
      .map(
        (scope) => `insert into "rowCounts" (${KEY}, rows)
          select $."shopId", '${table}', ${scope}, 0, ${program}, ${status}, ${n} where ${where}
          on conflict do update set rows = rows + ${n};`,
      )
      .map((statement) => of(row, statement))
      .join('\n')
  const names = columns.map((name) => `"${name}"`)
  const differs = names.map((name) => `old.${name} is not new.${name}`).join(' or ')
  const on = (event: string, body: string) =>
    `create trigger "${table}_counted_${event.slice(0, 6)}" after ${event} begin ${body} end`
  return [
    on(`insert on "${table}"`, add('new', 1)),
    ...(names.length ? [on(`update of ${names} on "${table}" when ${differs}`, add('old', -1) + add('new', 1))] : []),
    on(`delete on "${table}"`, add('old', -1)),
  ]
}

/**
 * Statement-level triggers: updating a count once per row of a statement with 100,000 rows would take minutes. The locks let
 * one transaction count rows of a shop at a time, and none during a recount, so that each finds the latest generation.
 */
function onPostgres({ table, scopes, program, status, where, columns }: Counted): string[] {
  const [added, removed] = ['select *, 1 as n from added', 'select *, -1 as n from removed']
  const events: [event: string, transition: string, source: string][] = [
    ['insert', 'new table as added', added],
    ['update', 'old table as removed new table as added', `${added} union all ${removed}`],
    ['delete', 'old table as removed', removed],
  ]
  return events.flatMap(([event, transition, source]) => {
    if (event === 'update' && columns.length === 0) return []
    const name = `"${table}_counted_${event}"`
    const body = of(
      'r',
      `
      perform pg_advisory_xact_lock_shared(hashtextextended('rowCounts', 0));
      perform pg_advisory_xact_lock(hashtextextended('rowCounts/' || s."shopId", 0))
        from (select distinct "shopId" from (${source}) r order by 1) s;
      with counted as (
        insert into "rowCounts" as c (${KEY}, rows)
        select d."shopId", '${table}', d.scope,
          coalesce((select generation from "rowCounts" g
            where g."shopId" = d."shopId" and g.list = '${table}' and g.scope = d.scope
            order by generation desc limit 1), 0),
          d."programId", d.status, d.n
        from (
          select $."shopId", s.scope, ${program} as "programId", ${status} as status, sum(r.n) as n
          from (${source}) r cross join lateral (values ${scopes.map((scope) => `(${scope})`)}) s (scope)
          where ${where} group by 1, 2, 3, 4 having sum(r.n) <> 0 order by 1, 2, 3, 4
        ) d
        on conflict (${KEY}) do update set rows = c.rows + excluded.rows, changes = c.changes + 1
        returning "shopId", scope, generation, changes
      )
      select array_agg("shopId"), array_agg(scope), array_agg(generation) into shops, scopes, generations
        from counted where changes >= ${MAX_CHANGES};
      if shops is not null then
        update "rowCounts" c set generation = c.generation + 1, changes = 0
        from unnest(shops, scopes, generations) as f ("shopId", scope, generation)
        where c."shopId" = f."shopId" and c.list = '${table}' and c.scope = f.scope and c.generation = f.generation;
      end if;`,
    )
    return [
      // Statistics say that a scope has one row, so PostgreSQL would read and sort all of its earlier versions.
      `create function ${name}() returns trigger language plpgsql
        set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off as $body$
        declare shops text[]; scopes text[]; generations integer[];
        begin ${body} return null; end $body$`,
      `create trigger ${name} after ${event} on "${table}" referencing ${transition}
        for each statement execute function ${name}()`,
    ]
  })
}
