import { type Kysely, PostgresAdapter, sql } from 'kysely'

/** What is counted of a table: how many rows there are by scope, program and status. `$` stands for the row. */
interface Counted {
  table: string
  /** Everything, and what else totals are asked of. */
  scopes: string[]
  program: string
  status: string
  where: string
  /** The columns that a change of the counts comes from; none when nothing counted ever changes. */
  columns: string[]
}

const COUNTED: Counted[] = [
  {
    table: 'commissions',
    // Of one affiliate, and of one day: totals of periods, and where a page far down begins.
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

const KEY = '"shopId", list, scope, "programId", status'
const of = (row: string, text: string) => text.replaceAll('$', row)

/** Triggers keep the counts in the transaction of every change, whoever makes it, so that they are always exact. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  if (isPostgres) await run(db, withoutWriters(COUNTED.map(({ table }) => `"${table}"`)))
  const text = isPostgres ? 'text collate "C"' : 'text'
  const columns = KEY.split(', ').map((name) => `${name} ${text} not null`)
  const ending = isPostgres ? 'with (fillfactor = 50)' : 'without rowid'
  await run(db, `create table "rowCounts" (${columns}, rows bigint not null, primary key (${KEY})) ${ending}`)
  // Whose money waits is asked of every batch; they are few.
  await run(
    db,
    `create index "affiliates_unpaid" on affiliates ("shopId", id) where "deletedAt" is not null or status = 'REJECTED'`,
  )
  for (const counted of COUNTED) {
    await fill(db, counted)
    for (const statement of isPostgres ? onPostgres(counted) : onSqlite(counted)) await run(db, statement)
  }
}

const run = (db: Kysely<unknown>, statement: string) => sql.raw(statement).execute(db)

/**
 * Servers of an earlier version write on: what they write between counting and the triggers would never be counted. Takes
 * all tables or none for a moment, and again, for waiting with some of them in hand would end in a deadlock.
 */
const withoutWriters = (tables: string[]): string => `do $$ begin
    for attempt in 1..120 loop
      begin
        set local lock_timeout = '500ms';
        lock table ${tables} in share row exclusive mode;
        set local lock_timeout = 0;
        return;
      exception when lock_not_available or deadlock_detected then
        perform pg_sleep(0.1);
      end;
    end loop;
    raise exception 'Others have been writing without a pause; try again.';
  end $$`

async function fill(db: Kysely<unknown>, { table, scopes, program, status, where }: Counted): Promise<void> {
  for (const scope of scopes) {
    await run(
      db,
      of(
        'r',
        `insert into "rowCounts" (${KEY}, rows) select $."shopId", '${table}', ${scope}, ${program}, ${status}, count(*)
        from "${table}" r where ${where} group by 1, 2, 3, 4, 5`,
      ),
    )
  }
}

function onSqlite({ table, scopes, program, status, where, columns }: Counted): string[] {
  const add = (row: string, n: number) =>
    scopes
      .map(
        (scope) => `insert into "rowCounts" (${KEY}, rows)
          select $."shopId", '${table}', ${scope}, ${program}, ${status}, ${n} where ${where}
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

/** Once for each statement: a row that one statement changes a hundred thousand times would take minutes. */
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
      `insert into "rowCounts" as c (${KEY}, rows)
      select $."shopId", '${table}', s.scope, ${program}, ${status}, sum(r.n)
      from (${source}) r cross join lateral (values ${scopes.map((scope) => `(${scope})`)}) s (scope)
      where ${where} group by 1, 2, 3, 4, 5 having sum(r.n) <> 0 order by 1, 2, 3, 4, 5
      on conflict (${KEY}) do update set rows = c.rows + excluded.rows;`,
    )
    return [
      `create function ${name}() returns trigger language plpgsql as 'begin ${body.replaceAll("'", "''")} return null; end'`,
      `create trigger ${name} after ${event} on "${table}" referencing ${transition}
        for each statement execute function ${name}()`,
    ]
  })
}
