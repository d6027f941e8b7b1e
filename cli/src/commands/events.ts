import { type Command, InvalidArgumentError, Option } from 'commander'
import { choiceOption, defineCommand, defineGroup, repeatableOption } from '../command.ts'
import { enums } from '../contract.ts'
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

const howMany = (text: string): number => {
  if (text === 'all') return Number.MAX_SAFE_INTEGER
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, or all.')
  return Number(text)
}

export function addEvents(program: Command): void {
  const events = defineGroup(program, 'events', 'report orders, clicks and page views')
  addSend(events)
  defineCommand<ImportOptions>(events, 'import <file>', {
    summary: 'report the orders of a CSV file, each once',
    details:
      'Reads exports of Shopify, WooCommerce and Stripe, and plain CSV files; - is standard input. Shows which column is read as what, then asks; without a terminal it sends at once, with or without --yes, so look with --dry-run first: it lists every failed row, writes failed.csv, and asks the service about 50 orders spread over the file, or as many as --forecast says. Money is in cents where the column is named so, else decimal; what could be read two ways is refused until you say which, and so is a discount that the amount has lost already. Where the totals show that prices include tax, goods are counted without their share of it. Times without an offset need --timezone. Without a date column every order counts as happening now. Of several coupons the first that belongs to an affiliate counts. Rows that only carry one more line item of the order above are left out. Orders that were not paid, were cancelled, disputed or refunded, also in part, fail with the reason, and so do orders in a state that is not known; --any-status imports them all the same. Orders that the service knows with another amount or affiliate fail too: an order counts once. Keeps to the rate limit, can be stopped and run again, and sends nothing twice. Failed rows go to failed.csv beside the file; the command ends with 8 then. A failed.csv of another file is kept, and the next one is failed-2.csv. `<file>.….sent` beside it remembers what was taken.',
    output: 'ImportReport',
    writes: true,
    examples: [
      'referral events import orders.csv --dry-run',
      'referral events import orders_export.csv --from woocommerce --timezone Europe/Berlin',
      'referral events import orders.csv --map externalOrderId=Name --map amountCents=Subtotal --map discountCents=',
    ],
    action: async (run, { options, args: [file = ''] }) =>
      (await import('../events/import.ts')).importOrders(run, file, options),
  })
    .addOption(repeatableOption('--map <field=Column>', 'which column a field is in; field= for none; repeat'))
    .addOption(
      choiceOption('--from <shop>', 'the kind of export; detected when left out', [
        'shopify',
        'woocommerce',
        'stripe',
        'csv',
      ]),
    )
    .option('--timezone <zone>', 'of times without an offset, like Europe/Berlin')
    .addOption(
      choiceOption('--prices <basis>', 'whether prices include tax; read from the totals when left out', [
        'with-tax',
        'without-tax',
      ]),
    )
    .addOption(choiceOption('--money <unit>', 'what numbers without decimals are', ['cents', 'units']))
    .addOption(choiceOption('--decimal <mark>', 'how decimals are written', ['.', ',']))
    .option('--currency <code>', 'of rows that name none', 'USD')
    .option('--any-status', 'also orders that are cancelled, refunded or not paid')
    .addOption(
      new Option('--parallel <n>', 'so many at once; the order of rows is not kept').argParser(upTo32).default(1),
    )
    .addOption(
      new Option('--forecast <n>', 'orders that a dry run asks the service about, 0 or all')
        .argParser(howMany)
        .default(50),
    )
    .option('-y, --yes', 'do not ask')
}

function addSend(events: Command): void {
  defineCommand<SendOptions>(events, 'send', {
    summary: 'report one event; --dry-run shows what the engine would decide',
    output: 'ConversionReply',
    writes: true,
    examples: [
      'referral events send --order 1001 --amount-cents 10000 --coupon NISA16',
      'referral events send --order 1001 --amount-cents 10000 --ref nisa-karim --dry-run --json',
      'referral events send --type click --ref nisa-karim --session s-81f3',
    ],
    action: async (run, { options }) => (await import('../events/send.ts')).sendEvent(run, options),
  })
    .addOption(choiceOption('--type <type>', 'what happened', enums.EventType).default('conversion'))
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
