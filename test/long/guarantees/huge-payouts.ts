import { type LongTest, sized } from '../guarantee.ts'
import { measureLargePayout } from '../large-payout.ts'

/** The same for a million commissions, which take minutes. */
export const guarantee: LongTest = {
  title: 'Nor does one of a million commissions',
  engines: ['sqlite', 'postgres'],
  minutes: 45,
  run: (given) => measureLargePayout(given, sized(1_000_000, given), ['create', 'lines', 'pay']),
}
