import type { Alias, AliasCreate } from '@referral/sdk'
import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../command.ts'
import { enums } from '../contract.ts'
import { addPageOptions, type ListOptions, printList } from '../list.ts'
import { choiceOption } from '../options.ts'
import type { Column } from '../output/render.ts'

const COLUMNS: Column<Alias>[] = ['id', 'kind', 'value', 'affiliateId', 'createdAt']

export function addAliases(program: Command): void {
  const aliases = defineGroup(program, 'aliases', 'manage additional codes and link names of affiliates')
  addPageOptions(
    defineCommand<ListOptions & { affiliate?: string; value?: string }>(aliases, 'list', {
      summary: 'list aliases, newest first',
      output: 'Alias[]',
      action: async (run, { options }) => {
        const client = await run.client()
        const { affiliate, value } = options
        const query = { ...(affiliate && { affiliateId: affiliate }), ...(value && { value }) }
        await printList(run, options, {
          fetchPage: (paging) => client.aliases.list({ ...query, ...paging }),
          columns: COLUMNS,
        })
      },
    }),
  )
    .option('--affiliate <id>', 'filter by affiliate')
    .option('--value <text>', 'filter by name, in any letter case')

  defineCommand<{ kind: AliasCreate['kind'] }>(aliases, 'create <affiliateId> <value>', {
    summary: 'give an affiliate an additional code or link name',
    output: 'Alias',
    writes: true,
    examples: ['referral aliases create aff_… SARAH10', 'referral aliases create aff_… sarah_old --kind LINK'],
    action: async (run, { options, args: [affiliateId = '', value = ''] }) => {
      const body = { affiliateId, kind: options.kind, value }
      if (run.dryRun) return run.printDryRun('POST', '/api/v1/affiliates/aliases', body)
      run.printRecord(await (await run.client()).aliases.create(body))
    },
  }).addOption(choiceOption('--kind <kind>', 'code or link name', enums.AliasKind).default('CODE'))

  defineCommand(aliases, 'delete <id>', {
    summary: 'delete an alias; recorded orders do not change',
    output: 'ActionReply',
    writes: true,
    action: async (run, { args: [id = ''] }) => {
      if (run.dryRun) return run.printDryRun('DELETE', `/api/v1/affiliates/aliases?id=${encodeURIComponent(id)}`)
      run.printRecord(await (await run.client()).aliases.delete(id))
    },
  })
}
