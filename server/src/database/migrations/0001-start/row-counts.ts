import { sql } from 'kysely'
import { required, type Schema } from './schema.ts'

/** A table whose rows are counted by scope, program, status, and currencies. `$` is replaced with the row. */
interface Counted {
  list: string
  table: string
  /** Expressions for the scopes that a row counts in. Empty text stands for all rows. */
  scopes: string[]
  program: string
  status: string
  /** The currencies of a commission and its order. Empty text for other rows. */
  currency: string
  orderCurrency: string
  /** Values to add up in addition to the number of rows, by column. */
  sums: Record<string, string>
  where: string
  /** Columns whose updates change a count. None if they are never updated. */
  columns: string[]
}

const EVERY_ROW = 'true'
const WITHOUT_SUMS = { program: `''`, status: `''`, currency: `''`, orderCurrency: `''`, sums: {}, where: EVERY_ROW }

const COUNTED: Counted[] = [
  {
    list: 'commissions',
    table: 'commissions',
    // Per affiliate, and per day for period totals and deep pages.
    scopes: [`''`, '$."affiliateId"', `'day:' || substr($."happenedAt", 1, 10)`],
    program: `coalesce($."programId", '')`,
    status: '$."orderStatus"',
    currency: '$.currency',
    orderCurrency: '$."orderCurrency"',
    sums: {
      orders: `case when $."trackingMethod" = 'ADJUSTMENT' then 0 else 1 end`,
      goodsCents: `case when $."trackingMethod" = 'ADJUSTMENT' then 0 else $."orderSubtotalCents" end`,
      // A returned payment is payable again but was earned only once. After a reversal, only what was paid counts.
      commissionCents: `case when substr($."orderId", 1, 8) = 'adj:pln_' then 0
        when $."orderStatus" = 'REVERSED' and $."payoutBatchId" is null then 0 else $."commissionAmountCents" end`,
      // A returned payment does not count as paid unless it was paid again.
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

const KEY = '"shopId", list, scope, "programId", status, currency, "orderCurrency"'
const of = (row: string, text: string) => text.replaceAll('$', row)
const quoted = (names: string[]) => names.map((name) => `"${name}"`)

/** Triggers update the counts and totals in the transaction of every change, so that they are always exact. */
export async function createRowCounts(schema: Schema): Promise<void> {
  await createTable(schema)
  for (const trigger of countTriggers(schema)) await sql.raw(trigger).execute(schema.db)
}

const createTable = ({ db, isPostgres, text }: Schema): Promise<void> =>
  db.schema
    .createTable('rowCounts')
    .addColumn('shopId', text, required)
    .addColumn('list', text, required)
    .addColumn('scope', text, required)
    .addColumn('programId', text, required)
    .addColumn('status', text, required)
    .addColumn('currency', text, (column) => column.notNull().defaultTo(''))
    .addColumn('orderCurrency', text, (column) => column.notNull().defaultTo(''))
    .addColumn('rows', 'bigint', required)
    .addColumn('orders', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('goodsCents', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('commissionCents', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('paidCents', 'bigint', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('rowCounts_pk', [
      ...(['shopId', 'list', 'scope', 'programId', 'status', 'currency', 'orderCurrency'] as const),
    ])
    // Half of each page stays free, so that a hot row's update stays in its page.
    .modifyEnd(isPostgres ? sql`with (fillfactor = 50)` : sql`without rowid`)
    .execute()

export const countTriggers = ({ isPostgres }: Schema): string[] => COUNTED.flatMap(isPostgres ? onPostgres : onSqlite)

function onSqlite({ list, table, scopes, program, status, currency, orderCurrency, sums, where, columns }: Counted) {
  const names = quoted(['rows', ...Object.keys(sums)])
  const add = (row: string, sign: '' | '-') =>
    scopes
      .map(
        (scope) => `insert into "rowCounts" (${KEY}, ${names})
          select $."shopId", '${list}', ${scope}, ${program}, ${status}, ${currency}, ${orderCurrency},
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

/** Statement-level triggers. With 100,000 rows in a statement, one update per row would take minutes. */
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
      `insert into "rowCounts" as c (${KEY}, ${names})
        select $."shopId", '${list}', s.scope, ${program}, ${status}, ${currency}, ${orderCurrency}, ${deltas}
        from (${source}) r cross join lateral (values ${scopes.map((scope) => `(${scope})`)}) s (scope)
        group by 1, 2, 3, 4, 5, 6, 7 having ${deltas.map((delta) => `${delta} <> 0`).join(' or ')}
        order by 1, 2, 3, 4, 5, 6, 7
        on conflict (${KEY}) do update set ${names.map((name) => `${name} = c.${name} + excluded.${name}`)};`,
    )
    return [
      `create function ${name}() returns trigger language plpgsql as $body$ begin ${body} return null; end $body$`,
      `create trigger ${name} after ${event} on "${table}" referencing ${transition}
        for each statement execute function ${name}()`,
    ]
  })
}
