import type { Command } from 'commander'
import { defineCommand, repeatableOption } from '../command.ts'
import type { ApiOptions } from '../raw-call.ts'

export function addApi(program: Command): void {
  defineCommand<ApiOptions>(program, 'api <method> <path>', {
    summary: 'call any operation of the API',
    details:
      'Prints the answer as it came. Paths of the owner’s surface (/admin/v1/…) take the owner token, all others the API key. A POST gets an Idempotency-Key unless you send one. Paying through here needs expectedTotalCents, as it does in `payouts pay`.',
    output: 'Json',
    writes: true,
    examples: [
      'referral api GET /api/v1/affiliates?limit=5',
      "referral api POST /api/v1/affiliates -f email=noor@example.com -f name='Noor Haddad'",
      'referral api POST /api/v1/events --input order.json -H "Idempotency-Key: order-1001"',
    ],
    action: async (run, { options, args }) => (await import('../raw-call.ts')).callApi(run, args, options),
  })
    .addOption(repeatableOption('-f, --field <name=text>', 'a text in the body'))
    .addOption(repeatableOption('-F, --typed-field <name=json>', 'a number, true, false, null or any JSON in the body'))
    .option('--input <file>', 'the whole body; - for standard input')
    .addOption(repeatableOption('-H, --header <name: value>', 'a header'))
    .option('-i, --include', 'print status and headers first')
}
