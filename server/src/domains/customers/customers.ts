import { notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Query } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { defineReader, readFrom } from '../../core/lists.ts'
import { mutate } from '../../core/mutate.ts'
import type { WebhookEvent } from '../../core/outbox.ts'
import { mapPage, type Page, type PageQuery, readCursor, type Uncounted } from '../../core/pagination.ts'
import { addMonths } from '../../core/time-zone.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { updateRows } from '../../database/rows.ts'
import type { CustomerRow } from '../../database/tables.ts'
import type { TermsFact } from '../../engine/facts.ts'
import { endMonth, termsInForce } from '../../engine/terms.ts'
import { listTermedAffiliates, listTerms } from '../programs/queries.ts'
import { customerKeys, hashesOfQuery, identify, UNBOUND } from './binding.ts'
import {
  ANY_TIME,
  type CountedOrders,
  countOrders,
  customerList,
  customerOrderList,
  findCustomer,
  findCustomers,
} from './queries.ts'

type Customer = components['schemas']['Customer']

/** Lists customers, newest first. */
export const list = defineReader(
  customerList,
  async (ctx: Context, { customerEmail, ...query }: Query<'listCustomers'> & Uncounted) => {
    const emailHashes = customerEmail === undefined ? undefined : hashesOfQuery(ctx, customerEmail)
    const start = await readCursor(ctx, 'customers', query)
    const { data, pagination } = await readFrom(ctx, customerList, { ...query, emailHashes, start })
    return { data: await toCustomers(ctx, ctx.db.read, data), pagination }
  },
)

/** @throws ApiError 404 `customer_not_found`. */
export async function find(ctx: Context, id: string): Promise<Customer> {
  const row = await findCustomer(ctx.db.read, ctx.shop.id, id)
  if (!row) throw customerNotFound()
  return toCustomer(ctx, ctx.db.read, { row, counted: await countOrders(ctx.db.read, row, ANY_TIME) })
}

/** The id of the customer whom an order names; undefined when nobody is known by these. */
export async function findNamed(
  { db, shop }: Context,
  named: Parameters<typeof customerKeys>[1],
): Promise<string | undefined> {
  const keys = customerKeys(shop, named)
  return identify(await findCustomers(db.read, shop.id, keys), keys)?.id
}

/** The stored ids of a customer's orders that have a commission, newest first. */
export const listOrderIds = defineReader(
  customerOrderList,
  async (ctx: Context, query: PageQuery & { id: string }): Promise<Page<string>> =>
    mapPage(await readFrom(ctx, customerOrderList, query), ({ orderId }) => orderId),
)

const customerNotFound = () => notFound('customer_not_found', 'No customer with this id exists in your shop.')

/** Unbinds a customer. @throws ApiError 404 `customer_not_found`. */
export const unbind = (ctx: Context, id: string) =>
  mutate(ctx, async (trx) => {
    const row = await findCustomer(trx, ctx.shop.id, id)
    if (!row) throw customerNotFound()
    const { affiliateId } = row
    const result = { ok: true as const, message: 'Customer unbound.', id }
    if (affiliateId === null) return { result, audit: null }
    await updateRows(trx, 'customers', { shopId: ctx.shop.id, id }, UNBOUND)
    return { result, audit: { action: 'customer.unbound', subjectId: id, data: { affiliateId } } }
  })

/** A row with its counted orders. */
interface CountedCustomer {
  row: CustomerRow
  counted: CountedOrders
}

/** Converts rows to the schema in openapi.yaml. Names every field, so that a hash is never sent. */
async function toCustomers(ctx: Context, db: Reader, customers: CountedCustomer[]): Promise<Customer[]> {
  const affiliateIds = customers.flatMap(({ row, counted }) => (counted.firstOrderAt && row.affiliateId) ?? [])
  const termsOf = await readTerms(db, ctx.shop.id, [...new Set(affiliateIds)])
  return customers.map(({ row, counted: { orders, firstOrderAt } }) => ({
    id: row.id,
    customerId: row.customerId,
    affiliateId: row.affiliateId,
    programId: row.programId,
    boundAt: row.boundAt,
    boundBy: row.boundBy,
    firstOrderAt,
    orders,
    commissionEndsAt:
      row.affiliateId && firstOrderAt
        ? commissionEnd(ctx, { affiliateId: row.affiliateId, firstOrderAt, terms: termsOf(row.affiliateId) })
        : null,
    createdAt: row.createdAt,
  }))
}

export async function toCustomer(ctx: Context, db: Reader, countedCustomer: CountedCustomer): Promise<Customer> {
  const [customer] = await toCustomers(ctx, db, [countedCustomer])
  return customer!
}

/** All versions of the terms that affiliates are paid by. */
async function readTerms(db: Reader, shopId: string, affiliateIds: string[]) {
  const affiliates = affiliateIds.length > 0 ? await listTermedAffiliates(db, shopId, affiliateIds) : []
  const programIds = [...new Set(affiliates.map(({ programId }) => programId))]
  const rows = programIds.length > 0 ? await listTerms(db, shopId, programIds) : []
  const versions = rows.map((row): TermsFact & { programId: string } => ({ ...row, rules: JSON.parse(row.rules) }))
  return (affiliateId: string): TermsFact[] => {
    const known = affiliates.find(({ id }) => id === affiliateId)
    return versions.filter(({ programId }) => programId === known?.programId)
  }
}

interface Referred {
  affiliateId: string
  firstOrderAt: string
  /** All versions but the first. */
  terms: TermsFact[]
}

/** When the affiliate stops earning on the customer, by today's terms or those the customer keeps. */
function commissionEnd(ctx: Context, { affiliateId, firstOrderAt, terms }: Referred): string | null {
  const decisive = termsInForce({ order: { orderAt: nowIso(ctx) }, customer: { firstOrderAt } }, { terms })
  const month = decisive ? endMonth(decisive, affiliateId) : null
  return month === null ? null : addMonths(firstOrderAt, month, ctx.shop.timeZone)
}

export const boundEvent = async (ctx: Context, trx: Transaction, bound: CountedCustomer): Promise<WebhookEvent> => ({
  event: 'customer.bound',
  data: await toCustomer(ctx, trx, bound),
})
