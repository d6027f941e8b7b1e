import { sql } from 'kysely'
import { required, type Schema } from './schema.ts'

/** A table whose rows are counted by scope, program, status and currencies. `$` is replaced by the row. */
interface Counted {
  list: string
  table: string
  /** Expressions of the scopes that a row counts in; empty text for all rows. */
  scopes: string[]
  program: string
  status: string
  /** The currencies of a commission and of its order; empty text for other rows. */
  currency: string
  orderCurrency: string
  /** Values to add up in addition to the number of rows, by column. */
  sums: Record<string, string>
  where: string
  /** The columns whose updates change a count; none if they are never updated. */
  columns: string[]
}

const EVERY_ROW = 'true'
const WITHOUT_SUMS = { program: `''`, status: `''`, currency: `''`, orderCurrency: `''`, sums: {}, where: EVERY_ROW }

const COUNTED: Counted[] = [
  {
    list: 'commissions',
    table: 'commissions',
    // Per affiliate, and per day for totals of periods and for the position of deep pages.
    scopes: [`''`, '$."affiliateId"', `'day:' || substr($."happenedAt", 1, 10)`],
    program: `coalesce($."programId", '')`,
    status: '$."orderStatus"',
    currency: '$.currency',
    orderCurrency: '$."orderCurrency"',
    sums: {
      orders: `case when $."trackingMethod" = 'ADJUSTMENT' then 0 else 1 end`,
      goodsCents: `case when $."trackingMethod" = 'ADJUSTMENT' then 0 else $."orderSubtotalCents" end`,
      // A returned payment is payable again, but was earned once. Only what was paid counts after a reversal.
      commissionCents: `case when substr($."orderId", 1, 8) = 'adj:pln_' then 0
        when $."orderStatus" = 'REVERSED' and $."payoutBatchId" is null then 0 else $."commissionAmountCents" end`,
      // A returned payment was not paid, unless it was paid again.
      paidCents: `case when substr($."orderId", 1, 8) = 'adj:pln_' then
          case when $."orderStatus" = 'PAID' or $."paidAt" is not null then 0 else $."taxWithheldCents" - $."commissionAmountCents" end
        when $."orderStatus" = 'PAID' or ($."orderStatus" = 'REVERSED' and $."paidAt" is not null)
          then $."commissionAmountCents" - $."taxWithheldCents" else 0 end`,
    },
    where: EVERY_ROW,
    columns: [
      ...['shopId', 'affiliateId', 'programId', 'orderStatus', 'happenedAt', 'currency', 'orderCurrency', 'orderId'],
      ...[
        'trackingMethod',
        'payoutBatchId',
        'paidAt',
        'orderSubtotalCents',
        'commissionAmountCents',
        'taxWithheldCents',
      ],
    ],
  },
  {
    ...WITHOUT_SUMS,
    list: 'affiliates',
    table: 'affiliates',
    scopes: [`''`],
    program: `coalesce($."campaignId", '')`,
    status: '$.status',
    where: '$."deletedAt" is null',
    columns: ['shopId', 'campaignId', 'status', 'deletedAt'],
  },
  {
    ...WITHOUT_SUMS,
    list: 'payoutBatches',
    table: 'payoutBatches',
    scopes: [`''`],
    status: '$.status',
    columns: ['shopId', 'status'],
  },
  { ...WITHOUT_SUMS, list: 'deliveries', table: 'deliveries', scopes: [`''`], columns: [] },
  {
    ...WITHOUT_SUMS,
    list: 'clicks',
    table: 'journey',
    scopes: ['$."affiliateId"'],
    where: `$.type = 'click' and $."affiliateId" is not null`,
    columns: ['shopId', 'affiliateId', 'type'],
  },
]

const KEY = '"shopId", list, scope, generation, "programId", status, currency, "orderCurrency"'
/** Updates of a count on PostgreSQL before its scope starts a new generation. */
const MAX_CHANGES = 64
const of = (row: string, text: string) => text.replaceAll('$', row)
const quoted = (names: string[]) => names.map((name) => `"${name}"`)

/**
 * Triggers update the counts and sums in the transaction of every change, so that they are always exact.
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
    .addColumn('currency', text, (column) => column.notNull().defaultTo(''))
    .addColumn('orderCurrency', text, (column) => column.notNull().defaultTo(''))
    .addColumn('rows', 'bigint', required)
    .addColumn('orders', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('goodsCents', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('commissionCents', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('paidCents', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('changes', 'integer', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('rowCounts_pk', [
      ...(['shopId', 'list', 'scope', 'generation', 'programId', 'status', 'currency', 'orderCurrency'] as const),
    ])
    .modifyEnd(isPostgres ? sql`with (fillfactor = 50)` : sql`without rowid`)
    .execute()
  for (const counted of COUNTED) {
    for (const trigger of isPostgres ? onPostgres(counted) : onSqlite(counted)) await sql.raw(trigger).execute(db)
  }
}

function onSqlite({ list, table, scopes, program, status, currency, orderCurrency, sums, where, columns }: Counted) {
  const names = quoted(['rows', ...Object.keys(sums)])
  const add = (row: string, sign: '' | '-') =>
    scopes
      .map(
        (scope) => `insert into "rowCounts" (${KEY}, ${names})
          select $."shopId", '${list}', ${scope}, 0, ${program}, ${status}, ${currency}, ${orderCurrency},
            ${['1', ...Object.values(sums)].map((value) => `${sign}(${value})`)} where ${where}
          on conflict do update set ${names.map((name) => `${name} = ${name} + excluded.${name}`)};`,
      )
      .map((statement) => of(row, statement))
      .join('\n')
  const parts = [
    ...scopes,
    program,
    status,
    currency,
    orderCurrency,
    ...Object.values(sums),
    `(${where})`,
    '$."shopId"',
  ]
  const differs = parts
    .filter((part) => part.includes('$'))
    .map((part) => `${of('old', part)} is not ${of('new', part)}`)
    .join(' or ')
  const on = (event: string, body: string) =>
    `create trigger "${table}_counted_${event.slice(0, 6)}" after ${event} begin ${body} end`
  const counts = (row: string) => (where === EVERY_ROW ? '' : `when ${of(row, where)}`)
  return [
    on(`insert on "${table}" ${counts('new')}`, add('new', '')),
    ...(columns.length
      ? [on(`update of ${quoted(columns)} on "${table}" when ${differs}`, add('old', '-') + add('new', ''))]
      : []),
    on(`delete on "${table}" ${counts('old')}`, add('old', '-')),
  ]
}

/**
 * Statement-level triggers: updating a count once per row of a statement with 100,000 rows would take minutes. The locks let
 * one transaction count rows of a shop at a time, and none during a recount, so that each finds the latest generation.
 */
function onPostgres({ list, table, scopes, program, status, currency, orderCurrency, sums, where, columns }: Counted) {
  const [added, removed] = [
    `select *, 1 as n from added $ where ${where}`,
    `select *, -1 as n from removed $ where ${where}`,
  ]
  const events: [event: string, transition: string, source: string][] = [
    ['insert', 'new table as added', added],
    ['update', 'old table as removed new table as added', `${added} union all ${removed}`],
    ['delete', 'old table as removed', removed],
  ]
  const names = quoted(['rows', ...Object.keys(sums)])
  const deltas = ['r.n', ...Object.values(sums).map((value) => `r.n * (${value})`)].map((value) => `sum(${value})`)
  return events.flatMap(([event, transition, source]) => {
    if (event === 'update' && columns.length === 0) return []
    const name = `"${table}_counted_${event}"`
    const body = of(
      'r',
      `${where === EVERY_ROW ? '' : `if not exists (select from (${source}) r) then return null; end if;`}
      perform pg_advisory_xact_lock_shared(hashtextextended('rowCounts', 0));
      perform pg_advisory_xact_lock(hashtextextended('rowCounts/' || s."shopId", 0))
        from (select distinct "shopId" from (${source}) r order by 1) s;
      with counted as (
        insert into "rowCounts" as c (${KEY}, ${names})
        select d."shopId", '${list}', d.scope,
          coalesce((select generation from "rowCounts" g
            where g."shopId" = d."shopId" and g.list = '${list}' and g.scope = d.scope
            order by generation desc limit 1), 0),
          d."programId", d.status, d.currency, d."orderCurrency", ${names.map((name) => `d.${name}`)}
        from (
          select $."shopId", s.scope, ${program} as "programId", ${status} as status, ${currency} as currency,
            ${orderCurrency} as "orderCurrency", ${deltas.map((delta, i) => `${delta} as ${names[i]}`)}
          from (${source}) r cross join lateral (values ${scopes.map((scope) => `(${scope})`)}) s (scope)
          group by 1, 2, 3, 4, 5, 6 having ${deltas.map((delta) => `${delta} <> 0`).join(' or ')}
          order by 1, 2, 3, 4, 5, 6
        ) d
        on conflict (${KEY}) do update set ${names.map((name) => `${name} = c.${name} + excluded.${name}`)},
          changes = c.changes + 1
        returning "shopId", scope, generation, changes
      )
      select array_agg("shopId"), array_agg(scope), array_agg(generation) into shops, scopes, generations
        from counted where changes >= ${MAX_CHANGES};
      if shops is not null then
        update "rowCounts" c set generation = c.generation + 1, changes = 0
        from unnest(shops, scopes, generations) as f ("shopId", scope, generation)
        where c."shopId" = f."shopId" and c.list = '${list}' and c.scope = f.scope and c.generation = f.generation;
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
