import { notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Query } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { readerOf, readFrom } from '../../core/lists.ts'
import { mutate } from '../../core/mutate.ts'
import type { WebhookEvent } from '../../core/outbox.ts'
import { mapPage } from '../../core/pagination.ts'
import type { CustomerRow } from '../../database/tables.ts'
import { hashesOfQuery, UNBOUND } from './binding.ts'
import { type CountedOrders, customerList, findCustomer, updateCustomer } from './queries.ts'

type Customer = components['schemas']['Customer']

/** Lists customers, newest first. */
export const list = readerOf(
  customerList,
  async (ctx: Context, { customerEmail, ...query }: Query<'listCustomers'>) => {
    const emailHashes = customerEmail === undefined ? undefined : hashesOfQuery(ctx, customerEmail)
    const page = await readFrom(ctx, customerList, { ...query, emailHashes })
    return mapPage(page, ({ row, counted }) => toCustomer(row, counted))
  },
)

/** Unbinds a customer. @throws ApiError 404 `customer_not_found`. */
export const unbind = (ctx: Context, id: string) =>
  mutate(ctx, async (trx) => {
    const row = await findCustomer(trx, ctx.shop.id, id)
    if (!row) throw notFound('customer_not_found', 'No customer with this id exists in your shop.')
    const { affiliateId } = row
    const result = { ok: true as const, message: 'Customer unbound.', id }
    if (affiliateId === null) return { result, audit: null }
    await updateCustomer(trx, row, UNBOUND)
    return { result, audit: { action: 'customer.unbound', subjectId: id, data: { affiliateId } } }
  })

/** A row as in openapi.yaml. Names every field, so that a hash is never sent. */
export const toCustomer = (row: CustomerRow, { orders, firstOrderAt }: CountedOrders): Customer => ({
  id: row.id,
  customerId: row.customerId,
  affiliateId: row.affiliateId,
  programId: row.programId,
  boundAt: row.boundAt,
  boundBy: row.boundBy,
  firstOrderAt,
  orders,
  commissionEndsAt: null,
  createdAt: row.createdAt,
})

export const boundEvent = (row: CustomerRow, counted: CountedOrders): WebhookEvent => ({
  event: 'customer.bound',
  data: toCustomer(row, counted),
})
