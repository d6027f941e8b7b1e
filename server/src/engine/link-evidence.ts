import { hit, miss, type Source } from './candidate.ts'
import type { AffiliateFact, Candidate, Click, Facts, MissCode } from './facts.ts'
import { affiliateOf, programOf } from './people.ts'
import { textOf } from './text.ts'

const DAY_MS = 86_400_000
/** Clocks of a storefront and a server differ: a click may look this much later than its order. */
const CLOCK_TOLERANCE_MS = 300_000
export const DEFAULT_COOKIE_DAYS = 30

/** Evidence DIRECT_LINK in its order: `clickId`, `ref`, then the session's clicks, the preferred one first. */
export function linkEvidence(facts: Facts): Candidate[] {
  return [...clickEvidence(facts), ...refEvidence(facts), ...sessionEvidence(facts)]
}

function clickEvidence(facts: Facts): Candidate[] {
  const value = textOf(facts.order.clickId)
  if (value === null) return []
  const from: Source = { kind: 'DIRECT_LINK', source: 'clickId', value }
  return [facts.matches.click ? judge(facts, from, facts.matches.click) : miss(from, 'CLICK_NOT_FOUND')]
}

function refEvidence(facts: Facts): Candidate[] {
  const value = textOf(facts.order.ref)
  if (value === null) return []
  const from: Source = { kind: 'DIRECT_LINK', source: 'ref', value }
  const affiliate = affiliateOf(facts, facts.matches.ref)
  if (affiliate === null) return [miss(from, 'NO_MATCH')]
  return [
    cookieDays(facts, affiliate) > 0 ? hit(from, affiliate.id, 'REF_MATCH') : miss(from, 'NO_MATCH', affiliate.id),
  ]
}

function sessionEvidence(facts: Facts): Candidate[] {
  const session = textOf(facts.order.sessionId)
  if (session === null) return []
  const clicks = facts.matches.sessionClicks.toSorted(byTime)
  if (facts.settings.clickTouch === 'LAST') clicks.reverse()
  if (clicks.length === 0) return [miss({ kind: 'DIRECT_LINK', source: 'sessionId', value: session }, 'NO_MATCH')]
  return clicks.map((click) => judge(facts, { kind: 'DIRECT_LINK', source: 'sessionId', value: click.clickId }, click))
}

function byTime(a: Click, b: Click): number {
  return Date.parse(a.clickAt) - Date.parse(b.clickAt) || (a.clickId < b.clickId ? -1 : 1)
}

function judge(facts: Facts, from: Source, click: Click): Candidate {
  const affiliate = affiliateOf(facts, click.affiliateId)
  if (affiliate === null) return miss(from, 'NO_MATCH')
  const refusal = outsideWindow(facts.order.orderAt, click.clickAt, cookieDays(facts, affiliate))
  return refusal ? miss(from, refusal, affiliate.id) : hit(from, affiliate.id, 'CLICK_MATCH')
}

/** A click counts from `days` before the order, both ends included; 0 days switch link evidence off. */
function outsideWindow(orderAt: string, clickAt: string, days: number): MissCode | null {
  const age = Date.parse(orderAt) - Date.parse(clickAt)
  if (days <= 0 || !(age <= days * DAY_MS)) return 'CLICK_EXPIRED'
  return age < -CLOCK_TOLERANCE_MS ? 'CLICK_AFTER_ORDER' : null
}

/** Without a program the documented default holds (section 2.3); the missing program is a restriction later on. */
function cookieDays(facts: Facts, affiliate: AffiliateFact): number {
  return programOf(facts, affiliate)?.cookieDurationDays ?? DEFAULT_COOKIE_DAYS
}
