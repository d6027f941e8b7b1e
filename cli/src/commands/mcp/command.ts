import type { Command } from 'commander'
import { defineCommand } from '../../command.ts'
import { enums } from '../../contract.ts'
import { choiceOption } from '../../options.ts'

/** Serves the API to a language model. */
export function addMcp(program: Command): void {
  defineCommand<{ allow?: string[] }>(program, 'mcp', {
    summary: 'serve the API as tools of the Model Context Protocol, on standard input and output',
    details:
      'Reads only, until --allow adds the writes of a group. Each write takes two calls: a preview, and the write with the confirmation that the preview returned. A confirmation is valid once, for 10 minutes, for the same arguments, and while the write would change the same. With an owner token, `runBacktest` is offered, and with --allow the decisions about commissions and `cancelPayout`.',
    output: 'Text',
    isLong: true,
    examples: ['referral mcp', 'referral mcp --allow affiliates payouts'],
    action: async (run, { options }) => (await import('./serve.ts')).serveMcp(run, new Set(options.allow)),
  }).addOption(choiceOption('--allow <group...>', 'add the writes of these groups', enums.McpGroup))
}
