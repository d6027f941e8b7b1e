import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { decide, ENGINE_VERSION } from '../../server/src/engine/decide.ts'
import type { Facts, ReasonCode, RestrictionCode } from '../../server/src/engine/facts.ts'
import { parseFacts, serializeFacts } from '../../server/src/engine/stored-facts.ts'
import { document } from '../support/document.ts'
import { affiliate, at, click, couponFacts, facts, line, program, terms } from './facts.ts'
import { FACTS } from './golden-facts.ts'

const GERMANY = program({ geoRule: { countries: ['DE'], states: [], cities: [], postalPrefixes: [] } })
const FRANCE = { country: 'FR', state: null, city: null, postalCode: null }
const DAY = 86_400_000

/** A cause of every code. The compiler asks for one when a code is added. */
const RESTRICTIONS: Record<RestrictionCode, [cause: string, Facts]> = {
  AFFILIATE_ARCHIVED: ['an archived affiliate', couponFacts({ affiliates: [affiliate('A', { archived: true })] })],
  AFFILIATE_REJECTED: ['a rejected affiliate', couponFacts({ affiliates: [affiliate('A', { status: 'REJECTED' })] })],
  AFFILIATE_NOT_APPROVED: [
    'an affiliate who waits for approval',
    couponFacts({ affiliates: [affiliate('A', { status: 'PENDING' })] }),
  ],
  PROGRAM_MISSING: [
    'an affiliate without a program',
    couponFacts({ affiliates: [affiliate('A', { programId: null })] }),
  ],
  SELF_REFERRAL: ['the buyer is the affiliate', couponFacts({ order: { customerEmail: 'a@example.com' } })],
  GEO_UNKNOWN: ['a geo rule and an order without a country', couponFacts({ programs: [GERMANY] })],
  GEO_NOT_ELIGIBLE: ['an order to another country', couponFacts({ order: { shipping: FRANCE }, programs: [GERMANY] })],
  TERMS_NOT_MET: [
    'a rule that pays nothing',
    couponFacts({ programs: [program({ terms: [terms({ rules: [{ when: {}, rate: null }] })] })] }),
  ],
  ZERO_BASE: ['a discount of the whole amount', couponFacts({ order: { discountCents: 10_000 } })],
  POSSIBLE_DUPLICATE: ['an order that a store reported too', { ...couponFacts(), duplicateOf: 'shopify:1' }],
}

const REASONS: Record<ReasonCode, [cause: string, Facts]> = {
  COUPON_MATCH: ['a coupon code', couponFacts()],
  AFFILIATE_CODE_MATCH: [
    'an affiliate code',
    facts({ order: { affiliateCode: 'a' }, matches: { affiliateCode: 'A' } }),
  ],
  CLICK_MATCH: ['a click', facts({ order: { clickId: 'jrn_1' }, matches: { click: click('A') } })],
  REF_MATCH: ['a reference without a click', facts({ order: { ref: 'a' }, matches: { ref: 'A' } })],
  CONNECTED_CUSTOMER_ID_MATCH: [
    'the id of a connected customer',
    facts({ order: { customerId: 'c' }, matches: { customerId: 'A' } }),
  ],
  CONNECTED_CUSTOMER_EMAIL_MATCH: [
    'the address of a connected customer',
    facts({ order: { customerEmail: 'c@example.com' }, matches: { customerEmail: 'A' } }),
  ],
  CONNECTED_PRODUCT_MATCH: [
    'a connected product',
    facts({ order: { lines: [line({ productId: '7' })] }, matches: { products: { 'product:7': 'A' } } }),
  ],
  NO_EVIDENCE: ['an order without evidence', facts()],
  NO_MATCH: ['an unknown code', facts({ order: { couponCode: 'x' } })],
  CLICK_NOT_FOUND: ['an unknown click', facts({ order: { clickId: 'jrn_1' } })],
  CLICK_EXPIRED: [
    'a click before the click window',
    facts({ order: { clickId: 'jrn_1' }, matches: { click: click('A', at(-31 * DAY)) } }),
  ],
  CLICK_AFTER_ORDER: [
    'a click after the order',
    facts({ order: { clickId: 'jrn_1' }, matches: { click: click('A', at(DAY)) } }),
  ],
}

const rowsOf = <Code extends string>(causes: Record<Code, [string, Facts]>) =>
  (Object.entries(causes) as [Code, [string, Facts]][]).map(([code, [cause, input]]) => ({ code, cause, input }))

test.each(rowsOf(RESTRICTIONS))('$cause is restricted as $code', ({ code, input }) => {
  const result =
    code === 'POSSIBLE_DUPLICATE' ? { status: 'PENDING', amountCents: 1600 } : { status: 'REJECTED', amountCents: 0 }
  expect(decide(input)).toMatchObject({ ...result, restrictionReasonCode: code })
})

test.each(rowsOf(REASONS))('$cause is decided as $code', ({ code, input }) => {
  expect(decide(input).attribution.reasonCode).toBe(code)
})

describe('the document and the concept pages have the codes and statuses', () => {
  /** The codes in the first cells of the tables under a heading of a page. */
  function rowsUnder(page: string, heading: string): string[] {
    const text = readFileSync(new URL(`../../docs/concepts/${page}`, import.meta.url), 'utf8')
    const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
    const cells = [...section.matchAll(/^\|([^|]+)\|/gm)].map(([, cell = '']) => cell)
    return cells.flatMap((cell) => cell.match(/(?<=`)[A-Z_]+(?=`)/g) ?? [])
  }

  const { schemas } = document.components

  test('the document lists the codes of the engine', () => {
    expect(schemas.ReasonCode.enum).toEqual(Object.keys(REASONS))
    expect(schemas.RestrictionReasonCode.enum).toEqual(Object.keys(RESTRICTIONS))
  })

  test.each([
    ['ReasonCode', 'attribution.md', 'Ranking'],
    ['RestrictionReasonCode', 'commissions.md', 'Restrictions'],
    ['CommissionStatus', 'commissions.md', 'Status'],
    ['PayoutBatchStatus', 'payouts.md', 'Status'],
    ['UnpaidReason', 'payouts.md', 'Unpaid balances'],
    ['AffiliateStatus', 'index.md', 'Status'],
    ['ProgramStatus', 'index.md', 'Status'],
  ])('every %s has a row in %s, %s', (name, page, heading) => {
    const rows = rowsUnder(page, heading)
    expect(schemas[name].enum.filter((code: string) => !rows.includes(code))).toEqual([])
  })
})

describe('decisions of stored facts do not change', () => {
  /** What a replay gives, under the version that decided first. */
  const replay = (version: string, input: Facts) => ({
    ...decide(parseFacts(serializeFacts(input))),
    engineVersion: version,
  })

  function lineOf(version: string, input: Facts): string {
    const decision = replay(version, input)
    const hash = createHash('sha256').update(JSON.stringify(decision)).digest('hex').slice(0, 16)
    const { attribution, restrictionReasonCode, amountCents } = decision
    return `${hash} ${attribution.reasonCode} ${restrictionReasonCode} ${amountCents}`
  }

  // A new ENGINE_VERSION adds facts and a file. The files of earlier versions stay as they are.
  test('the facts of this engine version are recorded', () => {
    expect(Object.keys(FACTS)).toContain(ENGINE_VERSION)
  })

  test.each(Object.entries(FACTS))('facts of engine version %s', async (version, generate) => {
    const lines = generate().map((input) => lineOf(version, input))
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`golden/${version}.txt`)
  })

  test('they reach every code', () => {
    const decisions = Object.values(FACTS).flatMap((generate) => generate().map(decide))
    const reached = new Set(decisions.flatMap((one) => [one.attribution.reasonCode, one.restrictionReasonCode]))
    expect(
      [...Object.keys(REASONS), ...Object.keys(RESTRICTIONS)].filter((code) => !reached.has(code as never)),
    ).toEqual([])
  })
})
