import { affiliateOf, programOf } from './attribution.ts'
import { geoChecks, isBlank } from './decide.ts'
import type { Decision, Facts, RestrictionCode } from './facts.ts'

/** Why an attributed order earns nothing or awaits approval, worded for each reader. */
interface RestrictionTexts {
  /** A sentence for the merchant. */
  merchant: string
  /** A sentence for the affiliate. */
  affiliate: string
  /** For a statement, after "because". */
  clause: string
}

/**
 * Texts by code. The parameter is what the address lacks, such as `state`, or the other order. A code without texts
 * does not compile.
 */
const TEXTS: Record<RestrictionCode, (detail: string) => RestrictionTexts> = {
  AFFILIATE_ARCHIVED: () => ({
    merchant: 'The affiliate was archived when the order was decided.',
    affiliate: 'You were not part of the program at that time.',
    clause: 'the affiliate was archived',
  }),
  AFFILIATE_REJECTED: () => ({
    merchant: 'The affiliate was rejected when the order was decided.',
    affiliate: 'You were not part of the program at that time.',
    clause: 'the affiliate was rejected',
  }),
  AFFILIATE_NOT_APPROVED: () => ({
    merchant: 'The affiliate had not been approved yet. Approve the affiliate, then reopen the commission.',
    affiliate: 'You were not approved yet at that time.',
    clause: 'the affiliate was not approved yet',
  }),
  PROGRAM_MISSING: () => ({
    merchant: 'The affiliate belonged to no program, so there was no rate.',
    affiliate: 'You were not in a program at that time.',
    clause: 'the affiliate had no program',
  }),
  SELF_REFERRAL: () => ({
    merchant:
      'The buyer has the email address of the affiliate, and affiliates earn no commission on their own orders.',
    affiliate: 'This was your own order. Your own orders do not earn a commission.',
    clause: 'the customer is the affiliate',
  }),
  GEO_UNKNOWN: (lacking) => ({
    merchant: `The program is limited to certain regions, and the order has no ${lacking}.`,
    affiliate: `The program is limited to certain regions, and the order has no ${lacking}.`,
    clause: `the order has no ${lacking}`,
  }),
  GEO_NOT_ELIGIBLE: () => ({
    merchant: 'The program is limited to certain regions, and the order ships elsewhere.',
    affiliate: 'The program is limited to certain regions, and the order ships elsewhere.',
    clause: 'the address of the order is not eligible',
  }),
  TERMS_NOT_MET: () => ({
    merchant: "The rule of the program's terms that matches the order pays nothing.",
    affiliate: 'The program pays nothing for such an order.',
    clause: "the program's terms pay nothing for it",
  }),
  ZERO_BASE: () => ({
    merchant: 'The amount after the discount is 0, so a percentage of it is 0.',
    affiliate: 'Nothing was left after the discount.',
    clause: 'nothing of the order earns a commission',
  }),
  POSSIBLE_DUPLICATE: (other) => ({
    merchant: `It may be the same order as ${other}. Approve it only if both were sold.`,
    affiliate: 'It may be the same order as another one.',
    clause: 'it was the same order as another one',
  }),
}

/** A restriction's texts. Lists do not read each order's facts, so their texts name no field and no other order. */
export function restrictionTexts(code: RestrictionCode, decided?: { facts: Facts; decision: Decision }) {
  const { duplicateOf } = decided?.facts ?? {}
  if (code === 'POSSIBLE_DUPLICATE' && duplicateOf !== undefined) return TEXTS[code](sourceOrder(duplicateOf))
  return TEXTS[code](decided ? lackingIn(decided) : 'complete shipping address')
}

/** A stored ID in words: `order 1001, reported by the store`. */
export function sourceOrder(orderId: string): string {
  const [source, ...id] = orderId.split(':')
  return `order ${id.join(':')}, reported by ${source === 'api' ? 'the API' : 'the store'}`
}

/** The blank fields that the geo rule checks, such as `state and postal code in its shipping address`. */
function lackingIn({ facts, decision }: { facts: Facts; decision: Decision }): string {
  const affiliate = affiliateOf(facts, decision.attribution.affiliateId)
  const rule = affiliate && programOf(facts, affiliate)?.geoRule
  const checks = rule ? geoChecks(rule, facts.order.shipping) : []
  const blank = checks.filter(isBlank).map(({ name }) => name)
  return facts.order.shipping === null ? 'shipping address' : `${blank.join(' and ')} in its shipping address`
}
