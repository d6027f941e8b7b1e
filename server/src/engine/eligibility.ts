import type { AffiliateFact, GeoRule, Order, Place, ProgramFact, RateGroup, RestrictionCode } from './facts.ts'
import { mailboxKey } from './identity.ts'

/** What decides whether the winner earns on an order. */
export interface EligibilityInput {
  order: Order
  affiliate: AffiliateFact
  program: ProgramFact | null
  baseCents: number
  groups: RateGroup[]
}

/**
 * The first restriction on the winner, in a fixed order; null when there is none. A restriction ends the matter: the
 * order never goes to the next evidence instead.
 */
export function restrictionOf(input: EligibilityInput): RestrictionCode | null {
  const { order, affiliate, program } = input
  if (affiliate.archived) return 'AFFILIATE_ARCHIVED'
  if (affiliate.status === 'REJECTED') return 'AFFILIATE_REJECTED'
  if (affiliate.status === 'PENDING') return 'AFFILIATE_NOT_APPROVED'
  if (program === null) return 'PROGRAM_MISSING'
  const buyer = [order.customerEmail, ...(order.otherEmails ?? [])]
  if (buyer.some((email) => isSelfReferral(email, affiliate.email))) return 'SELF_REFERRAL'
  return geoRestriction(program.geoRule, order.shipping) ?? zeroBase(input)
}

function isSelfReferral(buyer: string | null, affiliate: string): boolean {
  const mailbox = mailboxKey(buyer ?? '')
  return mailbox !== '' && mailbox === mailboxKey(affiliate)
}

/** Flat rates are owed however little was paid, so only percentages need a base. */
function zeroBase({ baseCents, groups }: EligibilityInput): RestrictionCode | null {
  const onlyPercent = groups.every((group) => group.commissionType === 'PERCENT_OF_SALE')
  return baseCents === 0 && onlyPercent ? 'ZERO_BASE' : null
}

/**
 * Compares where an order ships to with a program's rule. Every list that is not empty must match, trimmed and
 * case-insensitive; a field the order lacks is reported before one that does not match. Null: nothing stands against it.
 */
export function geoRestriction(rule: GeoRule | null, place: Place | null): 'GEO_UNKNOWN' | 'GEO_NOT_ELIGIBLE' | null {
  if (rule === null) return null
  const checks = [
    { list: rule.countries, field: place?.country, matches: equal },
    { list: rule.states, field: place?.state, matches: equal },
    { list: rule.cities, field: place?.city, matches: equal },
    { list: rule.postalPrefixes, field: place?.postalCode, matches: startsWith },
  ].filter(({ list }) => list.length > 0)
  if (checks.some(({ field }) => key(field) === '')) return 'GEO_UNKNOWN'
  const allowed = checks.every(({ list, field, matches }) => list.some((entry) => matches(key(field), key(entry))))
  return allowed ? null : 'GEO_NOT_ELIGIBLE'
}

function key(text: string | null | undefined): string {
  return (text ?? '').trim().toLowerCase()
}

function equal(field: string, entry: string): boolean {
  return field === entry
}

function startsWith(field: string, prefix: string): boolean {
  return field.startsWith(prefix)
}
