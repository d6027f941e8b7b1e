import type { Candidate, EvidenceKind, MatchCode, MissCode } from './facts.ts'

/** How sure a match is, 0 to 1. */
export const CONFIDENCE: Record<MatchCode, number> = {
  COUPON_MATCH: 1,
  AFFILIATE_CODE_MATCH: 1,
  CLICK_MATCH: 0.95,
  CONNECTED_CUSTOMER_ID_MATCH: 0.9,
  CONNECTED_CUSTOMER_EMAIL_MATCH: 0.85,
  REF_MATCH: 0.8,
  CONNECTED_PRODUCT_MATCH: 0.7,
}

/** Where a piece of evidence came from. */
export interface Source {
  kind: EvidenceKind
  source: string
  value: string
}

/** Evidence that names an affiliate. */
export function hit(from: Source, affiliateId: string, reasonCode: MatchCode): Candidate {
  return { ...from, affiliateId, confidence: CONFIDENCE[reasonCode], reasonCode, won: false }
}

/** Evidence that counts for nobody; `affiliateId` says whom it would have named. */
export function miss(from: Source, reasonCode: MissCode, affiliateId: string | null = null): Candidate {
  return { ...from, affiliateId, confidence: 0, reasonCode, won: false }
}

/** True when the evidence can win. */
export function counts(candidate: Candidate): boolean {
  return candidate.confidence > 0
}
