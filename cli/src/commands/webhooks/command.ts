import type { WebhookSubscription } from '@referral/sdk'
import { type Command, Option } from 'commander'
import { defineCommand, defineGroup } from '../../command.ts'
import { enums } from '../../contract.ts'
import { integerBetween, repeatableOption } from '../../options.ts'
import type { Column } from '../../output/render.ts'
import { confirm } from '../../prompt.ts'
import type { SecretOptions } from '../../secrets.ts'
import type { CheckOptions } from './check.ts'
import type { DeliveriesOptions, EventsOptions, RedeliverOptions } from './deliveries.ts'
import type { ListenOptions } from './listen.ts'
import type { SignOptions, VerifyOptions } from './signing.ts'
import type { CreateOptions, RotateOptions, UpdateOptions } from './subscriptions.ts'

const COLUMNS: Column<WebhookSubscription>[] = [
  'id',
  'url',
  { field: 'events', format: ({ events }) => events.join(' ') || 'all' },
  { field: 'hasSecret', title: 'signed', format: ({ hasSecret }) => (hasSecret ? 'yes' : 'no') },
  { field: 'retryPolicy', title: 'retries' },
  'status',
  'source',
  'createdAt',
]

const SECRET_NOTE = 'The signing secret comes from --secret-file, --secret-stdin, REFERRAL_WEBHOOK_SECRET or a prompt.'

const secretOptions = (command: Command): Command =>
  command
    .option('--secret-file <file>', 'read the signing secret from a file')
    .option('--secret-stdin', 'read the signing secret from standard input')

export function addWebhooks(program: Command): void {
  const webhooks = defineGroup(program, 'webhooks', 'manage subscriptions, and test receivers')
  addSubscriptions(webhooks)
  addDeliveries(webhooks)
  addListen(webhooks)
  addSigning(webhooks)
  addReceiverTools(webhooks)
}

function addSubscriptions(webhooks: Command): void {
  defineCommand(webhooks, 'list', {
    summary: 'list subscriptions',
    output: 'WebhookSubscription[]',
    action: async (run) => {
      const { data } = await (await run.client()).webhooks.list()
      run.printRows(data, COLUMNS)
    },
  })
  secretOptions(
    defineCommand<CreateOptions>(webhooks, 'create', {
      summary: 'subscribe a URL to events',
      details:
        'Generates a secret and prints it once, unless one is given. Warns about events that are never sent. With `--retry-policy standard`, a failed delivery is attempted 8 times over about 28 hours.',
      output: 'NewWebhook',
      writes: true,
      examples: [
        'referral webhooks create --url https://shop.example/hooks --events commission.created,affiliate.approved',
      ],
      action: async (run, { options }) => (await import('./subscriptions.ts')).createWebhook(run, options),
    }),
  )
    .requiredOption('--url <url>', 'public https URL of the receiver')
    .addOption(repeatableOption('--events <names>', 'events to receive, comma-separated (default: all)'))
    .option('--source <label>', 'label for the origin of the subscription')
    .option('--no-secret', 'send unsigned deliveries, which receivers cannot verify')
    .addOption(
      new Option('--retry-policy <policy>', 'whether failed deliveries are retried').choices(enums.RetryPolicy),
    )
    .option('--extended-events', 'also receive extended events, such as commission.approved and payout.paid')
  defineCommand<UpdateOptions>(webhooks, 'update <id>', {
    summary: 'change the address, the events or the retries of a subscription',
    output: 'WebhookSubscription',
    writes: true,
    owner: true,
    examples: ['referral webhooks update whs_… --events commission.created,affiliate.approved'],
    action: async (run, { options, args: [id = ''] }) =>
      (await import('./subscriptions.ts')).updateWebhook(run, id, options),
  })
    .option('--url <url>', 'public https URL of the receiver')
    .addOption(repeatableOption('--events <names>', 'events to receive, comma-separated; all for all'))
    .addOption(
      new Option('--retry-policy <policy>', 'whether failed deliveries are retried').choices(enums.RetryPolicy),
    )
    .option('--extended-events', 'also receive extended events')
    .option('--no-extended-events', 'receive no extended events')
  secretOptions(
    defineCommand<RotateOptions>(webhooks, 'rotate-secret <id>', {
      summary: 'replace the signing secret of a subscription',
      details:
        'Generates a secret and prints it once, unless one is given. Deliveries are signed with the new secret from then on: let the receiver accept both before.',
      output: 'NewWebhook',
      writes: true,
      owner: true,
      examples: ['referral webhooks rotate-secret whs_… --secret-file secret.txt'],
      action: async (run, { options, args: [id = ''] }) =>
        (await import('./subscriptions.ts')).rotateSecret(run, id, options),
    }),
  ).option('-y, --yes', 'skip the confirmation')
  defineCommand<{ yes?: boolean }>(webhooks, 'delete <id>', {
    summary: 'delete a subscription',
    output: 'ActionReply',
    writes: true,
    action: async (run, { options, args: [id = ''] }) => {
      if (run.dryRun) return run.printDryRun('DELETE', `/api/v1/webhooks?id=${encodeURIComponent(id)}`)
      await confirm(run.context, `Delete ${id}? Its pending deliveries are discarded.`, options.yes)
      run.printRecord(await (await run.client()).webhooks.delete(id))
    },
  }).option('-y, --yes', 'skip the confirmation')
  defineCommand(webhooks, 'enable <id>', {
    summary: 'enable a subscription that was disabled because its receiver failed',
    details:
      'It receives the events from then on. Send it what it missed with `webhooks redeliver`, or read it with `webhooks events`. Enabling an enabled subscription changes nothing.',
    output: 'WebhookSubscription',
    writes: true,
    owner: true,
    examples: ['referral webhooks enable whs_01KAH0000000000000000000W1'],
    action: async (run, { args: [id = ''] }) => (await import('./subscriptions.ts')).enableWebhook(run, id),
  })
  defineCommand(webhooks, 'test', {
    summary: 'send a test event to the subscriptions that receive it',
    details: 'Exits with 3 when no subscription would receive it, unlike the API, which returns OK.',
    output: 'TestSent',
    writes: true,
    action: async (run) => (await import('./subscriptions.ts')).sendTest(run),
  })
}

function addDeliveries(webhooks: Command): void {
  defineCommand<DeliveriesOptions>(webhooks, 'deliveries', {
    summary: 'list deliveries, newest first',
    output: 'Delivery[]',
    owner: true,
    examples: ['referral webhooks deliveries --status FAILED'],
    action: async (run, { options }) => (await import('./deliveries.ts')).listDeliveries(run, options),
  })
    .option('--webhook <id>', 'only deliveries to this subscription')
    .option('--event <name>', 'only deliveries of this event')
    .addOption(new Option('--status <status>', 'only deliveries with this status').choices(enums.DeliveryStatus))
    .addOption(new Option('--limit <n>', 'number of rows').argParser(integerBetween(1, 100)).default(20))
    .addOption(new Option('--page <n>', 'page number').argParser(integerBetween(1)).default(1))
  defineCommand<RedeliverOptions>(webhooks, 'redeliver [delivery]', {
    summary: 'redeliver one delivery, or all failed deliveries of a subscription since a time',
    details:
      'With `--webhook` and `--from`, queues the failed deliveries of the subscription again; `--status SENT` queues those that succeeded. A delivery that was queued again before is left out, so the command can be repeated.',
    output: 'Redelivered',
    writes: true,
    owner: true,
    examples: [
      'referral webhooks redeliver dlv_01KAH0000000000000000000D1',
      'referral webhooks redeliver --webhook whs_01KAH0000000000000000000W1 --from 2026-10-20T15:00:00Z',
    ],
    action: async (run, { options, args: [id] }) => (await import('./deliveries.ts')).redeliver(run, id, options),
  })
    .option('--webhook <id>', 'the subscription')
    .option('--from <instant>', 'only deliveries from this time on')
    .option('--to <instant>', 'only deliveries up to this time (default: now)')
    .option('--event <name>', 'only deliveries of this event')
    .addOption(new Option('--status <status>', 'which deliveries').choices(['FAILED', 'SENT']))
  defineCommand<EventsOptions>(webhooks, 'events', {
    summary: 'list events, oldest first, with or without subscriptions',
    details:
      'Lists the events of the last 30 days, or those after an event. An event requires the read scope of its resource, such as commissions:read. Pass the id of the last event as `--after` to continue.',
    output: 'WebhookEventItem[]',
    examples: ['referral webhooks events --after evt_01KAH0000000000000000000E1 --json'],
    action: async (run, { options }) => (await import('./deliveries.ts')).listEvents(run, options),
  })
    .option('--after <id>', 'continue after this event')
    .option('--extended-events', 'also list extended events')
    .addOption(new Option('--limit <n>', 'the maximum number of events').argParser(integerBetween(1)).default(100))
}

function addListen(webhooks: Command): void {
  defineCommand<ListenOptions>(webhooks, 'listen', {
    summary: 'receive events on this machine without a tunnel',
    details:
      'Polls the events once a second and forwards each with the bytes and headers of a webhook, signed with a secret that stays the same as long as the API key does. `--print-secret` prints it for the receiver. With `--secret-file`, events are signed with a secret that the receiver already has. Continues after a restart of the service, and receives the events that were missed. The key requires `webhooks:read` and the read scopes of the events, such as commissions:read. `--json` prints one object per line. Runs until Ctrl-C.',
    output: 'Listened',
    examples: [
      'export WEBHOOK_SECRET=$(referral webhooks listen --print-secret)',
      'referral webhooks listen --forward-to localhost:3000/hooks',
      'referral webhooks listen --events commission.created --json',
    ],
    action: async (run, { options }) => (await import('./listen.ts')).listen(run, options),
  })
    .option('--forward-to <url>', 'URL of the receiver on this machine')
    .option('--secret-file <file>', 'read the signing secret of the receiver from a file')
    .option('--print-secret', 'print the signing secret and exit')
    .addOption(repeatableOption('--events <names>', 'events to receive, comma-separated (default: all)'))
    .option('--extended-events', 'also receive extended events that a subscription requests, such as payout.paid')
    .option('--after <id>', 'continue after this event')
    .addOption(new Option('--count <n>', 'exit after this number of deliveries').argParser(integerBetween(1)))
}

function addReceiverTools(webhooks: Command): void {
  secretOptions(
    defineCommand<SecretOptions & { to: string }>(webhooks, 'trigger <event>', {
      summary: 'send a signed example event to a receiver',
      details: SECRET_NOTE,
      output: 'Triggered',
      writes: true,
      examples: ['referral webhooks trigger commission.created --to http://localhost:3000/hooks'],
      action: async (run, { options, args: [event = ''] }) =>
        (await import('./signing.ts')).trigger(run, event, options),
    }),
  ).requiredOption('--to <url>', 'URL of the receiver, which may be on this machine')
  secretOptions(
    defineCommand<CheckOptions>(webhooks, 'check <url>', {
      summary: 'test a receiver with valid and invalid deliveries, and score it',
      details: `${SECRET_NOTE} It must be the secret of the receiver. All events are of type \`test\` or an unknown type, so that the receiver does not process them. Exits with 8 when a check fails.`,
      output: 'ReceiverReport',
      examples: ['referral webhooks check http://localhost:3000/hooks --junit report.xml'],
      action: async (run, { options, args: [url = ''] }) => (await import('./check.ts')).check(run, url, options),
    }),
  ).option('--junit <file>', 'write the report as JUnit XML')
}

function addSigning(webhooks: Command): void {
  secretOptions(
    defineCommand<SignOptions>(webhooks, 'sign [file]', {
      summary: 'print the signature headers for a body, read from a file or standard input',
      details: SECRET_NOTE,
      output: 'Signed',
      examples: ['referral webhooks sign body.json --json=X-Service-Signature'],
      action: async (run, { options, args: [file] }) => (await import('./signing.ts')).sign(run, file, options),
    }),
  )
    .option('--id <id>', 'webhook-id (default: a new id)')
    .option('--timestamp <seconds>', 'webhook-timestamp (default: now)')
  secretOptions(
    defineCommand<VerifyOptions>(webhooks, 'verify [file]', {
      summary: 'verify the signature of a body, read from a file or standard input',
      details: SECRET_NOTE,
      output: 'Verified',
      examples: ['referral webhooks verify body.json --signature 3e81f2…'],
      action: async (run, { options, args: [file] }) => (await import('./signing.ts')).verifyBody(run, file, options),
    }),
  )
    .option('--signature <hex>', 'value of X-Service-Signature')
    .addOption(repeatableOption('--header <name: value>', 'header of the delivery; repeat for each header'))
    .option('--tolerance <seconds>', 'maximum age of the signature; Infinity for any')
}
