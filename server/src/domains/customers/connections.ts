import { affiliateNotFound, conflict, invalidField, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { defineReader, readFrom } from '../../core/lists.ts'
import { mutate } from '../../core/mutate.ts'
import type { WebhookEvent } from '../../core/outbox.ts'
import { mapPage } from '../../core/pagination.ts'
import type { Transaction } from '../../database/database.ts'
import { findRow, insertRow, updateRows } from '../../database/rows.ts'
import type { AffiliateRow, ConnectionRow, CustomerRow } from '../../database/tables.ts'
import { findAffiliate } from '../affiliates/queries.ts'
import { requireProductId } from '../programs/product-rules.ts'
import { customerKeys, customerOf, hashesOfQuery, storeCustomer, UNBOUND } from './binding.ts'
import { type AnyConnection, type ConnectionFilter, connectionList, deleteConnection } from './connection-queries.ts'
import { boundEvent } from './customers.ts'
import { ANY_TIME, countOrders, findCustomer, findCustomers } from './queries.ts'

type Connection = components['schemas']['Connection']

/** Lists the products and variants that are connected to affiliates, and the bound customers, newest first. */
export const list = defineReader(
  connectionList,
  async (ctx: Context, query: Query<'listConnections'> & Pick<ConnectionFilter, 'isOfProducts'>) => {
    const emailHashes = query.value === undefined ? undefined : hashesOfQuery(ctx, query.value)
    return mapPage(await readFrom(ctx, connectionList, { ...query, emailHashes }), toConnection)
  },
)

/**
 * Connects a customer, product or variant to an affiliate. A customer is bound.
 *
 * @throws ApiError 400 `invalid_body`, 404 `affiliate_not_found`, 409 `connection_exists`.
 */
export async function create(ctx: Context, { kind, value: text, affiliateId }: Body<'createConnection'>) {
  const value = text.trim()
  if (!value) throw invalidField('invalid_body', 'value', 'is required.')
  return mutate(ctx, async (trx, shop) => {
    const affiliate = await findAffiliate(trx, ctx.shop.id, affiliateId)
    if (!affiliate) throw affiliateNotFound()
    const { result, events } =
      kind === 'product' || kind === 'variant'
        ? { result: await connectProduct(ctx, trx, { kind, value: requireProductId(value), affiliateId }), events: [] }
        : await bindCustomer({ ...ctx, shop }, trx, { [kind]: value }, affiliate)
    // The value may be an email address, so the audit leaves it out.
    const audit = { action: 'connection.created', subjectId: result.id, data: { kind, affiliateId } }
    return { result, audit, events }
  })
}

async function connectProduct(
  ctx: Context,
  trx: Transaction,
  connection: Pick<ConnectionRow, 'kind' | 'value' | 'affiliateId'>,
): Promise<Connection> {
  const { kind, value } = connection
  if (await findRow(trx, 'connections', { shopId: ctx.shop.id, kind, value })) throw connectionExists()
  const row = { ...connection, id: ctx.newId('con'), shopId: ctx.shop.id, createdAt: nowIso(ctx) }
  await insertRow(trx, 'connections', row)
  return toConnection(row)
}

async function bindCustomer(
  ctx: Context,
  trx: Transaction,
  named: { customerId?: string; customerEmail?: string },
  { id: affiliateId, campaignId: programId }: AffiliateRow,
): Promise<{ result: Connection; events: WebhookEvent[] }> {
  const keys = customerKeys(ctx.shop, named)
  const { before, row } = customerOf(ctx, keys, await findCustomers(trx, ctx.shop.id, keys))!
  if (row.affiliateId !== null) throw connectionExists()
  const createdAt = nowIso(ctx)
  const bound: CustomerRow = { ...row, affiliateId, programId, boundAt: createdAt, boundBy: 'OWNER' }
  await storeCustomer(trx, { before, row: bound })
  const kind = named.customerId === undefined ? 'customerEmail' : 'customerId'
  const result = { id: row.id, kind, value: named.customerId ?? null, affiliateId, createdAt } as const
  const counted = await countOrders(trx, bound, ANY_TIME)
  return { result, events: [await boundEvent(ctx, trx, { row: bound, counted })] }
}

const connectionExists = () =>
  conflict('connection_exists', 'This customer, product or variant is already connected. Delete that connection first.')

/** Deletes a product's or variant's connection, or unbinds a customer. @throws ApiError 404 `connection_not_found`. */
export async function remove(ctx: Context, id: string) {
  return mutate(ctx, async (trx) => {
    const row = (await deleteConnection(trx, ctx.shop.id, id)) ?? (await unbind(trx, ctx.shop.id, id))
    if (!row) throw notFound('connection_not_found', 'No connection with this id exists in your shop.')
    const { kind, affiliateId } = row
    return {
      result: { ok: true as const, message: 'Connection removed.', id },
      audit: { action: 'connection.deleted', subjectId: id, data: { kind, affiliateId } },
    }
  })
}

async function unbind(trx: Transaction, shopId: string, id: string) {
  const customer = await findCustomer(trx, shopId, id)
  if (!customer?.affiliateId) return undefined
  await updateRows(trx, 'customers', { shopId, id }, UNBOUND)
  const kind = customer.customerId === null ? 'customerEmail' : 'customerId'
  return { kind, affiliateId: customer.affiliateId }
}

const toConnection = ({ id, kind, value, affiliateId, createdAt }: AnyConnection): Connection => ({
  id,
  kind,
  value,
  affiliateId,
  createdAt,
})
