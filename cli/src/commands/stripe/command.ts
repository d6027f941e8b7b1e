import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../../command.ts'
import type { SecretOptions } from '../../secrets.ts'

export function addStripe(program: Command): void {
  const stripe = defineGroup(program, 'stripe', 'import the history of a Stripe account')
  defineCommand<SecretOptions>(stripe, 'replay <file>', {
    summary: 'send stored Stripe events to the service, one JSON object a line',
    details:
      "Signs each event with the setting stripeWebhookSecret and sends it like Stripe does. Events may be in any order, and those that were received before change nothing, so the command can be repeated. The secret is read from --secret-file, --secret-stdin, REFERRAL_WEBHOOK_SECRET or a prompt; it needs the shop's API key for the shop's ID. Exits with 8 when an event was rejected.",
    output: 'StripeReplay',
    writes: true,
    examples: ['referral stripe replay events.ndjson --secret-file stripe-secret.txt'],
    action: async (run, { options, args: [file = ''] }) => (await import('./replay.ts')).replay(run, file, options),
  })
    .option('--secret-file <file>', 'read the secret from a file')
    .option('--secret-stdin', 'read the secret from standard input')
}
