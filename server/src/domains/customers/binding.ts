import { type Context, nowIso } from '../../core/context.ts'
import type { Transaction } from '../../database/database.ts'
import { hashEmail } from '../../database/email-hash.ts'
import { insertRow, updateRows } from '../../database/rows.ts'
import type { CustomerRow, ShopRow } from '../../database/tables.ts'
import { emailKeysFromQuery } from '../../engine/normalize.ts'
import { ANY_TIME, countOrders, type KnownCustomers } from './queries.ts'

/** A report's customer. */
interface NamedCustomer {
  customerId?: string | null
  customerEmail?: string | null
}

/** A customer's stored identifiers. */
export type CustomerKeys = Pick<CustomerRow, 'customerId' | 'emailHash' | 'mailboxHash'>

const NO_ADDRESS = { emailHash: null, mailboxHash: null }

export const customerKeys = (
  { emailHashKey }: Pick<ShopRow, 'emailHashKey'>,
  { customerId, customerEmail }: NamedCustomer,
): CustomerKeys => ({
  customerId: customerId || null,
  ...(customerEmail ? hashEmail(emailHashKey, customerEmail) : NO_ADDRESS),
})

/** An address's hashes for a query parameter, in which a `+` may arrive as a space. */
export const hashesOfQuery = ({ shop }: Context, text: string): string[] =>
  emailKeysFromQuery(text).map((address) => hashEmail(shop.emailHashKey, address).emailHash)

type BindingColumns = Pick<CustomerRow, 'affiliateId' | 'programId' | 'boundAt' | 'boundBy'>

export const UNBOUND: BindingColumns = { affiliateId: null, programId: null, boundAt: null, boundBy: null }

/**
 * Matches a customer by ID, then by email address if that customer has no other ID. Undefined for a new customer.
 */
export function identify({ byId, byEmail }: KnownCustomers, { customerId }: CustomerKeys): CustomerRow | undefined {
  if (byId) return byId
  return byEmail && (byEmail.customerId === null || customerId === null) ? byEmail : undefined
}

/** A customer. `before` is the stored row; undefined for a new customer. */
export interface Customer {
  before: CustomerRow | undefined
  row: CustomerRow
}

/** The customer whom a report names, known or new, with the ID and address of the report. Undefined when it names none. */
export function customerOf(ctx: Context, keys: CustomerKeys, known: KnownCustomers): Customer | undefined {
  if (keys.customerId === null && keys.emailHash === null) return undefined
  const before = identify(known, keys)
  // An address stays that of the customer who had it first.
  const { emailHash, mailboxHash } = known.byEmail ? NO_ADDRESS : keys
  if (before) {
    const row = { ...before, customerId: before.customerId ?? keys.customerId }
    return { before, row: before.emailHash === null ? { ...row, emailHash, mailboxHash } : row }
  }
  const created = {
    ...UNBOUND,
    id: ctx.newId('cus'),
    shopId: ctx.shop.id,
    customerId: keys.customerId,
    emailHash,
    mailboxHash,
    importedOrders: 0,
    importedFirstOrderAt: null,
    createdAt: nowIso(ctx),
  }
  return { before, row: created }
}

/** Writes what differs from the stored row. */
export async function storeCustomer(trx: Transaction, { before, row }: Customer): Promise<void> {
  if (!before) return insertRow(trx, 'customers', row)
  const changes = Object.entries(row).filter(([column, value]) => value !== before[column as keyof CustomerRow])
  if (changes.length > 0)
    await updateRows(trx, 'customers', { shopId: row.shopId, id: row.id }, Object.fromEntries(changes))
}

/**
 * Lifetime commission: the first credited order of an unbound customer binds it. Called before the order is credited.
 * Returns the same customer when it does not.
 */
export async function bindByFirstOrder(
  ctx: Context,
  trx: Transaction,
  customer: Customer,
  { affiliateId, programId }: Pick<CustomerRow, 'affiliateId' | 'programId'>,
): Promise<Customer> {
  const { before, row } = customer
  const isFirst = !before || (before.affiliateId === null && (await countOrders(trx, before, ANY_TIME)).orders === 0)
  return isFirst
    ? { before, row: { ...row, affiliateId, programId, boundAt: nowIso(ctx), boundBy: 'ORDER' } }
    : customer
}
