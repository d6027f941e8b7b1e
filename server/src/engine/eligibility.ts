import { mailboxKey } from './email.ts'
import type { AffiliateFact, Order, ProgramFact, RateGroup, RestrictionCode } from './facts.ts'
import { geoRestriction } from './geo.ts'

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
