import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely'
import { codeKey } from '../../engine/affiliate-codes.ts'
import { emailKey, normalizeOrderId } from '../../engine/normalize.ts'

const PAGE = 500

/** A key that is made from a text of the same row. */
interface Key {
  table: string
  column: string
  /** What it is made from. */
  from: string
  make: (text: string) => string
  /** The rows that have such a key; all when left out. */
  only?: RawBuilder<boolean>
  /** Rows besides those with other characters than ASCII that may change. */
  also?: RawBuilder<boolean>
  /** The other rows `o` among which the key is unique; none when it is not. */
  among?: RawBuilder<boolean>
}

const endsWithDot = (column: string) => sql<boolean>`${sql.ref(column)} like '%.'`
const ALL = sql<boolean>`1 = 1`

const KEYS: Key[] = [
  {
    table: 'affiliates',
    column: 'emailKey',
    from: 'emailKey',
    make: emailKey,
    also: endsWithDot('emailKey'),
    among: sql`o."deletedAt" is null`,
  },
  { table: 'affiliates', column: 'codeKey', from: 'discountCode', make: codeKey, among: ALL },
  {
    table: 'connections',
    column: 'value',
    from: 'value',
    make: emailKey,
    only: sql`kind = 'customerEmail'`,
    also: endsWithDot('value'),
    among: sql`o.kind = 'customerEmail'`,
  },
  {
    table: 'journey',
    column: 'customerEmailKey',
    from: 'customerEmailKey',
    make: emailKey,
    also: endsWithDot('customerEmailKey'),
  },
]

/**
 * Makes the stored keys of addresses, codes and orders as they are compared now. Where another row has the new key
 * already, a row keeps its old one: two orders that were recorded stay two, and nothing is merged or deleted.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const pattern = db.getExecutor().adapter instanceof PostgresAdapter ? sql`~ '[^ -~]'` : sql`glob '*[^ -~]*'`
  const isWide = (column: string) => sql<boolean>`${sql.ref(column)} ${pattern}`
  for (const key of KEYS) await rekey(db, key, isWide(key.from))
  await renameOrders(db, isWide('orderId'))
  await renameNotices(db, isWide('orderId'))
  // Orders are found by their stored id now, also by the caller's own.
  await sql`drop index "commissions_shopId_externalOrderId"`.execute(db)
}

async function rekey(db: Kysely<unknown>, key: Key, isWide: RawBuilder<boolean>): Promise<void> {
  const { table, column, from, make, only = ALL, also = sql`1 = 0`, among } = key
  const [name, own] = [sql.table(table), sql.ref(column)]
  for (let last = ''; ; ) {
    const { rows } = await sql<{ id: string; text: string; key: string }>`
      select id, ${sql.ref(from)} as text, ${own} as key from ${name}
      where id > ${last} and ${only} and (${isWide} or ${also}) order by id limit ${sql.lit(PAGE)}`.execute(db)
    for (const row of rows) {
      const made = make(row.text)
      if (made === row.key) continue
      const isFree = among
        ? sql`not exists (
            select 1 from ${name} o where o."shopId" = ${name}."shopId" and o.${own} = ${made} and ${among})`
        : ALL
      await sql`update ${name} set ${own} = ${made} where id = ${row.id} and ${isFree}`.execute(db)
    }
    if (rows.length < PAGE) return
    last = rows.at(-1)?.id ?? last
  }
}

interface Named {
  shopId: string
  orderId: string
}

/** Orders and what names them. */
async function renameOrders(db: Kysely<unknown>, isWide: RawBuilder<boolean>): Promise<void> {
  for (const { shopId, orderId } of await namedIn(db, 'orders', isWide)) {
    const renamed = normalizeOrderId(orderId)
    if (renamed === orderId || (await hasOrder(db, { shopId, orderId: renamed }))) continue
    for (const table of ['orders', 'commissions', 'journey']) {
      await sql`update ${sql.table(table)} set "orderId" = ${renamed}
        where "shopId" = ${shopId} and "orderId" = ${orderId}`.execute(db)
    }
  }
}

/** What a store reported of an order goes with it; that of an order that kept its id stays. */
async function renameNotices(db: Kysely<unknown>, isWide: RawBuilder<boolean>): Promise<void> {
  for (const { shopId, orderId } of await namedIn(db, 'storeNotices', isWide)) {
    const renamed = normalizeOrderId(orderId)
    if (renamed === orderId || (await hasOrder(db, { shopId, orderId }))) continue
    await sql`update "storeNotices" set "orderId" = ${renamed}
      where "shopId" = ${shopId} and "orderId" = ${orderId} and not exists (
        select 1 from "storeNotices" o where o."shopId" = "storeNotices"."shopId" and o."orderId" = ${renamed}
          and o.kind = "storeNotices".kind and o."noticeId" = "storeNotices"."noticeId")`.execute(db)
  }
}

async function namedIn(db: Kysely<unknown>, table: string, isWide: RawBuilder<boolean>): Promise<Named[]> {
  const { rows } = await sql<Named>`
    select distinct "shopId", "orderId" from ${sql.table(table)} where ${isWide} order by 1, 2`.execute(db)
  return rows
}

async function hasOrder(db: Kysely<unknown>, { shopId, orderId }: Named): Promise<boolean> {
  const { rows } = await sql`select 1 from orders where "shopId" = ${shopId} and "orderId" = ${orderId}`.execute(db)
  return rows.length > 0
}
