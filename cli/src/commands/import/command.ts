import { Argument, type Command } from 'commander'
import { defineCommand } from '../../command.ts'
import { repeatableOption } from '../../options.ts'
import type { ImportOptions } from './import-affiliates.ts'

const PROVIDERS = ['rewardful', 'tapfiliate', 'refersion', 'firstpromoter', 'uppromote', 'goaffpro', 'csv']

export function addImport(program: Command): void {
  defineCommand<ImportOptions>(program, 'import', {
    summary: 'import affiliates from another service',
    details:
      'Reads the CSV export of the service, or any CSV file with `csv`; see MIGRATING.md for the columns. A ref code of letters, digits and single dashes becomes the slug, and a coupon of at most 9 characters without 0, o or O the discount code. All other codes and links become aliases, so that they keep working. PayPal, Wise and bank accounts become payment details, which requires an owner token. Everything that cannot be imported is reported, such as balances and names of other affiliates, and the command exits with 8; --dry-run checks against the shop and prints the same report. Existing affiliates only get codes, links and payment details that they lack.',
    output: 'ImportedAffiliate[]',
    writes: true,
    examples: [
      'referral import rewardful affiliates.csv --dry-run',
      "referral import tapfiliate export.csv --map 'ref=Referral code' --program prg_…",
    ],
    action: async (run, { options, args }) =>
      (await import('./import-affiliates.ts')).importAffiliates(run, args, options),
  })
    .addArgument(new Argument('<service>', 'service that created the export').choices(PROVIDERS))
    .argument('<file>', 'CSV export')
    .addOption(repeatableOption('--map <field=Column>', 'column of a field; repeat for several'))
    .option('--program <id>', 'program of the affiliates (default: the default program of the shop)')
    .option('-y, --yes', 'skip the confirmation')
}
