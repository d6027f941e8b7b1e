import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../../command.ts'
import { choiceOption, singleMonthOption } from '../../options.ts'
import type { StatementOptions } from './get.ts'
import type { VerifyOptions } from './verify.ts'

export function addStatements(program: Command): void {
  const statements = defineGroup(program, 'statements', 'print and verify monthly statements of affiliates')
  defineCommand<StatementOptions>(statements, 'get <affiliate>', {
    summary: 'print the statement of an affiliate for a month',
    details:
      'Every order, refund, adjustment and payment with its reason, and the balances before and after, by currency. Keep the JSON to verify it later with `statements verify`; html is for printing.',
    output: 'Statement',
    owner: true,
    isLong: true,
    examples: ['referral statements get aff_… --month last > statement.json'],
    action: async (run, { options, args: [id = ''] }) => (await import('./get.ts')).printStatement(run, id, options),
  })
    .addOption(singleMonthOption())
    .addOption(choiceOption('--format <format>', 'file format', ['json', 'csv', 'html']).default('json'))
  defineCommand<VerifyOptions>(statements, 'verify <file>', {
    summary: 'verify a statement offline, and name the altered line',
    details:
      'Checks the hash of every line, the balances and the digest of a JSON file of `statements get`. The hashes can be recomputed, so --audit also compares every line with an export of the audit log (`GET /admin/v1/audit/export`), whose chain is verified first. Exits with 1 when something differs.',
    output: 'StatementCheck',
    examples: ['referral statements verify october.json --audit audit.ndjson'],
    action: async (run, { options, args: [file = ''] }) => (await import('./verify.ts')).verify(run, file, options),
  }).option('--audit <file>', 'an export of the audit log')
}
