import { type Command, Option } from 'commander'
import { defineCommand } from '../../command.ts'
import { integerBetween } from '../../options.ts'
import type { DevOptions } from './dev.ts'

export function addDev(program: Command): void {
  defineCommand<DevOptions>(program, 'dev', {
    summary: 'run a temporary server with a test shop',
    details:
      'Starts the server with an in-memory database, creates a test shop, reports an order in it, and prints the URL, the key and the signed webhook for the order. The clock of the test shop can be advanced. Runs until Ctrl-C, then deletes all data.\n\nWith --stripe, the test shop receives the events that the Stripe CLI forwards, and the command for that is printed. It needs the signing secret that `stripe listen --print-secret` prints, from --secret-stdin, --secret-file, REFERRAL_WEBHOOK_SECRET, or a prompt.',
    output: 'DevServer',
    examples: [
      'referral dev',
      'referral dev --forward-to http://localhost:3000/hooks',
      'referral dev --once --json',
      'stripe listen --print-secret | referral dev --stripe --secret-stdin',
    ],
    action: async (run, { options }) => (await import('./dev.ts')).dev(run, options),
  })
    .addOption(new Option('--port <n>', 'port to listen on (default: a free one)').argParser(integerBetween(1, 65_535)))
    .option('--forward-to <url>', 'forward the body and signature headers of every webhook to this receiver')
    .option('--once', 'exit after the first webhook')
    .option('--stripe', 'receive the events that the Stripe CLI forwards')
    .option('--secret-file <file>', "read Stripe's signing secret from a file")
    .option('--secret-stdin', "read Stripe's signing secret from standard input")
}
