import { type Command, InvalidArgumentError, Option } from 'commander'
import { choiceOption, defineCommand, repeatableOption } from '../command.ts'
import type { enums } from '../contract.ts'
import type { ModerateOptions } from '../moderation.ts'
import type { RefundOptions } from '../refund.ts'

const ACTIONS = {
  approve: 'approve commissions, so that the next payout gathers them',
  reject: 'reject commissions; reopen takes it back',
  cancel: 'cancel commissions; they leave an open batch',
  reverse: 'take paid commissions back from the next payout',
  reopen: 'decide rejected commissions anew, with what holds today',
} as const

// From the other states no action leads anywhere.
const STATUSES: (typeof enums.CommissionStatus)[number][] = [
  'PENDING',
  'APPROVED',
  'ACCEPTED',
  'PAYABLE',
  'PAID',
  'REJECTED',
]

const cents = (text: string): number => {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of cents, like 3000.')
  return Number(text)
}

/** What owners do to commissions. */
export function addModeration(commissions: Command): void {
  defineCommand(commissions, 'explain <order>', {
    summary: 'why an order earned what it earned, or nothing',
    output: 'Explanation',
    owner: true,
    examples: ['referral commissions explain 1001'],
    action: async (run, { args: [order = ''] }) => (await import('../explain.ts')).explain(run, order),
  })
  for (const [action, summary] of Object.entries(ACTIONS) as [keyof typeof ACTIONS, string][])
    defineCommand<ModerateOptions>(commissions, `${action} [id...]`, {
      summary,
      details:
        'By id, or all that match with --matching. Matching shows how many there are and asks; without a terminal it needs --yes.',
      output: 'Moderation',
      owner: true,
      writes: true,
      examples: [
        `referral commissions ${action} com_…`,
        `referral commissions ${action} --matching --month last --dry-run`,
      ],
      action: async (run, { options, args: ids }) =>
        (await import('../moderation.ts')).moderate(run, { action, ids }, options),
    })
      .option('--matching', 'all that can be moved so and meet the conditions below')
      .addOption(choiceOption('--status <status>', 'only these', STATUSES))
      .option('--affiliate <id>', 'only of this affiliate')
      .option('--program <id>', 'only of this program')
      .option('--month <month>', '2026-10, last or this')
      .option('--from <time>', 'from this day or instant')
      .option('--to <time>', 'to this day or instant, inclusive')
      .option('-y, --yes', 'do not ask')
  addRefund(commissions)
}

function addRefund(commissions: Command): void {
  defineCommand<RefundOptions>(commissions, 'refund <id>', {
    summary: 'take back what a returned order earned; the same refund id twice counts once',
    details:
      'Without --amount-cents and --item all that is left is refunded. A paid commission stays paid; the next payout is less. A refund id that was used with another amount or other items ends with 5.',
    output: 'RefundReply',
    owner: true,
    writes: true,
    examples: [
      'referral commissions refund com_… --refund-id r-1 --amount-cents 3000',
      'referral commissions refund com_… --refund-id r-2 --item variant:9001*1 --yes',
    ],
    action: async (run, { options, args: [id = ''] }) => (await import('../refund.ts')).refund(run, id, options),
  })
    .requiredOption('--refund-id <id>', 'your id of the refund')
    .addOption(new Option('--amount-cents <n>', 'goods less discount, without shipping and tax').argParser(cents))
    .addOption(repeatableOption('--item <variant:id*n>', 'a line item that came back, or product:<id>*<n>; repeat'))
    .option('--reason <text>', 'why')
    .option('-y, --yes', 'do not ask')
}
