import type { WebhookSubscription } from '@referral/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { defineCommand, defineGroup, repeatableOption } from '../command.ts'
import type { Column } from '../output/render.ts'
import type { SecretOptions } from '../secrets.ts'
import type { CheckOptions } from '../webhooks/check.ts'
import type { ListenOptions } from '../webhooks/listen.ts'
import type { SignOptions, VerifyOptions } from '../webhooks/local.ts'
import type { CreateOptions } from '../webhooks/subscriptions.ts'

const COLUMNS: Column<WebhookSubscription>[] = [
  'id',
  'url',
  { field: 'events', format: ({ events }) => events.join(' ') || 'all' },
  { field: 'hasSecret', title: 'signed', format: ({ hasSecret }) => (hasSecret ? 'yes' : 'no') },
  'source',
  'createdAt',
]

const SECRET_NOTE =
  'The signing secret comes from --secret-file, --secret-stdin or REFERRAL_WEBHOOK_SECRET, or is asked for.'

const secretOptions = (command: Command): Command =>
  command
    .option('--secret-file <file>', 'a file that holds the signing secret')
    .option('--secret-stdin', 'the signing secret is on standard input')

export function addWebhooks(program: Command): void {
  const webhooks = defineGroup(program, 'webhooks', 'subscriptions, and tools for receivers')
  addSubscriptions(webhooks)
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
      summary: 'subscribe an address to events',
      details: 'Without a secret one is made and shown once. Warns of events that nothing sends.',
      output: 'NewWebhook',
      writes: true,
      examples: [
        'referral webhooks create --url https://shop.example/hooks --events commission.created,affiliate.approved',
      ],
      action: async (run, { options }) => (await import('../webhooks/subscriptions.ts')).createWebhook(run, options),
    }),
  )
    .requiredOption('--url <url>', 'a public https address')
    .addOption(repeatableOption('--events <names>', 'which events, comma-separated; all when left out'))
    .option('--source <label>', 'where the subscription comes from')
    .option('--unsigned', 'without a secret: nobody can tell forged deliveries')
  defineCommand(webhooks, 'delete <id>', {
    summary: 'remove a subscription',
    output: 'ActionReply',
    writes: true,
    action: async (run, { args: [id = ''] }) => {
      if (run.dryRun) return run.printDryRun('DELETE', `/api/v1/webhooks?id=${encodeURIComponent(id)}`)
      run.printRecord(await (await run.client()).webhooks.delete(id))
    },
  })
  defineCommand(webhooks, 'test', {
    summary: 'send a test event to the subscriptions that take it',
    details: 'Ends with 3 when none would receive it; the API alone says OK then too.',
    output: 'TestSent',
    writes: true,
    action: async (run) => (await import('../webhooks/subscriptions.ts')).sendTest(run),
  })
}

const wholeNumber = (text: string): number => {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.')
  return Number(text)
}

function addListen(webhooks: Command): void {
  defineCommand<ListenOptions>(webhooks, 'listen', {
    summary: 'receive events on this machine, without a tunnel',
    details:
      'Opens a temporary subscription with a secret of its own, which is printed, and hands every event on with its very bytes and headers. Connects again by itself, also after a restart of the service, and takes what came in between. `--json` prints one object a line. Runs until Ctrl-C.',
    output: 'Listened',
    owner: true,
    examples: [
      'referral webhooks listen --forward-to http://localhost:3000/hooks',
      'referral webhooks listen --events commission.created --json',
    ],
    action: async (run, { options }) => (await import('../webhooks/listen.ts')).listen(run, options),
  })
    .option('--forward-to <url>', 'the receiver on this machine')
    .addOption(repeatableOption('--events <names>', 'which events, comma-separated; all when left out'))
    .option('--after <id>', 'go on after this delivery; at most an hour back')
    .addOption(new Option('--count <n>', 'end after so many deliveries').argParser(wholeNumber))
}

function addReceiverTools(webhooks: Command): void {
  secretOptions(
    defineCommand<SecretOptions & { to: string }>(webhooks, 'trigger <event>', {
      summary: 'sign an example event here and send it to a receiver',
      details: SECRET_NOTE,
      output: 'Triggered',
      writes: true,
      examples: ['referral webhooks trigger commission.created --to http://localhost:3000/hooks'],
      action: async (run, { options, args: [event = ''] }) =>
        (await import('../webhooks/local.ts')).trigger(run, event, options),
    }),
  ).requiredOption('--to <url>', 'the receiver; this machine is fine')
  secretOptions(
    defineCommand<CheckOptions>(webhooks, 'check <url>', {
      summary: 'probe a receiver with good and bad deliveries, and score it',
      details: `${SECRET_NOTE} It must be the one the receiver has. All events are \`test\` or unknown, so a receiver does no work for them. Ends with 8 below 100 %.`,
      output: 'ReceiverReport',
      examples: ['referral webhooks check http://localhost:3000/hooks --junit report.xml'],
      action: async (run, { options, args: [url = ''] }) =>
        (await import('../webhooks/check.ts')).check(run, url, options),
    }),
  ).option('--junit <file>', 'write the report as JUnit XML')
}

function addSigning(webhooks: Command): void {
  secretOptions(
    defineCommand<SignOptions>(webhooks, 'sign [file]', {
      summary: 'the signature headers of a body; standard input without a file',
      details: SECRET_NOTE,
      output: 'Signed',
      examples: ['referral webhooks sign body.json --json=X-Service-Signature'],
      action: async (run, { options, args: [file] }) => (await import('../webhooks/local.ts')).sign(run, file, options),
    }),
  )
    .option('--id <id>', 'webhook-id; a new one when left out')
    .option('--timestamp <seconds>', 'webhook-timestamp; now when left out')
  secretOptions(
    defineCommand<VerifyOptions>(webhooks, 'verify [file]', {
      summary: 'check the signature of a body; standard input without a file',
      details: SECRET_NOTE,
      output: 'Verified',
      examples: ['referral webhooks verify body.json --signature 3e81f2…'],
      action: async (run, { options, args: [file] }) =>
        (await import('../webhooks/local.ts')).verifyBody(run, file, options),
    }),
  )
    .option('--signature <hex>', 'X-Service-Signature')
    .addOption(repeatableOption('--header <name: value>', 'a header of the delivery; repeat for all'))
    .option('--tolerance <seconds>', 'how far the signed time may be off; Infinity for any')
}
