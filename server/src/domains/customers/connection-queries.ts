import { sql } from 'kysely'
import { defineList, MAX_INLINE_ROWS } from '../../core/lists.ts'
import { countOf, type PageQuery, toPage } from '../../core/pagination.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import type { ConnectionRow } from '../../database/tables.ts'

/** A product or variant, or a bound customer. A customer's address is not stored, so its value is null. */
export interface AnyConnection extends Pick<ConnectionRow, 'id' | 'affiliateId' | 'createdAt'> {
  kind: ConnectionRow['kind'] | 'customerId' | 'customerEmail'
  value: string | null
}

export interface ConnectionFilter extends PageQuery {
  kind?: AnyConnection['kind'] | undefined
  value?: string | undefined
  /** The value's hashes as an email address. */
  emailHashes?: string[] | undefined
  affiliateId?: string | undefined
  /** Excludes customers. */
  isOfProducts?: boolean
}

function products(db: Reader, shopId: string, { kind, value, affiliateId }: ConnectionFilter) {
  let list = db.selectFrom('connections').where('shopId', '=', shopId)
  if (kind === 'product' || kind === 'variant') list = list.where('kind', '=', kind)
  // The index is ordered by kind before value.
  else if (value) list = list.where('kind', 'in', ['product', 'variant'])
  if (kind === 'customerId' || kind === 'customerEmail') list = list.where(sql.lit(false))
  if (value) list = list.where('value', '=', value)
  if (affiliateId) list = list.where('affiliateId', '=', affiliateId)
  return list.select(['id', 'kind', 'value', 'affiliateId', 'createdAt']).$castTo<AnyConnection>()
}

function customers(
  db: Reader,
  shopId: string,
  { kind, value, emailHashes, affiliateId, isOfProducts }: ConnectionFilter,
) {
  let list = db.selectFrom('customers').where('shopId', '=', shopId).where('affiliateId', 'is not', null)
  if (isOfProducts || kind === 'product' || kind === 'variant') list = list.where(sql.lit(false))
  if (value)
    list = list.where((eb) =>
      eb.or([
        ...(kind === 'customerEmail' ? [] : [eb('customerId', '=', value)]),
        ...(emailHashes && kind !== 'customerId' ? [eb('emailHash', 'in', emailHashes)] : []),
      ]),
    )
  else if (kind === 'customerId') list = list.where('customerId', 'is not', null)
  else if (kind === 'customerEmail') list = list.where('emailHash', 'is not', null)
  if (affiliateId) list = list.where('affiliateId', '=', affiliateId)
  const shown =
    kind === 'customerEmail'
      ? sql`'customerEmail'`
      : sql`case when "customerId" is null then 'customerEmail' else 'customerId' end`
  return list
    .select(['id', shown.as('kind')])
    .select([(kind === 'customerEmail' ? sql`null` : sql.ref('customerId')).as('value')])
    .select(['affiliateId', 'boundAt as createdAt'])
    .$castTo<AnyConnection>()
}

/** Newest first. */
async function listConnections(db: Reader, shopId: string, query: ConnectionFilter) {
  const list = db.selectFrom(
    products(db, shopId, query)
      .unionAll(customers(db, shopId, query))
      .as('list'),
  )
  const rows = await list
    .selectAll()
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(query.limit)
    .offset((query.page - 1) * query.limit)
    .execute()
  return toPage(rows, query, await countOf(list))
}

/** Whether a list of connections has many rows. Reads only these, from an index. */
const hasMany = async (db: Reader, shopId: string, affiliateId: string | undefined): Promise<boolean> => {
  const query = { affiliateId, page: 1, limit: 1 }
  const list = db.selectFrom(
    products(db, shopId, query)
      .unionAll(customers(db, shopId, query))
      .as('list'),
  )
  return (await list.select('id').limit(1).offset(MAX_INLINE_ROWS).executeTakeFirst()) !== undefined
}

/** No index serves both every filter and the order, and a shop can have many connections. */
export const connectionList = defineList(import.meta.url, 'connectionList', {
  read: listConnections,
  cost:
    ({ affiliateId }: ConnectionFilter) =>
    (db, shopId) =>
      hasMany(db, shopId, affiliateId),
})

/** Deletes a connection. Returns its row, if it existed. */
export const deleteConnection = (trx: Transaction, shopId: string, id: string): Promise<ConnectionRow | undefined> =>
  trx.deleteFrom('connections').where('shopId', '=', shopId).where('id', '=', id).returningAll().executeTakeFirst()
