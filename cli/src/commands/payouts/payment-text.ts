import { monthOf } from '../../period.ts'

/** The period of a batch. */
export interface BatchPeriod {
  periodStart: string
  periodEnd: string
}

/** What payees read on their account statement: the month of the batch in the time zone of the shop, or its first and last one. */
export function paymentText({ periodStart, periodEnd }: BatchPeriod, timeZone: string): string {
  const [first, last] = [monthOf(periodStart, timeZone), monthOf(periodEnd, timeZone)]
  return first === last ? `Referrals ${last}` : `Referrals ${first} to ${last}`
}
