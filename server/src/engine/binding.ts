import { affiliateOf, attribute } from './attribution.ts'
import { goodsOf } from './commission.ts'
import { isSelfReferral } from './decide.ts'
import type { AffiliateFact, EvidenceKind, Facts, ReasonCode } from './facts.ts'

/** The affiliate a sign-up is bound to, if any, and the reason. */
export interface BindingDecision {
  affiliateId: string | null
  method: EvidenceKind | null
  confidence: number
  reasonCode: ReasonCode | BindingRestriction
}

type BindingRestriction = 'AFFILIATE_ARCHIVED' | 'AFFILIATE_REJECTED' | 'SELF_REFERRAL'

/**
 * Decides which affiliate a sign-up's evidence binds its customer to. A rejected winner is not replaced by the next
 * candidate.
 *
 * @param facts the facts of an order without a customer or goods
 */
export function decideBinding(facts: Facts, customerEmail: string | null): BindingDecision {
  const { winner, reasonCode } = attribute(facts, goodsOf(facts.order))
  const affiliate = affiliateOf(facts, winner?.affiliateId ?? null)
  if (!winner || !affiliate) return { ...NOBODY, reasonCode }
  const restriction = bindingRestrictionOf(affiliate, customerEmail)
  if (restriction) return { ...NOBODY, reasonCode: restriction }
  return { affiliateId: affiliate.id, method: winner.kind, confidence: winner.confidence, reasonCode }
}

const NOBODY = { affiliateId: null, method: null, confidence: 0 }

/** An affiliate who awaits approval is bound: the orders are restricted until then. */
function bindingRestrictionOf({ archived, status, email }: AffiliateFact, customerEmail: string | null) {
  if (archived) return 'AFFILIATE_ARCHIVED'
  if (status === 'REJECTED') return 'AFFILIATE_REJECTED'
  return isSelfReferral(customerEmail, email) ? 'SELF_REFERRAL' : undefined
}
