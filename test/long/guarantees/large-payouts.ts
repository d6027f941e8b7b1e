import { type LongTest, sized } from '../guarantee.ts'
import { measureLargePayout, POSTGRES } from '../large-payout.ts'

/** Every action on a batch of 100,000 commissions, and the orders of the same shop during them. */
export const guarantee: LongTest = {
  title: 'A large payout batch keeps no order of its shop waiting',
  engines: ['sqlite', 'postgres'],
  postgres: POSTGRES,
  minutes: 12,
  run: (given) => measureLargePayout(given, sized(100_000, given), ['create', 'lines', 'cancel', 'create', 'pay']),
}
