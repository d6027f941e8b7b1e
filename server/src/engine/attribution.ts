import { affiliateOf, counts, hit, linkEvidence, miss, productEvidence } from './evidence.ts'
import type { Candidate, EvidenceKind, Facts, MatchCode, Matches, ReasonCode } from './facts.ts'
import { textOf } from './identity.ts'
import type { Goods } from './line-groups.ts'

/** All evidence of an order, and who won: `reasonCode` is the winner's, or says why nobody was attributed. */
export interface Attributed {
  candidates: Candidate[]
  winner: Candidate | null
  reasonCode: ReasonCode
}

/**
 * Gathers all four kinds of evidence (section 4.9), always, so that an explanation can show the losers, and lets the
 * first kind in the shop's precedence win whose evidence counts. Within a kind the first candidate that counts wins.
 */
export function attribute(facts: Facts, goods: Goods): Attributed {
  const candidates = [
    ...named(facts, 'COUPON', 'couponCode', 'COUPON_MATCH'),
    ...named(facts, 'COUPON', 'affiliateCode', 'AFFILIATE_CODE_MATCH'),
    ...linkEvidence(facts),
    ...named(facts, 'CONNECTED_CUSTOMER', 'customerId', 'CONNECTED_CUSTOMER_ID_MATCH'),
    ...named(facts, 'CONNECTED_CUSTOMER', 'customerEmail', 'CONNECTED_CUSTOMER_EMAIL_MATCH'),
    ...productEvidence(facts, goods),
  ]
  const ranked = facts.settings.precedence.flatMap((kind) => candidates.filter((entry) => entry.kind === kind))
  const winner = ranked.find(counts) ?? null
  if (winner) winner.won = true
  return { candidates, winner, reasonCode: winner?.reasonCode ?? ranked[0]?.reasonCode ?? 'NO_EVIDENCE' }
}

type NamedSource = keyof Matches & ('couponCode' | 'affiliateCode' | 'customerId' | 'customerEmail')

/** Evidence whose look-up was done when the facts were gathered. */
function named(facts: Facts, kind: EvidenceKind, source: NamedSource, code: MatchCode): Candidate[] {
  const value = textOf(facts.order[source])
  if (value === null) return []
  const from = { kind, source, value }
  const affiliate = affiliateOf(facts, facts.matches[source])
  return [affiliate === null ? miss(from, 'NO_MATCH') : hit(from, affiliate.id, code)]
}

/** The order in which kinds of evidence win, by the name a shop chooses it with. Every preset lists all four kinds. */
export const PRECEDENCE_PRESETS = {
  default: ['COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT'],
  'link-first': ['DIRECT_LINK', 'COUPON', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT'],
  'customer-first': ['CONNECTED_CUSTOMER', 'COUPON', 'DIRECT_LINK', 'CONNECTED_PRODUCT'],
} as const satisfies Record<string, readonly EvidenceKind[]>

/** The name of a preset. */
export type PrecedencePreset = keyof typeof PRECEDENCE_PRESETS
