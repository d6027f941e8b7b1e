import { counts } from '../engine/candidate.ts'
import type { Candidate, Decision, EvidenceKind, Facts, MissCode, RestrictionCode } from '../engine/facts.ts'
import { affiliateOf, programOf } from '../engine/people.ts'
import type { components } from '../http/schema.d.ts'

type Schemas = components['schemas']

/** Why an attributed order earns nothing, for a reader who may not know the codes. */
export const RESTRICTIONS: Record<RestrictionCode, string> = {
  AFFILIATE_ARCHIVED: 'The affiliate was archived when the order was decided.',
  AFFILIATE_REJECTED: 'The affiliate was rejected when the order was decided.',
  AFFILIATE_NOT_APPROVED: 'The affiliate was not approved yet. Approve the affiliate, then reopen the commission.',
  PROGRAM_MISSING: 'The affiliate belonged to no program, so there was no rate.',
  SELF_REFERRAL: 'The buyer has the e-mail address of the affiliate, and nobody earns on their own order.',
  GEO_UNKNOWN: 'The program is limited to places, and the order does not say where it goes.',
  GEO_NOT_ELIGIBLE: 'The program is limited to places, and the order goes to another one.',
  ZERO_BASE: 'Nothing was left after the discount to take a percentage of.',
}

const MISSES: Record<MissCode, string> = {
  NO_EVIDENCE: 'The order carried nothing.',
  NO_MATCH: 'It names nobody in your shop.',
  CLICK_NOT_FOUND: 'No such click is stored.',
  CLICK_EXPIRED: 'The click was longer ago than the program lets a click count.',
  CLICK_AFTER_ORDER: 'The click came after the order.',
}

const KINDS: Record<EvidenceKind, string> = {
  COUPON: 'coupon',
  DIRECT_LINK: 'link',
  CONNECTED_CUSTOMER: 'connected customer',
  CONNECTED_PRODUCT: 'connected product',
}

/** Affiliates by the code that equals their slug, where the code names somebody else. */
export type Namesakes = ReadonlyMap<string, string>

/** All four kinds in the shop's order, each with its candidates and what became of them. */
export function evidenceOf(facts: Facts, decision: Decision, namesakes: Namesakes): Schemas['ExplainedEvidence'][] {
  const winner = decision.candidates.find(({ won }) => won)
  return facts.settings.precedence.map((kind, index) => {
    const own = decision.candidates.filter((candidate) => candidate.kind === kind)
    const candidates = own.map((candidate) => {
      const { outcome, because } = fateOf(candidate, winner, facts)
      const slugAffiliateId = (kind === 'COUPON' && namesakes.get(candidate.value)) || null
      return { ...candidate, outcome, because: because + namesakeText(slugAffiliateId), slugAffiliateId }
    })
    return { kind, rank: index + 1, because: kindBecause(own, winner), candidates }
  })
}

const namesakeText = (slugAffiliateId: string | null) =>
  slugAffiliateId ? ` It is also the slug of affiliate ${slugAffiliateId}; codes come before slugs.` : ''

/** The whole decision in one sentence. */
export function summaryOf(decision: Decision, { currency }: Facts['order']): string {
  const winner = decision.candidates.find(({ won }) => won)
  if (!winner) return `Nobody was credited: ${decision.attribution.reasonCode}.`
  const who = `The ${KINDS[winner.kind]} ${winner.value} won`
  const code = decision.restrictionReasonCode
  if (code) return `${who}, but earns nothing. ${RESTRICTIONS[code]}`
  const earned = `${decision.amountCents} ${decision.currency ?? currency} cents`
  return `${who} and earns ${earned} on ${decision.baseCents} ${currency} cents of goods.`
}

function kindBecause(own: Candidate[], winner: Candidate | undefined): string {
  if (own.length === 0) return 'The order carried no such evidence.'
  if (own.some(({ won }) => won)) return 'The first kind that counts, so it won.'
  if (!own.some(counts)) return 'None of it counts, so the next kind was looked at.'
  return `It counts, but the ${winner ? KINDS[winner.kind] : 'other'} comes first in your shop.`
}

type Fate = Pick<Schemas['ExplainedCandidate'], 'outcome' | 'because'>

function fateOf(candidate: Candidate, winner: Candidate | undefined, facts: Facts): Fate {
  if (candidate.won) return { outcome: 'WON', because: 'It names an affiliate and nothing before it counts.' }
  if (!counts(candidate)) return { outcome: 'DID_NOT_COUNT', because: missBecause(candidate, facts) }
  if (winner?.kind === candidate.kind) {
    return {
      outcome: 'LATER_IN_KIND',
      because: `It counts, but ${winner.source} ${winner.value} of its kind comes first.`,
    }
  }
  return {
    outcome: 'OUTRANKED',
    because: `It counts, but the ${winner ? KINDS[winner.kind] : 'other'} wins over it in your shop.`,
  }
}

function missBecause(candidate: Candidate, facts: Facts): string {
  const affiliate = affiliateOf(facts, candidate.affiliateId)
  const days = affiliate && programOf(facts, affiliate)?.cookieDurationDays
  if (candidate.kind === 'DIRECT_LINK' && days === 0) return 'The program takes no links: its clicks count for 0 days.'
  if (candidate.reasonCode === 'CLICK_EXPIRED' && typeof days === 'number') {
    return `The click was longer ago than the ${days} days that the program lets it count.`
  }
  return MISSES[candidate.reasonCode as MissCode]
}
