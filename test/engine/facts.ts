import { decide } from '../../server/src/engine/decide.ts'
import type {
  AffiliateFact,
  Click,
  Facts,
  Matches,
  Order,
  OrderLine,
  ProgramFact,
  TermsFact,
} from '../../server/src/engine/facts.ts'

export const ORDER_AT = '2026-11-20T12:00:00.000Z'

/** An instant relative to the order. */
export function at(offsetMs: number): string {
  return new Date(Date.parse(ORDER_AT) + offsetMs).toISOString()
}

export function order(over: Partial<Order> = {}): Order {
  return {
    externalOrderId: 'x1',
    orderAt: ORDER_AT,
    currency: 'USD',
    amountCents: 10_000,
    discountCents: 0,
    shippingCents: 0,
    taxCents: 0,
    couponCode: null,
    affiliateCode: null,
    ref: null,
    clickId: null,
    sessionId: null,
    customerId: null,
    customerEmail: null,
    lines: [],
    shipping: null,
    ...over,
  }
}

export function line(over: Partial<OrderLine> = {}): OrderLine {
  return { productId: null, variantId: null, quantity: 1, priceCents: null, ...over }
}

export function click(affiliateId: string | null, clickAt = ORDER_AT, clickId = 'jrn_1'): Click {
  return { clickId, affiliateId, clickAt }
}

export function affiliate(id: string, over: Partial<AffiliateFact> = {}): AffiliateFact {
  return { id, email: `${id}@example.com`, status: 'APPROVED', archived: false, programId: 'prg_1', ...over }
}

export function program(over: Partial<ProgramFact> = {}): ProgramFact {
  return {
    id: 'prg_1',
    commissionType: 'PERCENT_OF_SALE',
    rate: 1600,
    cookieDurationDays: 30,
    autoApproveOrder: false,
    lifetimeCommission: false,
    productRules: [],
    geoRule: null,
    ...over,
  }
}

/** Terms that were in force long before the order. */
export function terms(over: Partial<TermsFact> = {}): TermsFact {
  return {
    version: 2,
    createdAt: '2020-01-01T00:00:00.000Z',
    commissionType: 'PERCENT_OF_SALE',
    currency: 'USD',
    holdDays: 0,
    appliesTo: 'ORDERS',
    rules: [],
    ...over,
  }
}

export interface FactsInput {
  order?: Partial<Order>
  matches?: Partial<Matches>
  affiliates?: AffiliateFact[]
  programs?: ProgramFact[]
  settings?: Partial<Facts['settings']>
  customer?: Facts['customer']
}

/** Facts about an order of affiliates A and B, both of program prg_1 by default. */
export function facts(input: FactsInput = {}): Facts {
  const affiliates = input.affiliates ?? [affiliate('A'), affiliate('B')]
  const programs = input.programs ?? [program()]
  return {
    order: order(input.order),
    settings: {
      precedence: ['COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT'],
      clickTouch: 'LAST',
      taxWithholdingBps: 0,
      ...input.settings,
    },
    matches: {
      couponCode: null,
      affiliateCode: null,
      click: null,
      sessionClicks: [],
      ref: null,
      customerId: null,
      customerEmail: null,
      products: {},
      ...input.matches,
    },
    affiliates: Object.fromEntries(affiliates.map((entry) => [entry.id, entry])),
    programs: Object.fromEntries(programs.map((entry) => [entry.id, entry])),
    ...(input.customer && { customer: input.customer }),
  }
}

/** Facts of an order with A's coupon: the shortest way to a commission. */
export function couponFacts(input: FactsInput = {}): Facts {
  return facts({
    ...input,
    order: { couponCode: 'AAA', ...input.order },
    matches: { couponCode: 'A', ...input.matches },
  })
}

/** Who won and why, in one line. */
export function outcome(input: Facts): string {
  const { affiliateId, method, confidence, reasonCode } = decide(input).attribution
  return `${affiliateId} ${method} ${confidence} ${reasonCode}`
}
