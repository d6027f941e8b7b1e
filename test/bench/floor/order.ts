import { createHmac, hash, randomBytes } from 'node:crypto'
import { hashEmail } from '../../../server/src/database/email-hash.ts'
import { decide } from '../../../server/src/engine/decide.ts'
import type { AffiliateFact, Decision, Facts, Order, ProgramFact } from '../../../server/src/engine/facts.ts'
import { serializeFacts } from '../../../server/src/engine/stored-facts.ts'
import type { Caller } from './contract.ts'

/** The parts of a conversion that both floors share apart from SQL: the same engine, the same rows. */
export interface Conversion {
  externalOrderId: string
  orderName: string
  amountCents: number
  currency: string
  couponCode: string
  customerEmail: string
}

export interface Gathered {
  affiliate:
    | {
        id: string
        email: string
        status: AffiliateFact['status']
        deletedAt: string | null
        campaignId: string | null
      }
    | undefined
  /** Of the buyer's address. */
  customer: { id: string; affiliateId: string | null } | undefined
  program:
    | (Pick<ProgramFact, 'id' | 'commissionType' | 'cookieDurationDays'> & {
        rate: number
        autoApproveOrder: number
        lifetimeCommission: number
      })
    | undefined
}

/** The columns of the rows of an order, by table: `test/database/bench-floors.test.ts` compares them with the server's. */
export const INSERTED = {
  commissions:
    'id shopId affiliateId programId externalOrderId orderId orderName currency orderCurrency commissionType commissionBaseCents remainingBaseCents commissionRateBps commissionAmountCents taxWithheldCents orderSubtotalCents orderDiscountCents orderShippingCents orderTaxCents trackingMethod attributionMethod attributionReasonCode customer orderStatus termsVersion availableAt happenedAt createdAt updatedAt version',
  orders: 'shopId orderId commissionId orderAt orderName orderCurrency goodsCents facts decision createdAt updatedAt',
  customers: 'id shopId emailHash mailboxHash importedOrders createdAt',
  journey:
    'id shopId type occurredAt affiliateId programId customerEmail customerEmailKey externalOrderId orderId commissionId createdAt',
  audits: 'shopId seq id actor action subjectId data requestId createdAt previousHash hash salt',
  webhookEvents: 'id shopId event body createdAt',
  deliveries: 'id shopId eventId subscriptionId webhookId status attempts createdAt',
  idempotencyKeys: 'shopId key fingerprint result createdAt',
}

export const emailHashes = ({ emailHashKey }: Caller, { customerEmail }: Conversion) =>
  hashEmail(emailHashKey, customerEmail)

let count = 0
/** Sorts by time, as the server's own ids do: new rows are at the end of every index. */
export const newId = (prefix: string): string =>
  `${prefix}_${Date.now().toString(36)}${(count++ % 1e9).toString().padStart(9, '0')}${process.pid}`

export const orderOf = (body: Conversion, orderAt: string): Order => ({
  externalOrderId: body.externalOrderId,
  orderAt,
  currency: body.currency,
  amountCents: body.amountCents,
  discountCents: 0,
  shippingCents: 0,
  taxCents: 0,
  couponCode: body.couponCode,
  affiliateCode: null,
  ref: null,
  clickId: null,
  sessionId: null,
  customerId: null,
  customerEmail: body.customerEmail,
  lines: [],
  shipping: null,
})

export function factsOf(caller: Caller, order: Order, { affiliate, customer, program }: Gathered): Facts {
  const none = { affiliateCode: null, click: null, sessionClicks: [], ref: null, customerId: null }
  const { attributionPrecedence, clickTouch, taxWithholdingBps, currency } = caller
  return {
    order,
    settings: { precedence: JSON.parse(attributionPrecedence), clickTouch, taxWithholdingBps, currency },
    matches: { ...none, couponCode: affiliate?.id ?? null, customerEmail: customer?.affiliateId ?? null, products: {} },
    affiliates: affiliate
      ? {
          [affiliate.id]: {
            id: affiliate.id,
            email: affiliate.email,
            status: affiliate.status,
            archived: affiliate.deletedAt !== null,
            programId: affiliate.campaignId,
          },
        }
      : {},
    programs: program
      ? {
          [program.id]: {
            ...program,
            autoApproveOrder: program.autoApproveOrder === 1,
            lifetimeCommission: program.lifetimeCommission === 1,
            productRules: [],
            geoRule: null,
          },
        }
      : {},
  }
}

const replyOf = ({ attribution, eligible, amountCents, status, restrictionReasonCode }: Decision, id: string) => ({
  attribution,
  commission: { id, eligible, affiliateId: attribution.affiliateId, amountCents, status, restrictionReasonCode },
})

const SECRET = Buffer.alloc(32, 7)
const canonical = (_: string, value: unknown) =>
  value && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

export const fingerprintOf = (body: unknown): string =>
  createHmac('sha256', SECRET).update(JSON.stringify(body, canonical)).digest('hex')

/** The last row of the shop's audit chain. */
export interface Link {
  seq: number
  hash: string
}

const sha256 = (values: unknown[]) => hash('sha256', JSON.stringify(values), 'hex')

interface Recorded {
  caller: Caller
  key: string
  body: Conversion
  order: Order
  facts: Facts
  customer: Gathered['customer']
  at: string
  last: Link
  takers: { id: string; events: string }[]
}

type Row = Record<string, unknown>

/** Decides an order. Returns the reply, and the values of its rows in the order of {@link INSERTED}. */
export function record({ caller, key, body, order, facts, customer, at, last, takers }: Recorded) {
  const { shopId, keyId } = caller
  const decision = decide(facts)
  const { attribution: by, programId, amountCents, subtotalCents, status } = decision
  const [id, eventId, orderId] = [newId('com'), newId('evt'), `api:${body.externalOrderId}`]
  const newCustomer = { id: newId('cus'), ...emailHashes(caller, body), importedOrders: 0 }
  const commission = {
    id,
    affiliateId: by.affiliateId,
    programId,
    externalOrderId: order.externalOrderId,
    orderId,
    orderName: body.orderName,
    currency: order.currency,
    orderCurrency: order.currency,
    commissionType: decision.commissionType,
    commissionBaseCents: decision.baseCents,
    remainingBaseCents: decision.baseCents,
    commissionRateBps: decision.rateBps,
    commissionAmountCents: amountCents,
    taxWithheldCents: decision.taxWithheldCents,
    orderSubtotalCents: subtotalCents,
    orderDiscountCents: 0,
    orderShippingCents: 0,
    orderTaxCents: 0,
    trackingMethod: 'API',
    attributionMethod: by.method,
    attributionReasonCode: by.reasonCode,
    restrictionReasonCode: decision.restrictionReasonCode,
    orderStatus: status,
    payoutBatchId: null,
    termsVersion: 1,
    termsRule: null,
    availableAt: at,
    happenedAt: at,
    paidAt: null,
    createdAt: at,
    updatedAt: at,
  }
  const [auditId, actor, action, requestId] = [newId('aud'), `key:${keyId}`, 'commission.created', newId('req')]
  const data = JSON.stringify({ orderId, amountCents, status })
  const [seq, salt] = [last.seq + 1, randomBytes(15).toString('base64url')]
  const digest = sha256([salt, id, data])
  const link: Link = { seq, hash: sha256([last.hash, seq, auditId, shopId, actor, action, digest, requestId, at]) }
  const event = 'commission.created'
  const told = { event, timestamp: at, shop_id: shopId, data: { ...commission, attribution: by } }
  const reply = replyOf(decision, id)
  const rows = {
    commissions: valuesOf('commissions', {
      ...commission,
      shopId,
      customer: customer?.id ?? newCustomer.id,
      version: 1,
    }),
    customers: customer ? undefined : valuesOf('customers', { ...newCustomer, shopId, createdAt: at }),
    orders: valuesOf('orders', {
      ...commission,
      commissionId: id,
      orderAt: at,
      goodsCents: subtotalCents,
      shopId,
      facts: serializeFacts(facts),
      decision: JSON.stringify(decision),
    }),
    journey: valuesOf('journey', {
      ...commission,
      id: newId('jrn'),
      shopId,
      type: 'conversion',
      occurredAt: at,
      customerEmail: order.customerEmail,
      customerEmailKey: order.customerEmail?.toLowerCase(),
      commissionId: id,
    }),
    audits: [shopId, seq, auditId, actor, action, id, data, requestId, at, last.hash, link.hash, salt],
    webhookEvents: [eventId, shopId, event, JSON.stringify(told), at],
    idempotencyKeys: [shopId, key, fingerprintOf(body), JSON.stringify({ reply, alreadyRecorded: false }), at],
  }
  const isTold = ({ events }: { events: string }) => events === '[]' || JSON.parse(events).includes(event)
  const deliveries = takers.filter(isTold).map(({ id: takerId }) => {
    const deliveryId = newId('dlv')
    return [deliveryId, shopId, eventId, takerId, deliveryId, 'PENDING', 0, at]
  })
  return { rows, deliveries, link, eventId, reply }
}

const valuesOf = (table: keyof typeof INSERTED, row: Row) => INSERTED[table].split(' ').map((name) => row[name])
