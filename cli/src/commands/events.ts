import { type Command, InvalidArgumentError, Option } from 'commander'
import { choice, group, leaf, repeated } from '../command.ts'
import type { ImportOptions } from '../events/import.ts'
import type { SendOptions } from '../events/send.ts'

const cents = (text: string): number => {
  if (!/^\d{1,10}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of cents, like 10000.')
  return Number(text)
}

const upTo32 = (text: string): number => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || value > 32) throw new InvalidArgumentError('It must be from 1 to 32.')
  return value
}

export function addEvents(program: Command): void {
  const events = group(program, 'events', 'report orders, clicks and page views')
  addSend(events)
  leaf<ImportOptions>(events, 'import <file>', {
    summary: 'report the orders of a CSV file, each once',
    details:
      'Shows which column is read as what, then asks; without a terminal it sends at once, with or without --yes, so look with --dry-run first. Money is in cents where the column is named so, else decimal; what could be read two ways is refused until you say which, and so is a discount that the amount has lost already. Without a date column every order counts as happening now. Rows that only carry one more line item of the order above are left out. Keeps to the rate limit, can be stopped and run again, and sends nothing twice. Rows that fail go to failed.csv beside the file, with the reason; the command ends with 8 then. Orders that the file calls cancelled, refunded or not paid fail too (columns `Cancelled at`, `Refunded Amount`, `Financial Status`), unless you say --any-status; and orders that the service knows with another amount or affiliate: an order counts once. A failed.csv of another file is kept, and the next one is failed-2.csv. `<file>.….sent` beside it remembers what was taken.',
    output: 'ImportReport',
    writes: true,
    examples: [
      'referral events import orders.csv --dry-run',
      'referral events import orders.csv --map externalOrderId=Name --map amountCents=Subtotal --map discountCents=',
    ],
    work: async (run, { options, args: [file = ''] }) =>
      (await import('../events/import.ts')).importOrders(run, file, options),
  })
    .addOption(repeated('--map <field=Column>', 'which column a field is in; field= for none; repeat'))
    .addOption(choice('--money <unit>', 'what numbers without decimals are', ['cents', 'units']))
    .addOption(choice('--decimal <mark>', 'how decimals are written', ['.', ',']))
    .option('--currency <code>', 'of rows that name none', 'USD')
    .option('--any-status', 'also orders that are cancelled, refunded or not paid')
    .addOption(
      new Option('--parallel <n>', 'so many at once; the order of rows is not kept').argParser(upTo32).default(1),
    )
    .option('-y, --yes', 'do not ask')
}

function addSend(events: Command): void {
  leaf<SendOptions>(events, 'send', {
    summary: 'report one event; --dry-run shows what the engine would decide',
    output: 'ConversionReply',
    writes: true,
    examples: [
      'referral events send --order 1001 --amount-cents 10000 --coupon NISA16',
      'referral events send --order 1001 --amount-cents 10000 --ref nisa-karim --dry-run --json',
      'referral events send --type click --ref nisa-karim --session s-81f3',
    ],
    work: async (run, { options }) => (await import('../events/send.ts')).sendEvent(run, options),
  })
    .addOption(choice('--type <type>', 'what happened', ['conversion', 'click', 'page_view']).default('conversion'))
    .option('--input <file>', 'a JSON body; - for standard input; options win over it')
    .option('--order <id>', 'your order id')
    .addOption(new Option('--amount-cents <n>', 'goods before discount, shipping and tax').argParser(cents))
    .addOption(new Option('--discount-cents <n>', 'discount').argParser(cents))
    .addOption(new Option('--shipping-cents <n>', 'shipping').argParser(cents))
    .addOption(new Option('--tax-cents <n>', 'tax').argParser(cents))
    .option('--currency <code>', 'USD when left out')
    .option('--coupon <code>', 'discount code that was used')
    .option('--affiliate-code <code>', 'code of an affiliate')
    .option('--affiliate <id>', 'affiliate of a click or page view')
    .option('--ref <slug>', 'affiliate link that was followed')
    .option('--click <id>', 'click that was reported')
    .option('--session <id>', 'session of the visitor')
    .option('--email <address>', 'e-mail address of the customer')
    .option('--customer <id>', 'your id of the customer')
    .option('--url <url>', 'page of a click or page view')
    .option('--at <time>', 'when it happened; now when left out')
    .option('--idempotency-key <key>', 'made from the content when left out')
}
