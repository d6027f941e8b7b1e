import { PRECEDENCE_PRESETS } from '../../server/src/engine/attribution.ts'
import type { Facts, TermsFact, TermsRange } from '../../server/src/engine/facts.ts'
import { affiliate, at, click, facts, line, program } from './facts.ts'

const DAY = 86_400_000

/**
 * Facts by the engine version that first decided them. A version that reads more than the one before it gets an entry;
 * an entry never changes, because orders with these facts are stored and their decisions must not change either.
 */
export const FACTS: Record<string, () => Facts[]> = {
  '2': () => Array.from({ length: 300 }, (_, seed) => factsOfVersion2(seed + 1)),
  '3': () => Array.from({ length: 300 }, (_, seed) => factsOfVersion3(seed + 1)),
  '4': () => Array.from({ length: 300 }, (_, seed) => factsOfVersion4(seed + 1)),
}

/** Mulberry32: the same choices for the same seed on every platform. */
function chooser(seed: number): <Choice>(...choices: Choice[]) => Choice {
  let state = seed
  return (...choices) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return choices[((mixed ^ (mixed >>> 14)) >>> 0) % choices.length]!
  }
}

function factsOfVersion2(seed: number): Facts {
  const choose = chooser(seed)
  const who = () => choose('A', 'B', 'C', null)
  const cents = () => choose(0, 1, 49, 333, 1000, 9999, 2_147_483_647)
  const rate = () => ({
    commissionType: choose('PERCENT_OF_SALE' as const, 'FLAT_PER_ORDER' as const, 'FLAT_PER_ITEM' as const),
    rate: choose(1, 100, 1600, 1650, 3333, 10_000),
  })
  const someClick = (clickId: string) =>
    click(who(), at(choose(-30 * DAY - 1, -30 * DAY, -DAY, 0, 300_000, 300_001)), clickId)
  const someLine = () =>
    line({
      productId: choose('1', '2', null),
      variantId: choose('11', '12', null),
      quantity: choose(1, 2, 7),
      priceCents: choose(null, 0, 99, 2500),
    })
  const someAffiliate = (id: string) =>
    affiliate(id, {
      status: choose('APPROVED', 'ACTIVE', 'APPROVED', 'APPROVED', 'PENDING', 'REJECTED'),
      archived: choose(false, false, false, false, true),
      programId: choose('prg_1', 'prg_2', 'prg_1', 'prg_2', null),
    })
  const someProgram = (id: string) =>
    program({
      ...rate(),
      id,
      cookieDurationDays: choose(30, 30, 7, 0),
      autoApproveOrder: choose(true, false),
      lifetimeCommission: choose(true, false),
      productRules: choose([], [{ ...rate(), productId: '1', variantId: null }]),
      geoRule: choose(null, null, { countries: ['DE'], states: [], cities: [], postalPrefixes: choose([], ['53']) }),
    })
  const sends = (value: string) => choose(value, null, null)
  return facts({
    order: {
      currency: choose('USD', 'EUR', 'JPY'),
      amountCents: choose(cents(), null),
      discountCents: choose(0, cents()),
      shippingCents: cents(),
      taxCents: cents(),
      couponCode: sends('AAA'),
      affiliateCode: sends('bbb'),
      ref: sends('ccc'),
      clickId: sends('jrn_1'),
      sessionId: sends('s'),
      customerId: sends('c'),
      customerEmail: choose('c@example.com', 'A+shop@example.com', null, null),
      lines: choose([], [someLine()], [someLine(), someLine(), someLine()]),
      shipping: choose(null, {
        country: choose('DE', 'FR'),
        state: null,
        city: null,
        postalCode: choose('53113', null),
      }),
    },
    settings: {
      precedence: [...choose(...Object.values(PRECEDENCE_PRESETS))],
      clickTouch: choose('LAST', 'FIRST'),
      taxWithholdingBps: choose(0, 1000, 3333),
      ...choose({}, { currency: 'USD' }, { currency: 'EUR' }),
    },
    matches: {
      couponCode: who(),
      affiliateCode: who(),
      click: choose(null, someClick('jrn_1')),
      sessionClicks: choose([], [someClick('jrn_2'), someClick('jrn_3')]),
      ref: who(),
      customerId: who(),
      customerEmail: who(),
      products: choose<Record<string, string>>({}, { 'product:1': 'A', 'variant:11': 'B' }, { 'product:2': 'C' }),
    },
    affiliates: ['A', 'B', 'C'].map(someAffiliate),
    programs: ['prg_1', 'prg_2'].map(someProgram),
  })
}

/** Version 3 reads the own discounts and taxes of lines, and possible duplicates. */
function factsOfVersion3(seed: number): Facts {
  const choose = chooser(1000 + seed)
  const { order, ...others } = factsOfVersion2(seed)
  const lines = order.lines.map((one, index) => ({
    ...one,
    id: choose(null, `line-${index}`),
    ...choose({}, { discountCents: choose(0, 1, 99, 2500, 40_000) }),
    ...choose({}, { includedTaxCents: choose(0, 16, 399) }),
  }))
  return { ...others, order: { ...order, lines }, ...choose({}, {}, { duplicateOf: 'shopify:1' }) }
}

/** Version 4 reads the terms of programs, and what was counted for them. */
function factsOfVersion4(seed: number): Facts {
  const choose = chooser(2000 + seed)
  const { affiliates, programs, ...others } = factsOfVersion3(seed)
  const range = (...values: number[]): TermsRange =>
    choose({}, { from: choose(...values) }, { to: choose(...values) }, { from: values[0]!, to: values[1]! })
  const period = () => choose('MONTH' as const, 'ALL_TIME' as const)
  const rule = () => ({
    when: {
      ...choose({}, { customerOrder: range(1, 2, 3) }),
      ...choose({}, { customerMonth: range(0, 11, 12) }),
      ...choose({}, {}, { affiliateIds: choose(['A'], ['B', 'C']) }),
      ...choose({}, {}, { affiliateOrders: { period: period(), ...range(0, 9, 10) } }),
      ...choose({}, {}, { affiliateRevenueCents: { period: period(), ...range(0, 99_999, 100_000) } }),
      ...choose({}, {}, { orderSubtotalCents: range(0, 999, 1000) }),
    },
    rate: choose(null, 50, 3333, 10_000),
    ...choose({}, {}, { maxCommissionCents: choose(1, 700) }),
  })
  const version = (number: number, createdAt: string): TermsFact => ({
    version: number,
    createdAt,
    commissionType: choose('PERCENT_OF_SALE', 'PERCENT_OF_SALE', 'FLAT_PER_ORDER', 'FLAT_PER_ITEM'),
    currency: choose('USD', 'USD', 'EUR'),
    holdDays: choose(0, 30, 365),
    appliesTo: choose('ORDERS', 'CUSTOMERS'),
    rules: choose([], [rule()], [rule(), rule(), rule()]),
  })
  const customer = choose(
    undefined,
    { orders: 0, firstOrderAt: null, month: 0 },
    { orders: choose(1, 2), firstOrderAt: at(-400 * DAY), month: choose(11, 12, 13) },
  )
  const counts = () => ({ orders: choose(0, 9, 10), revenueCents: choose(0, 99_999, 100_000) })
  return {
    ...others,
    ...(customer && { customer }),
    affiliates: Object.fromEntries(
      Object.entries(affiliates).map(([id, one]) => [
        id,
        { ...one, ...choose({}, { counted: { MONTH: counts(), ALL_TIME: counts() } }) },
      ]),
    ),
    programs: Object.fromEntries(
      Object.entries(programs).map(([id, one]) => [
        id,
        { ...one, ...choose({}, { terms: [version(2, at(-500 * DAY)), version(3, at(choose(-DAY, 0, DAY)))] }) },
      ]),
    ),
  }
}
