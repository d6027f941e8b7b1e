import { type LongTest, sized } from '../guarantee.ts'
import { measureLargePayout, POSTGRES } from '../large-payout.ts'

/** The same for a million commissions, which take minutes. */
export const guarantee: LongTest = {
  title: 'Nor does one of a million commissions',
  engines: ['sqlite', 'postgres'],
  postgres: POSTGRES,
  minutes: 45,
  run: (given) => measureLargePayout(given, sized(1_000_000, given), ['create', 'lines', 'pay']),
}
