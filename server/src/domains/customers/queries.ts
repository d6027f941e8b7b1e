import { sql } from 'kysely'
import { defineList } from '../../core/lists.ts'
import { type PageQuery, pageOf } from '../../core/pagination.ts'
import { withoutIndex } from '../../core/queries.ts'
import type { Reader } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import { findRow } from '../../database/rows.ts'
import type { CommissionRow, CustomerRow } from '../../database/tables.ts'

/** The customer with the caller's ID, and the one with the address. They can differ. */
export interface KnownCustomers {
  byId: CustomerRow | undefined
  byEmail: CustomerRow | undefined
}

export async function findCustomers(
  db: Reader,
  shopId: string,
  { customerId, emailHash }: Pick<CustomerRow, 'customerId' | 'emailHash'>,
): Promise<KnownCustomers> {
  const [byId, byEmail] = await Promise.all([
    customerId ? findRow(db, 'customers', { shopId, customerId }) : undefined,
    emailHash ? findRow(db, 'customers', { shopId, emailHash }) : undefined,
  ])
  return { byId, byEmail }
}

export const findCustomer = (db: Reader, shopId: string, id: string): Promise<CustomerRow | undefined> =>
  findRow(db, 'customers', { shopId, id })

/** Statuses of credited orders. An order that earns nothing is `REJECTED`. */
const CREDITED: CommissionRow['orderStatus'][] = ['PENDING', 'APPROVED', 'ACCEPTED', 'PAYABLE', 'PAID']
/** Counting stops here, so that an ID shared by all guests costs little. */
const MAX_ORDERS = 10_000

const creditedOrders = (db: Reader, { shopId, id, before }: { shopId: string; id: string; before: string }) =>
  db
    .selectFrom('commissions')
    .select('happenedAt')
    .where('shopId', '=', shopId)
    .where('customer', '=', id)
    .where('happenedAt', '<', before)
    .where(
      'orderStatus',
      'in',
      CREDITED.map((status) => sql.lit(status)),
    )
    .orderBy('happenedAt')
    .limit(sql.lit(MAX_ORDERS))

const countedOrders = prepared<{ shopId: string; id: string; before: string }>()((db, values) =>
  db
    .selectFrom(creditedOrders(db, values).as('credited'))
    .select((eb) => [eb.fn.countAll<number>().as('orders'), eb.fn.min('happenedAt').as('firstOrderAt')])
    .compile(),
)

/** After every order. */
export const ANY_TIME = '9999'

export interface CountedOrders {
  orders: number
  /** The instant of the first of them; null without any. */
  firstOrderAt: string | null
}

/** A customer's credited orders before an instant, those of another service included. */
export async function countOrders(
  db: Reader,
  { shopId, id, importedOrders, importedFirstOrderAt }: CustomerRow,
  before: string,
): Promise<CountedOrders> {
  const [counted] = await countedOrders(db, { shopId, id, before })
  const isEarlier = importedFirstOrderAt !== null && importedFirstOrderAt < before
  const { orders, firstOrderAt } = counted!
  if (!isEarlier) return { orders, firstOrderAt }
  const isFirst = firstOrderAt === null || importedFirstOrderAt < firstOrderAt
  return { orders: orders + importedOrders, firstOrderAt: isFirst ? importedFirstOrderAt : firstOrderAt }
}

export interface CustomerFilter extends PageQuery {
  affiliateId?: string | undefined
  programId?: string | undefined
  customerId?: string | undefined
  /** Matches any of these. */
  emailHashes?: string[] | undefined
}

function matchingCustomers(db: Reader, shopId: string, query: Omit<CustomerFilter, keyof PageQuery>) {
  const { affiliateId, programId, customerId, emailHashes } = query
  let list = db.selectFrom('customers').where('shopId', '=', shopId)
  if (customerId) list = list.where('customerId', '=', customerId)
  if (emailHashes) list = list.where('emailHash', 'in', emailHashes)
  if (affiliateId) list = list.where('affiliateId', '=', affiliateId)
  // An affiliate has fewer customers than a program.
  if (programId) list = list.where(affiliateId ? withoutIndex(db, 'programId') : 'programId', '=', programId)
  return list
}

/** Newest first. One customer by id or address is sorted without an index. */
async function listCustomers(db: Reader, shopId: string, query: CustomerFilter) {
  const isOne = query.customerId ?? query.emailHashes
  const list = matchingCustomers(db, shopId, query)
    .selectAll()
    .orderBy(isOne ? withoutIndex(db, 'createdAt') : 'createdAt', 'desc')
    .orderBy('id', 'desc')
  const { data, pagination } = await pageOf(list, query, { list: 'customers' })
  const rows = data.map(async (row) => ({ row, counted: await countOrders(db, row, ANY_TIME) }))
  return { data: await Promise.all(rows), pagination }
}

/** Rows that a page counts while others wait. */
const MAX_COUNTED = 1000

/** Customers are not counted, so a page counts them. The order lets PostgreSQL choose the index of the list. */
export const customerList = defineList(import.meta.url, 'customerList', {
  read: listCustomers,
  cost: ({ customerId, emailHashes, affiliateId, programId }: CustomerFilter) =>
    customerId || emailHashes
      ? undefined
      : async (db, shopId) =>
          // No index has affiliate and program: those of the affiliate are read.
          (await matchingCustomers(db, shopId, affiliateId ? { affiliateId } : { programId })
            .select('id')
            .orderBy('createdAt', 'desc')
            .orderBy('id', 'desc')
            .limit(1)
            .offset(MAX_COUNTED)
            .executeTakeFirst()) !== undefined,
})

/** The orders that name a customer and have a commission, newest first: sorted, not in the order of those of the shop. */
async function listCustomerOrders(db: Reader, shopId: string, { id, ...page }: PageQuery & { id: string }) {
  const list = db.selectFrom('commissions').where('shopId', '=', shopId).where('customer', '=', id)
  const newestFirst = list.orderBy(withoutIndex(db, 'happenedAt'), 'desc').orderBy('id', 'desc')
  return pageOf(newestFirst.select('orderId'), page)
}

/** An id that every guest has can have many orders. */
export const customerOrderList = defineList(import.meta.url, 'customerOrderList', {
  read: listCustomerOrders,
  cost:
    ({ id }: { id: string }) =>
    async (db, shopId) =>
      (await db
        .selectFrom('commissions')
        .select('id')
        .where('shopId', '=', shopId)
        .where('customer', '=', id)
        .orderBy('happenedAt')
        .limit(1)
        .offset(MAX_COUNTED)
        .executeTakeFirst()) !== undefined,
})
