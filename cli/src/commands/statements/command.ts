import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../../command.ts'
import { choiceOption, singleMonthOption } from '../../options.ts'
import type { StatementOptions } from './get.ts'

export function addStatements(program: Command): void {
  const statements = defineGroup(program, 'statements', 'print monthly statements of affiliates')
  defineCommand<StatementOptions>(statements, 'get <affiliate>', {
    summary: 'print the statement of an affiliate for a month',
    details:
      'Every order, refund, adjustment and payment with its reason, and the balances before and after, by currency. html is for printing.',
    output: 'Statement',
    owner: true,
    isLong: true,
    examples: ['referral statements get aff_… --month last > statement.json'],
    action: async (run, { options, args: [id = ''] }) => (await import('./get.ts')).printStatement(run, id, options),
  })
    .addOption(singleMonthOption())
    .addOption(choiceOption('--format <format>', 'file format', ['json', 'csv', 'html']).default('json'))
}
