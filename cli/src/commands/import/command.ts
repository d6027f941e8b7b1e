import { Argument, type Command, Option } from 'commander'
import { defineCommand } from '../../command.ts'
import { choiceOption, integerBetween, parseCount, repeatableOption } from '../../options.ts'
import type { RowImportOptions } from '../events/order-fields.ts'
import type { ImportOptions } from './import-affiliates.ts'

const PROVIDERS = [
  'rewardful',
  'firstpromoter',
  'tolt',
  'dub',
  'tapfiliate',
  'refersion',
  'uppromote',
  'goaffpro',
  'csv',
]

export function addImport(program: Command): void {
  defineCommand<ImportOptions & RowImportOptions>(program, 'import', {
    summary: 'import affiliates or their customers from another service',
    details: [
      'Reads the CSV export of the service, or any CSV file with `csv`; see MIGRATING.md for the columns. --dry-run checks against the shop and prints the same report. Everything that cannot be imported is reported, and the command exits with 8.',
      '`affiliates`: a ref code of letters, digits and single dashes becomes the slug, and a coupon of at most 9 characters without 0, o or O the discount code. All other codes and links become aliases, so that they keep working. PayPal, Wise and bank accounts become payment details, which requires an owner token. Existing affiliates only get codes, links and payment details that they lack.',
      '`customers`, after the affiliates: binds each customer to the affiliate whose email address, link or code the row contains, with the date of the first order and the number of orders, so that the months of the terms continue. A bound customer is reported and stays as it is. Prints one `CustomerImportReport`. Failed rows are written to failed.csv next to the file, and `<file>.….sent` records what was sent, so that another run sends only the rest.',
    ].join('\n\n'),
    output: 'ImportedAffiliate[]',
    writes: true,
    examples: [
      'referral import rewardful affiliates affiliates.csv --dry-run',
      "referral import tapfiliate affiliates export.csv --map 'ref=Referral code' --program prg_…",
      'referral import rewardful customers referrals.csv --time-zone Europe/Berlin --dry-run',
    ],
    action: async (run, { options, args }) =>
      args[1] === 'customers'
        ? (await import('./import-customers.ts')).importCustomers(run, args, options)
        : (await import('./import-affiliates.ts')).importAffiliates(run, args, options),
  })
    .addArgument(new Argument('<service>', 'service that created the export').choices(PROVIDERS))
    .addArgument(new Argument('<kind>', 'what the file contains').choices(['affiliates', 'customers']))
    .argument('<file>', 'CSV export')
    .addOption(repeatableOption('--map <field=Column>', 'column of a field; repeat for several'))
    .option('--program <id>', 'program of the affiliates (default: the default program of the shop)')
    .option('--time-zone <zone>', "time zone of customers' times without an offset, such as Europe/Berlin")
    .addOption(choiceOption('--date-format <order>', 'order of dates such as 31/10/2026', ['day-first', 'month-first']))
    .addOption(
      new Option('--parallel <n>', 'number of concurrent requests for customers')
        .argParser(integerBetween(1, 32))
        .default(4),
    )
    .addOption(
      new Option('--forecast <n>', 'number of customers that the service evaluates in a dry run, or all')
        .argParser(parseCount)
        .default(50),
    )
    .option('-y, --yes', 'skip the confirmation')
}
