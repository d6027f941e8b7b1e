import type {
  AffiliateFact,
  Click,
  CustomerFact,
  Facts,
  Matches,
  Order,
  OrderLine,
  Place,
  ProductRule,
  ProgramFact,
  TermsFact,
  TermsRule,
} from './facts.ts'

/*
 * Facts are the largest part of what an order stores. What is null, an empty list, or the ID under which a value is
 * stored, is left out, so that a page of SQLite usually holds two orders instead of one.
 */

/** Several times as fast as a `JSON.stringify` replacer. */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(compact)
  if (typeof value !== 'object') return value
  if (value === null) return undefined
  const compacted: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) {
    const packed = compact(inner)
    if (packed !== undefined) compacted[key] = packed
  }
  return compacted
}

const withoutIds = <Value extends { id: string }>(values: Record<string, Value>) =>
  Object.fromEntries(Object.entries(values).map(([key, { id, ...rest }]) => [key, id === key ? rest : { id, ...rest }]))

/** The text to store with an order. */
export const serializeFacts = (facts: Facts): string =>
  JSON.stringify(compact({ ...facts, affiliates: withoutIds(facts.affiliates), programs: withoutIds(facts.programs) }))

const ORDER: Order = {
  externalOrderId: '',
  orderAt: '',
  currency: '',
  amountCents: null,
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
}
const LINE: OrderLine = { productId: null, variantId: null, quantity: 0, priceCents: null }
const PLACE: Place = { country: null, state: null, city: null, postalCode: null }
const CLICK: Pick<Click, 'affiliateId'> = { affiliateId: null }
const MATCHES: Matches = {
  couponCode: null,
  affiliateCode: null,
  click: null,
  sessionClicks: [],
  ref: null,
  customerId: null,
  customerEmail: null,
  products: {},
}
const AFFILIATE: Pick<AffiliateFact, 'programId'> = { programId: null }
const PROGRAM: Pick<ProgramFact, 'productRules' | 'geoRule'> = { productRules: [], geoRule: null }
const RULE: Pick<ProductRule, 'productId' | 'variantId'> = { productId: null, variantId: null }
const GEO_RULE = { countries: [], states: [], cities: [], postalPrefixes: [] }

const CUSTOMER: Pick<CustomerFact, 'firstOrderAt'> = { firstOrderAt: null }
const TERMS_RULE: Pick<TermsRule, 'rate'> = { rate: null }

/** A rule without a rate earns nothing. */
const withRules = ({ rules = [], ...terms }: TermsFact): TermsFact => ({
  ...terms,
  rules: rules.map((rule) => ({ ...TERMS_RULE, ...rule })),
})

/** Values by ID, with what was left out of each. */
const withIds = <Value extends { id: string }>(values: Record<string, Value>, complete: (value: Value) => Value) =>
  Object.fromEntries(Object.entries(values).map(([id, value]) => [id, complete({ ...value, id: value.id ?? id })]))

/** Parses the text from {@link serializeFacts}. Texts that leave nothing out are read unchanged. */
export function parseFacts(text: string): Facts {
  const stored: Facts = JSON.parse(text)
  const order = { ...ORDER, ...stored.order }
  const matches = { ...MATCHES, ...stored.matches }
  return {
    ...stored,
    order: {
      ...order,
      lines: order.lines.map((line) => ({ ...LINE, ...line })),
      shipping: order.shipping && { ...PLACE, ...order.shipping },
    },
    settings: { ...stored.settings, precedence: stored.settings.precedence ?? [] },
    ...(stored.customer && { customer: { ...CUSTOMER, ...stored.customer } }),
    matches: {
      ...matches,
      click: matches.click && { ...CLICK, ...matches.click },
      sessionClicks: matches.sessionClicks.map((click) => ({ ...CLICK, ...click })),
    },
    affiliates: withIds(stored.affiliates, (affiliate) => ({ ...AFFILIATE, ...affiliate })),
    programs: withIds(stored.programs, (program) => {
      const { productRules, geoRule, terms, ...rest } = { ...PROGRAM, ...program }
      return {
        ...rest,
        productRules: productRules.map((rule) => ({ ...RULE, ...rule })),
        geoRule: geoRule && { ...GEO_RULE, ...geoRule },
        ...(terms && { terms: terms.map(withRules) }),
      }
    }),
  }
}
