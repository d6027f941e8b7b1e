import { type Command, Option } from 'commander'
import { defineCommand, defineGroup } from '../../command.ts'
import { enums } from '../../contract.ts'
import { choiceOption, integerBetween, parseCents, parseCount, repeatableOption } from '../../options.ts'
import type { ImportOptions } from './import-orders.ts'
import type { ImportRefundsOptions } from './import-refunds.ts'
import { ORDER_FIELDS, REFUND_FIELDS } from './order-fields.ts'
import type { CancelOptions, RefundOptions } from './report.ts'
import type { SendOptions } from './send.ts'

export function addEvents(program: Command): void {
  const events = defineGroup(program, 'events', 'report orders, refunds, cancellations, clicks and page views')
  addSend(events)
  addReports(events)
  defineCommand<ImportOptions>(events, 'import <file>', {
    summary: 'report the orders of a CSV file',
    details: [
      'Reads exports of Shopify, WooCommerce and Stripe, and other CSV files with a header; - is standard input. Shows the column of each field, then asks for confirmation; without a terminal, it sends immediately.',
      '--dry-run lists every failed row, writes failed.csv, and lets the service evaluate a sample of the orders (--forecast), with their refunds and cancellations. Each order is evaluated on its own: customers that the file itself would bind to an affiliate are not known yet.',
      'Amounts are in cents if the column name ends in "cents", otherwise decimal. Ambiguous files are rejected until you pass --money, --decimal or --prices, as are files whose amounts are already after the discount. If prices include tax, it is subtracted from the goods in proportion. Times without an offset require --time-zone. Dates such as 03/10/2026 require --date-format, unless a date of the file has a day after the 12th. Without a date column, every order is dated now. An order whose payment date is empty gets its creation date; with neither, it fails.',
      'With several coupons, the first that belongs to an affiliate wins. Rows that only contain another line item of the order above are skipped, as are failed payments of Stripe. Orders that are unpaid, canceled, disputed or in an unknown status fail, unless you pass --any-status, or --paid-status for a status that means paid. Orders refunded in full or in part fail unless you pass --refunds: a nonzero amount in any column with "refund" in its name counts as a refund. An order that is already recorded with another amount or affiliate fails too.',
      '--refunds says whether refunded amounts are goods only (goods), or include shipping and tax (total), of which the goods get their proportional share. The column holds the total refunded so far; recorded refunds are subtracted, so later exports of the same orders report only the difference. Canceled orders are then reported as canceled, whether they were imported before or not. Import a file of single refunds with `events import-refunds`, and do not combine both for one order.',
      'Respects the rate limit and can be stopped and run again without sending an order twice. Failed rows are written to failed.csv next to the file (or failed-2.csv, if failed.csv contains rows of another file), and the command exits with 8. `<file>.….sent` records which orders were sent; delete it to send them again, as after a restore of the server.',
    ].join('\n\n'),
    output: 'ImportReport',
    writes: true,
    examples: [
      'referral events import orders.csv --dry-run',
      'referral events import orders_export.csv --from woocommerce --time-zone Europe/Berlin',
      'referral events import orders_export.csv --refunds total --dry-run',
      'referral events import bestellungen.csv --map status=Bestellstatus --paid-status Abgeschlossen',
      'referral events import orders.csv --map externalOrderId=Name --map amountCents=Subtotal --map discountCents=',
    ],
    action: async (run, { options, args: [file = ''] }) =>
      (await import('./import-orders.ts')).importOrders(run, file, options),
  })
    .addOption(
      repeatableOption(
        '--map <field=Column>',
        `column of a field, or field= for none; repeat for several: ${[...Object.keys(ORDER_FIELDS), ...Object.keys(REFUND_FIELDS)].join(', ')}, status`,
      ),
    )
    .addOption(
      choiceOption('--from <shop>', 'format of the export (default: detected)', [
        'shopify',
        'woocommerce',
        'stripe',
        'csv',
      ]),
    )
    .option('--time-zone <zone>', 'time zone of times without an offset, such as Europe/Berlin')
    .addOption(choiceOption('--date-format <order>', 'order of dates such as 31/10/2026', ['day-first', 'month-first']))
    .addOption(
      choiceOption('--prices <basis>', 'whether prices include tax (default: detected from the totals)', [
        'with-tax',
        'without-tax',
      ]),
    )
    .addOption(choiceOption('--money <unit>', 'unit of numbers without decimals', ['cents', 'units']))
    .addOption(choiceOption('--decimal <mark>', 'decimal separator', ['.', ',']))
    .option('--currency <code>', 'currency of rows without one (default: USD)')
    .addOption(
      repeatableOption('--paid-status <status>', 'status that means paid, as in another language; repeat for several'),
    )
    .option('--any-status', 'import canceled, disputed and unpaid orders too, but not refunded ones')
    .addOption(
      choiceOption('--refunds <basis>', 'also report refunds and cancellations; says what refunded amounts include', [
        'goods',
        'total',
      ]),
    )
    .addOption(
      new Option('--parallel <n>', 'number of concurrent requests; above 1, the order of rows is not kept')
        .argParser(integerBetween(1, 32))
        .default(1),
    )
    .addOption(
      new Option('--forecast <n>', 'number of orders that the service evaluates in a dry run, or all')
        .argParser(parseCount)
        .default(50),
    )
    .option('-y, --yes', 'skip the confirmation')
  addImportRefunds(events)
}

function addImportRefunds(events: Command): void {
  defineCommand<ImportRefundsOptions>(events, 'import-refunds <file>', {
    summary: 'report the refunds of a CSV file, before or after their orders',
    details: [
      'Reads a CSV file with a header and one refund per row: an order id, a refund id, and the refunded goods, net of discount, without shipping and tax; - is standard input. Shows the column of each field, then asks for confirmation; without a terminal, it sends immediately.',
      'A refund of an order that is not reported yet is kept until it is. A refund id counts once per order; a refund that is recorded with another amount fails. A refund of more than is left takes what is left. Amounts are read as in `events import`, with or without a minus. Refunds whose status does not mean that they were paid out fail, unless you pass --any-status. A refund without a date is dated now; statements list it then.',
      '--dry-run lists every failed row, writes failed.csv, and lets the service evaluate the first refunds (--forecast). The command can be stopped and run again without sending a refund twice.',
    ].join('\n\n'),
    output: 'RefundImportReport',
    writes: true,
    examples: [
      'referral events import-refunds refunds.csv --dry-run',
      "referral events import-refunds refunds.csv --map 'amountCents=Net amount' --currency EUR",
    ],
    action: async (run, { options, args: [file = ''] }) =>
      (await import('./import-refunds.ts')).importRefunds(run, file, options),
  })
    .addOption(repeatableOption('--map <field=Column>', 'column of a field, or field= for none; repeat for several'))
    .addOption(choiceOption('--money <unit>', 'unit of numbers without decimals', ['cents', 'units']))
    .addOption(choiceOption('--decimal <mark>', 'decimal separator', ['.', ',']))
    .option('--currency <code>', 'currency of rows without one (default: USD)')
    .option('--any-status', 'import pending and failed refunds too')
    .option('--time-zone <zone>', 'time zone of times without an offset, such as Europe/Berlin')
    .addOption(choiceOption('--date-format <order>', 'order of dates such as 31/10/2026', ['day-first', 'month-first']))
    .addOption(
      new Option('--parallel <n>', 'number of concurrent requests').argParser(integerBetween(1, 32)).default(1),
    )
    .addOption(
      new Option('--forecast <n>', 'number of refunds that the service evaluates in a dry run, or all')
        .argParser(parseCount)
        .default(50),
    )
    .option('-y, --yes', 'skip the confirmation')
}

function addReports(events: Command): void {
  defineCommand<RefundOptions>(events, 'refund <orderId>', {
    summary: 'report a refund of an order, before or after the order; --dry-run shows what would change',
    details:
      'The amount is goods net of discount, without shipping and tax, in the currency of the order. A refund of more than is left takes what is left. Repeating a refund id changes nothing.',
    output: 'RefundReportReply',
    writes: true,
    examples: [
      'referral events refund 1001 --refund-id re-1 --amount-cents 3000',
      'referral events refund 1001 --refund-id re-2 --item variant:9001*2 --dry-run',
    ],
    action: async (run, { options, args: [orderId = ''] }) =>
      (await import('./report.ts')).refund(run, orderId, options),
  })
    .requiredOption('--refund-id <id>', 'your id for the refund')
    .addOption(new Option('--amount-cents <n>', 'refunded goods').argParser(parseCents))
    .addOption(
      repeatableOption('--item <item>', 'variant:<id>*<quantity> or product:<id>*<quantity>; repeat for several'),
    )
    .option('--currency <code>', 'currency of the amount, to be compared with that of the order')
    .option('--reason <text>', 'reason of the refund')
    .option('--at <time>', 'time of the refund (default: now)')
    .option('--idempotency-key <key>', 'idempotency key (default: derived from the content)')
  defineCommand<{ refundId: string }>(events, 'cancel-refund <orderId>', {
    summary: 'cancel a refund that failed, or a dispute that was won, before or after its report',
    details:
      'The commission becomes what it would be without the refund; a paid one gets a positive adjustment. Repeating it changes nothing. A canceled refund id cannot be used again.',
    output: 'RefundCancellationReply',
    writes: true,
    examples: ['referral events cancel-refund 1001 --refund-id re-1'],
    action: async (run, { options, args: [orderId = ''] }) =>
      (await import('./report.ts')).cancelRefund(run, orderId, options),
  }).requiredOption('--refund-id <id>', 'your id for the refund')
  defineCommand<CancelOptions>(events, 'cancel <orderId>', {
    summary: 'report that an order was canceled, before or after the order; --dry-run shows what would change',
    output: 'CancellationReportReply',
    writes: true,
    examples: ['referral events cancel 1001'],
    action: async (run, { options, args: [orderId = ''] }) =>
      (await import('./report.ts')).cancel(run, orderId, options),
  })
    .option('--reason <text>', 'reason of the cancellation')
    .option('--at <time>', 'time of the cancellation (default: now)')
    .option('--idempotency-key <key>', 'idempotency key (default: derived from the content)')
}

function addSend(events: Command): void {
  defineCommand<SendOptions>(events, 'send', {
    summary: 'report one event; --dry-run shows the decision without recording it',
    output: 'ConversionReply',
    writes: true,
    examples: [
      'referral events send --order 1001 --amount-cents 10000 --currency EUR --coupon NISA16',
      'referral events send --order 1001 --amount-cents 10000 --currency EUR --ref nisa-karim --dry-run --json',
      'referral events send --type click --ref nisa-karim --session s-81f3',
    ],
    action: async (run, { options }) => (await import('./send.ts')).sendEvent(run, options),
  })
    .addOption(choiceOption('--type <type>', 'event type', enums.EventType).default('conversion'))
    .option('--input <file>', 'file with a JSON body; - for standard input; options override it')
    .option('--order <id>', 'your order id')
    .addOption(
      new Option('--amount-cents <n>', 'value of the goods before discount, shipping and tax').argParser(parseCents),
    )
    .addOption(new Option('--discount-cents <n>', 'discount').argParser(parseCents))
    .addOption(new Option('--shipping-cents <n>', 'shipping').argParser(parseCents))
    .addOption(new Option('--tax-cents <n>', 'tax').argParser(parseCents))
    .option('--currency <code>', 'currency of the order (default: USD, whatever the currency of the shop)')
    .option('--coupon <code>', 'discount code of the order')
    .option('--affiliate-code <code>', 'code of an affiliate')
    .option('--affiliate <id>', 'affiliate id of a click or page view')
    .option('--ref <slug>', 'slug in the affiliate link')
    .option('--click <id>', 'id of a reported click')
    .option('--session <id>', 'session id of the visitor')
    .option('--email <address>', 'email address of the customer')
    .option('--customer <id>', 'your customer id')
    .option('--url <url>', 'URL of a click or page view')
    .option('--at <time>', 'time of the event (default: now)')
    .option('--idempotency-key <key>', 'idempotency key (default: derived from the content)')
}
