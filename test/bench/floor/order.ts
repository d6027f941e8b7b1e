import { createHash, createHmac } from 'node:crypto'
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
  connection: string | null
  program:
    | (Pick<ProgramFact, 'id' | 'commissionType' | 'cookieDurationDays'> & {
        rate: number
        autoApproveOrder: number
        lifetimeCommission: number
      })
    | undefined
}

/** The rows of an order, by table: both floors insert these columns, which `test/database/bench-floors.test.ts` compares with the schema. */
export const INSERTED = {
  commissions:
    'id shopId affiliateId programId externalOrderId orderId orderName currency orderCurrency commissionType commissionBaseCents remainingBaseCents commissionRateBps commissionAmountCents taxWithheldCents orderSubtotalCents orderDiscountCents orderShippingCents orderTaxCents trackingMethod attributionMethod attributionReasonCode orderStatus happenedAt createdAt updatedAt version',
  orders: 'shopId orderId commissionId orderAt orderName orderCurrency goodsCents facts decision createdAt updatedAt',
  journey:
    'id shopId type occurredAt affiliateId programId customerEmail customerEmailKey externalOrderId orderId commissionId createdAt',
  audits: 'shopId seq id actor action subjectId data requestId createdAt previousHash hash',
  webhookEvents: 'id shopId event body createdAt',
  deliveries: 'id shopId eventId subscriptionId webhookId status attempts createdAt',
  idempotencyKeys: 'shopId key fingerprint result createdAt',
}

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

export function factsOf(caller: Caller, order: Order, { affiliate, connection, program }: Gathered): Facts {
  const none = { affiliateCode: null, click: null, sessionClicks: [], ref: null, customerId: null, products: {} }
  const { attributionPrecedence, clickTouch, taxWithholdingBps } = caller
  return {
    order,
    settings: { precedence: JSON.parse(attributionPrecedence), clickTouch, taxWithholdingBps },
    matches: { ...none, couponCode: affiliate?.id ?? null, customerEmail: connection },
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

export const replyOf = (
  { attribution, eligible, amountCents, status, restrictionReasonCode }: Decision,
  id: string,
) => ({
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

export interface Link {
  seq: number
  hash: string
}

/** The next row of the shop's audit chain. */
export function auditOf(last: Link, values: (string | null)[]): Link {
  const seq = last.seq + 1
  return {
    seq,
    hash: createHash('sha256')
      .update(JSON.stringify([last.hash, seq, ...values]))
      .digest('hex'),
  }
}

export { decide, serializeFacts }
