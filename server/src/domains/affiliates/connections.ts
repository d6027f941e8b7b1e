import { affiliateNotFound, conflict, invalidField, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { readerOf, readFrom } from '../../core/lists.ts'
import { mutate } from '../../core/mutate.ts'
import { mapPage } from '../../core/pagination.ts'
import type { Transaction } from '../../database/database.ts'
import type { ConnectionRow } from '../../database/tables.ts'
import type { Order } from '../../engine/facts.ts'
import { emailKey, emailKeysFromQuery } from '../../engine/normalize.ts'
import { hasOtherCreditedOrder } from '../journey/queries.ts'
import { requireProductId } from '../programs/product-rules.ts'
import * as connections from './queries.ts'
import { connectionList, findAffiliate, insertConnectionIfNew } from './queries.ts'

type Connection = components['schemas']['Connection']

/** Lists the connections of customers, products and variants to affiliates, newest first. */
export const list = readerOf(connectionList, async (ctx: Context, query: Query<'listConnections'>) => {
  const values = query.value ? storedForms(query.kind, query.value) : undefined
  return mapPage(await readFrom(ctx, connectionList, { ...query, values }), toConnection)
})

/** The forms in which a queried value may be stored. */
function storedForms(kind: ConnectionRow['kind'] | undefined, value: string): string[] {
  if (kind === undefined) return [value, ...emailKeysFromQuery(value)]
  return kind === 'customerEmail' ? emailKeysFromQuery(value) : [value]
}

/**
 * Connects a customer, product or variant to an affiliate.
 *
 * @throws ApiError 400 `invalid_body`, 404 `affiliate_not_found`, 409 `connection_exists`.
 */
export async function create(ctx: Context, { kind, value: sent, affiliateId }: Body<'createConnection'>) {
  const value = storedForm(kind, sent)
  return mutate(ctx, async (trx) => {
    if (!(await findAffiliate(trx, ctx.shop.id, affiliateId))) throw affiliateNotFound()
    if (await connections.findConnectedAffiliate(trx, ctx.shop.id, kind, value)) {
      throw conflict(
        'connection_exists',
        'This customer, product or variant is already connected. Delete that connection first.',
      )
    }
    const row = { id: ctx.newId('con'), shopId: ctx.shop.id, kind, value, affiliateId, createdAt: nowIso(ctx) }
    await connections.insertConnection(trx, ctx.shop.id, row)
    // The value may be an email address, so the audit leaves it out.
    const audit = { action: 'connection.created', subjectId: row.id, data: { kind, affiliateId } }
    return { result: toConnection(row), audit }
  })
}

/** @throws ApiError 404 `connection_not_found`. */
export async function remove(ctx: Context, id: string) {
  return mutate(ctx, async (trx) => {
    const row = await connections.deleteConnection(trx, ctx.shop.id, id)
    if (!row) throw notFound('connection_not_found', 'No connection with this id exists in your shop.')
    const { kind, affiliateId } = row
    return {
      result: { ok: true as const, message: 'Connection removed.', id },
      audit: { action: 'connection.deleted', subjectId: id, data: { kind, affiliateId } },
    }
  })
}

/** A value in the form in which orders are compared with it. */
function storedForm(kind: ConnectionRow['kind'], text: string): string {
  const value = text.trim()
  if (!value) throw invalidField('invalid_body', 'value', 'is required.')
  if (kind === 'product' || kind === 'variant') return requireProductId(value)
  return kind === 'customerEmail' ? emailKey(value) : value
}

const toConnection = (row: ConnectionRow): Connection => ({
  id: row.id,
  kind: row.kind,
  value: row.value,
  affiliateId: row.affiliateId,
  createdAt: row.createdAt,
})

export interface CreditedOrder {
  order: Order
  orderId: string
  affiliateId: string
}

/** Lifetime commission: the customer's first attributed order connects the customer to its affiliate. */
export async function connectCustomer(
  ctx: Context,
  trx: Transaction,
  { order, orderId, affiliateId }: CreditedOrder,
): Promise<void> {
  const { customerId } = order
  const customerEmailKey = order.customerEmail && emailKey(order.customerEmail)
  if (await hasOtherCreditedOrder(trx, ctx.shop.id, { customerId, customerEmailKey, orderId })) return
  const connect = (kind: 'customerId' | 'customerEmail', value: string) =>
    insertConnectionIfNew(trx, ctx.shop.id, { id: ctx.newId('con'), kind, value, affiliateId, createdAt: nowIso(ctx) })
  if (customerId) await connect('customerId', customerId)
  if (customerEmailKey) await connect('customerEmail', customerEmailKey)
}
