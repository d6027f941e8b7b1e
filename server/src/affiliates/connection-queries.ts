import { type PageQuery, pageOf } from '../core/pagination.ts'
import { withoutIndex } from '../core/queries.ts'
import type { Reader, Transaction } from '../database/access.ts'
import { prepared, preparedByShape } from '../database/prepared.ts'
import { defineReport } from '../database/report-worker.ts'
import type { ConnectionRow } from '../database/tables.ts'

interface ConnectionFilter extends PageQuery {
  kind?: ConnectionRow['kind']
  /** One of these. */
  values?: string[]
  affiliateId?: string
}

/** What a line of an order names. */
export interface ProductLine {
  productId: string | null
  variantId: string | null
}

const connectionBy = prepared<Pick<ConnectionRow, 'shopId' | 'kind' | 'value'>>()((db, { shopId, kind, value }) =>
  db
    .selectFrom('connections')
    .select('affiliateId')
    .where('shopId', '=', shopId)
    .where('kind', '=', kind)
    .where('value', '=', value)
    .compile(),
)

/** The affiliate a customer, product or variant is connected to. E-mail addresses are given as their key. */
export async function findConnectedAffiliate(
  db: Reader,
  shopId: string,
  kind: ConnectionRow['kind'],
  value: string,
): Promise<string | null> {
  const [row] = await connectionBy(db, { shopId, kind, value })
  return row?.affiliateId ?? null
}

const selectProductConnections = (db: Reader, { shopId, ...values }: { shopId: string; [n: number]: string }) =>
  db
    .selectFrom('connections')
    .select(['kind', 'value', 'affiliateId'])
    .where('shopId', '=', shopId)
    .where('kind', 'in', ['product', 'variant'])
    .where('value', 'in', Object.values(values))
    .orderBy('kind')
    .orderBy('value')

const preparedProductConnections = preparedByShape<{ shopId: string; [n: number]: string }>()((db, values) =>
  selectProductConnections(db, values).compile(),
)
const manyProductConnections = (db: Reader, values: { shopId: string; [n: number]: string }) =>
  selectProductConnections(db, values).execute()

/** Each product and variant of an order once. */
export const productIds = (lines: ProductLine[]): string[] =>
  [...new Set(lines.flatMap((line) => [line.productId, line.variantId]))].filter((id) => id !== null)

/** Up to so many values a query is kept prepared: each number of them is a query of its own. */
export const MAX_PREPARED = 16

/** Affiliate ids by `variant:<id>` and `product:<id>` for the products of an order; ids are compared exactly. */
export async function findProductConnections(
  db: Reader,
  shopId: string,
  lines: ProductLine[],
): Promise<Record<string, string>> {
  const values = productIds(lines)
  if (values.length === 0) return {}
  const rows = await (values.length > MAX_PREPARED ? manyProductConnections : preparedProductConnections)(db, {
    shopId,
    ...values,
  })
  return Object.fromEntries(rows.map((row) => [`${row.kind}:${row.value}`, row.affiliateId]))
}

const KINDS: ConnectionRow['kind'][] = ['customerId', 'customerEmail', 'product', 'variant']

/** Newest first; those of a value are few, and are sorted when they have been found. */
function listConnections(db: Reader, shopId: string, query: ConnectionFilter) {
  const all = db.selectFrom('connections').selectAll().where('shopId', '=', shopId)
  let list = query.values ? all.orderBy(withoutIndex(db, 'createdAt'), 'desc') : all.orderBy('createdAt', 'desc')
  if (query.kind) list = list.where('kind', '=', query.kind)
  if (query.values) {
    list = list.where('value', 'in', query.values)
    // The index has kinds before values.
    if (!query.kind) list = list.where('kind', 'in', KINDS)
  }
  if (query.affiliateId) list = list.where('affiliateId', '=', query.affiliateId)
  return pageOf(list.orderBy('id', 'desc'), query)
}

export async function insertConnection(trx: Transaction, row: ConnectionRow): Promise<void> {
  await trx.insertInto('connections').values(row).execute()
}

/** Takes a connection away. Answers it, as long as it was there. */
export const deleteConnection = (trx: Transaction, shopId: string, id: string): Promise<ConnectionRow | undefined> =>
  trx.deleteFrom('connections').where('shopId', '=', shopId).where('id', '=', id).returningAll().executeTakeFirst()

/** Connects unless there is a connection already: the first affiliate keeps the customer. */
export async function insertConnectionIfNew(
  trx: Transaction,
  shopId: string,
  row: Omit<ConnectionRow, 'shopId'>,
): Promise<void> {
  await trx
    .insertInto('connections')
    .values({ shopId, ...row })
    .onConflict((conflict) => conflict.columns(['shopId', 'kind', 'value']).doNothing())
    .execute()
}

export const connectionList = defineReport(
  import.meta.url,
  'connectionList',
  (db, input: { shopId: string; query: ConnectionFilter }) => listConnections(db, input.shopId, input.query),
)
