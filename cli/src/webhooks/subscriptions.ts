import type { ReferralClient, WebhookSubscription } from '@referral/sdk'
import { CliError, exitCode, usageError } from '../exit.ts'
import type { Run } from '../run.ts'
import { readSecret, type SecretOptions } from '../secrets.ts'
import { generateSecret } from './local.ts'

export interface CreateOptions extends SecretOptions {
  url: string
  events?: string[]
  source?: string
  unsigned?: boolean
}

/** Subscribes with a secret: the one that was given, or one made here and shown once. */
export async function createWebhook(run: Run, options: CreateOptions): Promise<undefined> {
  const { url, source, unsigned } = options
  const events = (options.events ?? []).flatMap(parseEventNames)
  const given = await readSecret(run.context, options)
  if (unsigned && given) throw usageError('--unsigned and a secret exclude each other.')
  const made = unsigned || given ? undefined : generateSecret()
  const body = { url, events, ...(source ? { source } : {}) }
  if (run.dryRun) return run.printDryRun('POST', '/api/v1/webhooks', { ...body, secret: unsigned ? null : '(hidden)' })
  const client = await run.client()
  await warnAboutUnsentEvents(run, client, events)
  const secret = given ?? made
  const saved = await client.webhooks.create({ ...body, ...(secret ? { secret } : {}) })
  if (made) run.reporter.info('The secret is shown this once: give it to the receiver.')
  if (unsigned) run.reporter.warn('Nobody can tell these deliveries from forged ones.')
  run.printRecord({ ...saved, secret: made ?? null })
}

/** An empty text is a name like any other: an unset variable must not subscribe to everything. */
const parseEventNames = (text: string): string[] =>
  text === ''
    ? ['']
    : text
        .split(',')
        .map((one) => one.trim())
        .filter(Boolean)

/** The service saves any name. Some of them will never be sent. */
async function warnAboutUnsentEvents(run: Run, client: ReferralClient, events: readonly string[]): Promise<void> {
  if (events.length === 0) return
  const { data, error } = await client.webhooks.list().safe()
  if (error && error.code !== 'scope_missing') throw error
  if (!data) return run.reporter.info('This key may not read webhooks, so the names of the events were not checked.')
  const sent = [...data.emitted_events, 'test']
  const silent = events.filter((name) => !sent.includes(name))
  if (silent.length)
    run.reporter.warn(`Nothing sends ${silent.map((name) => name || '""').join(', ')}. Sent are: ${sent.join(', ')}.`)
}

const receivesTest = ({ events }: WebhookSubscription) => events.length === 0 || events.includes('test')

/** The service says OK also when nobody would hear: that is found out first. */
export async function sendTest(run: Run): Promise<undefined> {
  const client = await run.client()
  const { data } = await client.webhooks.list()
  const receivers = data.filter(receivesTest)
  const [first] = receivers
  if (!first)
    throw new CliError(exitCode.notFound, 'No subscription would receive a test event.', {
      code: 'no_receiver',
      hint: data.length
        ? 'Subscriptions with names receive only those; add `test` to one.'
        : 'See `referral webhooks create`.',
    })
  if (run.dryRun) return run.printDryRun('POST', '/api/v1/webhooks?test=1', { url: first.url })
  const { message } = await client.webhooks.sendTest({ url: first.url })
  for (const { url } of receivers) run.reporter.info(`to ${url}`)
  run.printRecord({ receivers: receivers.length, message })
}
