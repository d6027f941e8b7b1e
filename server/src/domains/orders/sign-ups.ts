import { invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { type Mutation, mutate } from '../../core/mutate.ts'
import { parseBodyInstant, readOccurredAt } from '../../core/time.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import type { CustomerRow } from '../../database/tables.ts'
import { CONFIDENCE } from '../../engine/attribution.ts'
import { type BindingDecision, decideBinding } from '../../engine/binding.ts'
import type { Order } from '../../engine/facts.ts'
import { trimToNull } from '../../engine/normalize.ts'
import { type Customer, customerKeys, customerOf, storeCustomer } from '../customers/binding.ts'
import { toCustomer } from '../customers/customers.ts'
import { ANY_TIME, countOrders, findCustomers } from '../customers/queries.ts'
import { gatherEvidence } from './gather-facts.ts'

interface Recorded {
  reply: components['schemas']['CustomerReply']
  /** Whether the customer was bound before. Nothing was changed then. */
  isKnown: boolean
}

/**
 * Binds a sign-up's customer to the affiliate that its evidence names. The first binding is kept.
 *
 * @throws ApiError 400 `invalid_body` or `occurred_at_in_future`.
 */
export async function record(ctx: Context, body: Body<'createCustomer'>, isDryRun: boolean): Promise<Recorded> {
  const signUp = readSignUp(ctx, body)
  if (isDryRun) {
    const { customer, binding, isKnown } = await decide(ctx, ctx.db.read, signUp)
    const data = await describe(ctx, ctx.db.read, customer)
    return { reply: { data: { ...data, id: customer.before?.id ?? null }, attribution: binding }, isKnown }
  }
  return mutate(ctx, (trx, shop) => store({ ...ctx, shop }, trx, signUp))
}

/** Like {@link record}, in a store notification's transaction. */
export const recordInTransaction = (ctx: Context, trx: Transaction, body: Body<'createCustomer'>) =>
  store(ctx, trx, readSignUp(ctx, body))

async function store(ctx: Context, trx: Transaction, signUp: SignUp): Promise<Mutation<Recorded>> {
  const { customer, binding, isKnown } = await decide(ctx, trx, signUp)
  const { before, row } = customer
  const reply = { data: await describe(ctx, trx, customer), attribution: binding }
  if (isKnown) return { result: { reply, isKnown }, audit: null }
  await storeCustomer(trx, customer)
  const { id: subjectId, affiliateId, boundBy } = row
  if (affiliateId !== null)
    return {
      result: { reply, isKnown },
      audit: { action: 'customer.bound', subjectId, data: { affiliateId, boundBy, reasonCode: binding.reasonCode } },
      events: [{ event: 'customer.bound', data: reply.data }],
    }
  const data = { reasonCode: binding.reasonCode }
  return { result: { reply, isKnown }, audit: before ? null : { action: 'customer.created', subjectId, data } }
}

/** A sign-up's evidence, as an order without goods or customer. */
interface SignUp {
  order: Order
  customerId: string | null
  customerEmail: string | null
  imported: Partial<Pick<CustomerRow, 'importedOrders' | 'importedFirstOrderAt'>>
}

function readSignUp(ctx: Context, body: Body<'createCustomer'>): SignUp {
  const firstOrderAt = parseBodyInstant('firstOrderAt', body.firstOrderAt || null) ?? null
  const { orders = null } = body
  if ((orders ?? 0) > 0 !== (firstOrderAt !== null))
    throw invalidField('invalid_body', 'firstOrderAt', 'is required with orders above 0, and only then.')
  if (firstOrderAt !== null && Date.parse(firstOrderAt) > ctx.now())
    throw invalidField('invalid_body', 'firstOrderAt', 'must not be in the future.')
  return {
    customerId: trimToNull(body.customerId),
    customerEmail: trimToNull(body.customerEmail),
    imported: orders === null ? {} : { importedOrders: orders, importedFirstOrderAt: firstOrderAt },
    order: {
      externalOrderId: '',
      orderAt: readOccurredAt(ctx, body.occurredAt),
      currency: ctx.shop.currency,
      amountCents: 0,
      discountCents: 0,
      shippingCents: 0,
      taxCents: 0,
      couponCode: trimToNull(body.couponCode),
      affiliateCode: trimToNull(body.affiliateCode),
      ref: trimToNull(body.ref),
      clickId: trimToNull(body.clickId),
      sessionId: trimToNull(body.sessionId),
      customerId: null,
      customerEmail: null,
      lines: [],
      shipping: null,
    },
  }
}

async function decide(ctx: Context, db: Reader, { order, imported, ...named }: SignUp) {
  const keys = customerKeys(ctx.shop, named)
  const known = await findCustomers(db, ctx.shop.id, keys)
  const { before, row } = customerOf(ctx, keys, known)!
  if (before && before.affiliateId !== null)
    return { customer: { before, row: before }, binding: bindingOf(before, known.byId), isKnown: true }
  const facts = await gatherEvidence(db, ctx.shop, order)
  const binding = decideBinding(facts, named.customerEmail)
  const { affiliateId } = binding
  const bound: CustomerRow = {
    ...row,
    ...imported,
    ...(affiliateId !== null && {
      affiliateId,
      programId: facts.affiliates[affiliateId]?.programId ?? null,
      boundAt: order.orderAt,
      boundBy: imported.importedOrders === undefined ? 'SIGNUP' : 'IMPORT',
    }),
  }
  return { customer: { before, row: bound }, binding, isKnown: false }
}

/** How a customer's binding is evidence for an order. */
function bindingOf({ affiliateId }: CustomerRow, byId: CustomerRow | undefined): BindingDecision {
  const reasonCode = byId ? 'CONNECTED_CUSTOMER_ID_MATCH' : 'CONNECTED_CUSTOMER_EMAIL_MATCH'
  return { affiliateId, method: 'CONNECTED_CUSTOMER', confidence: CONFIDENCE[reasonCode], reasonCode }
}

/** The customer, with the orders counted so far. */
const describe = async (ctx: Context, db: Reader, { before, row }: Customer) =>
  toCustomer(ctx, db, { row, counted: before ? await countOrders(db, row, ANY_TIME) : countedOf(row) })

/** A new customer has only imported orders. */
const countedOf = ({ importedOrders, importedFirstOrderAt }: CustomerRow) => ({
  orders: importedOrders,
  firstOrderAt: importedFirstOrderAt,
})
