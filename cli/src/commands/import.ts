import { Argument, type Command } from 'commander'
import { defineCommand, repeatableOption } from '../command.ts'
import type { ImportOptions } from '../migrate/migrate.ts'

const PROVIDERS = ['rewardful', 'tapfiliate', 'refersion', 'firstpromoter', 'uppromote', 'goaffpro']

export function addImport(program: Command): void {
  defineCommand<ImportOptions>(program, 'import', {
    summary: 'bring affiliates over from another service',
    details:
      'Reads the CSV export of its affiliates; see MIGRATING.md for the columns. Old links keep working where the ref code consists of letters, digits and single dashes: it becomes the slug. Old coupons become discount codes where they have at most 9 characters and none of 0, o and O. What cannot be kept is named, also PayPal addresses, balances and further codes or links, and the command ends with 8; --dry-run reads the shop and names the same. Affiliates who are there already are left as they are.',
    output: 'BroughtAffiliate[]',
    writes: true,
    examples: [
      'referral import rewardful affiliates.csv --dry-run',
      "referral import tapfiliate export.csv --map 'ref=Referral code' --program prg_…",
    ],
    action: async (run, { options, args }) =>
      (await import('../migrate/migrate.ts')).importAffiliates(run, args, options),
  })
    .addArgument(new Argument('<service>', 'where they come from').choices(PROVIDERS))
    .argument('<file>', 'the export')
    .addOption(repeatableOption('--map <field=Column>', 'which column a field is in; repeat'))
    .option('--program <id>', 'the program they join; the default one when left out')
    .option('-y, --yes', 'do not ask')
}
