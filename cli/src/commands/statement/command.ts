import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../../command.ts'
import type { VerifyOptions } from './verify.ts'

export function addStatement(program: Command): void {
  const statement = defineGroup(program, 'statement', 'verify statements of affiliates')
  defineCommand<VerifyOptions>(statement, 'verify <file>', {
    summary: 'verify a statement without the service, and name the altered line',
    details:
      'Checks the hash of every line, the balances and the digest of a JSON file of `payouts statement`. Somebody who can compute hashes can replace all of them; --audit therefore also compares every line with an export of the audit log (`GET /admin/v1/audit/export`), whose chain is verified first. Exits with 1 when something differs.',
    output: 'StatementCheck',
    examples: ['referral statement verify october.json --audit audit.ndjson'],
    action: async (run, { options, args: [file = ''] }) => (await import('./verify.ts')).verify(run, file, options),
  }).option('--audit <file>', 'an export of the audit log')
}
