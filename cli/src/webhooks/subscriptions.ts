import type { ReferralClient, WebhookSubscription } from '@referral/sdk'
import { CliError, exit, usage } from '../exit.ts'
import type { Run } from '../run.ts'
import { readSecret, type SecretOptions } from '../secrets.ts'
import { makeSecret } from './local.ts'

export interface CreateOptions extends SecretOptions {
  url: string
  events?: string[]
  source?: string
  unsigned?: boolean
}

/** Subscribes with a secret: the one that was given, or one made here and shown once. */
export async function createWebhook(run: Run, options: CreateOptions): Promise<undefined> {
  const { url, source, unsigned } = options
  const events = (options.events ?? []).flatMap(namesOf)
  const given = await readSecret(run.world, options)
  if (unsigned && given) throw usage('--unsigned and a secret exclude each other.')
  const made = unsigned || given ? undefined : makeSecret()
  const body = { url, events, ...(source ? { source } : {}) }
  if (run.dryRun) return run.wouldSend('POST', '/api/v1/webhooks', { ...body, secret: unsigned ? null : '(hidden)' })
  const client = await run.client()
  await warnOfSilentNames(run, client, events)
  const secret = given ?? made
  const saved = await client.webhooks.create({ ...body, ...(secret ? { secret } : {}) })
  if (made) run.talk.note('The secret is shown this once: give it to the receiver.')
  if (unsigned) run.talk.warn('Nobody can tell these deliveries from forged ones.')
  run.record({ ...saved, secret: made ?? null })
}

/** An empty text is a name like any other: an unset variable must not subscribe to everything. */
const namesOf = (text: string): string[] =>
  text === ''
    ? ['']
    : text
        .split(',')
        .map((one) => one.trim())
        .filter(Boolean)

/** The service saves any name. Some of them will never be sent. */
async function warnOfSilentNames(run: Run, client: ReferralClient, events: readonly string[]): Promise<void> {
  if (events.length === 0) return
  const { data, error } = await client.webhooks.list().safe()
  if (error && error.code !== 'scope_missing') throw error
  if (!data) return run.talk.note('This key may not read webhooks, so the names of the events were not checked.')
  const sent = [...data.emitted_events, 'test']
  const silent = events.filter((name) => !sent.includes(name))
  if (silent.length)
    run.talk.warn(`Nothing sends ${silent.map((name) => name || '""').join(', ')}. Sent are: ${sent.join(', ')}.`)
}

const takesTest = ({ events }: WebhookSubscription) => events.length === 0 || events.includes('test')

/** The service says OK also when nobody would hear: that is found out first. */
export async function sendTest(run: Run): Promise<undefined> {
  const client = await run.client()
  const { data } = await client.webhooks.list()
  const receivers = data.filter(takesTest)
  const [first] = receivers
  if (!first)
    throw new CliError(exit.notFound, 'No subscription would receive a test event.', {
      code: 'no_receiver',
      hint: data.length
        ? 'Subscriptions with names receive only those; add `test` to one.'
        : 'See `referral webhooks create`.',
    })
  if (run.dryRun) return run.wouldSend('POST', '/api/v1/webhooks?test=1', { url: first.url })
  const { message } = await client.webhooks.sendTest({ url: first.url })
  for (const { url } of receivers) run.talk.note(`to ${url}`)
  run.record({ receivers: receivers.length, message })
}
