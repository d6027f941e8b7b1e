import { Argument, type Command } from 'commander'
import { defineCommand } from '../../command.ts'
import { repeatableOption } from '../../options.ts'
import type { ImportOptions } from './import-affiliates.ts'

const PROVIDERS = ['rewardful', 'tapfiliate', 'refersion', 'firstpromoter', 'uppromote', 'goaffpro']

export function addImport(program: Command): void {
  defineCommand<ImportOptions>(program, 'import', {
    summary: 'import affiliates from another service',
    details:
      'Reads the CSV export of the service; see MIGRATING.md for the columns. A ref code of letters, digits and single dashes becomes the slug, so that old links keep working. Coupons of at most 9 characters without 0, o or O become discount codes. Everything that cannot be imported is reported, such as PayPal addresses, balances and additional codes or links, and the command exits with 8; --dry-run checks against the shop and prints the same report. Existing affiliates are not changed.',
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
