import { generateSecret, type ReferralClient, type WebhookSubscription } from '@referral/sdk'
import { CliError, exitCode, unwrap, usageError } from '../../errors.ts'
import type { Run } from '../../run.ts'
import { readSecret, type SecretOptions } from '../../secrets.ts'

export interface CreateOptions extends SecretOptions {
  url: string
  events?: string[]
  source?: string
  /** False with `--no-secret`. */
  secret?: boolean
  retryPolicy?: 'none' | 'standard'
  extendedEvents?: boolean
}

/** Creates a subscription, with the given secret or a generated one that is printed once. */
export async function createWebhook(run: Run, options: CreateOptions): Promise<undefined> {
  const { url, source, retryPolicy, extendedEvents } = options
  const unsigned = options.secret === false
  const events = (options.events ?? []).flatMap(parseEventNames)
  const given = await readSecret(run.context, options)
  if (unsigned && given) throw usageError('--no-secret and a secret cannot be combined.')
  const generated = unsigned || given ? undefined : generateSecret()
  const body = {
    url,
    events,
    ...(source ? { source } : {}),
    ...(retryPolicy ? { retryPolicy } : {}),
    ...(extendedEvents ? { extendedEvents } : {}),
  }
  if (run.dryRun) return run.printDryRun('POST', '/api/v1/webhooks', { ...body, secret: unsigned ? null : '(hidden)' })
  const client = await run.client()
  await warnAboutUnsentEvents(run, client, { events, isExtended: extendedEvents === true })
  const secret = given ?? generated
  const subscription = await client.webhooks.create({ ...body, ...(secret ? { secret } : {}) })
  if (generated) run.reporter.info('Store the secret in the receiver now: it is not shown again.')
  if (unsigned) run.reporter.warn('Receivers cannot verify unsigned deliveries.')
  run.printRecord({ ...subscription, secret: generated ?? null })
}

/** Enables a subscription that the service has disabled. */
export async function enableWebhook(run: Run, id: string): Promise<undefined> {
  const path = `/admin/v1/webhooks/${encodeURIComponent(id)}`
  if (run.dryRun) return run.printDryRun('PATCH', path, { status: 'enabled' })
  const client = await run.ownerClient()
  const request = { params: { path: { id } }, body: { status: 'enabled' as const } }
  run.printRecord(unwrap(await client.PATCH('/admin/v1/webhooks/{id}', request)).data)
}

/** An empty text stays a name, so that an unset variable does not subscribe to all events. */
const parseEventNames = (text: string): string[] =>
  text === ''
    ? ['']
    : text
        .split(',')
        .map((name) => name.trim())
        .filter(Boolean)

/** The service accepts any event name, even one that is never sent. */
async function warnAboutUnsentEvents(
  run: Run,
  client: ReferralClient,
  { events, isExtended }: { events: readonly string[]; isExtended: boolean },
): Promise<void> {
  if (events.length === 0) return
  const { data, error } = await client.webhooks.list().safe()
  if (error && error.code !== 'scope_missing') throw error
  if (!data) return run.reporter.info('This key lacks the scope webhooks:read; the event names were not checked.')
  const sent = [...data.emitted_events, 'test', ...(isExtended ? data.extended_events : [])]
  const unknown = events.filter((name) => !sent.includes(name))
  if (unknown.some((name) => data.extended_events.includes(name)))
    run.reporter.info('Pass --extended-events to receive extended events.')
  if (unknown.length)
    run.reporter.warn(
      `Events that are never sent: ${unknown.map((name) => name || '""').join(', ')}. Available events: ${sent.join(', ')}.`,
    )
}

const receivesTest = ({ events }: WebhookSubscription) => events.length === 0 || events.includes('test')

/** Sends a test event. The service returns OK even without a receiver, so the subscriptions are read first. */
export async function sendTest(run: Run): Promise<undefined> {
  const client = await run.client()
  const { data } = await client.webhooks.list()
  const receivers = data.filter(receivesTest)
  const [first] = receivers
  if (!first)
    throw new CliError(exitCode.notFound, 'No subscription would receive a test event.', {
      code: 'no_receiver',
      hint: data.length ? 'Add the event `test` to a subscription.' : 'Create one with `referral webhooks create`.',
    })
  if (run.dryRun) return run.printDryRun('POST', '/api/v1/webhooks?test=1', { url: first.url })
  const { message } = await client.webhooks.sendTest({ url: first.url })
  for (const { url } of receivers) run.reporter.info(`sent to ${url}`)
  run.printRecord({ receivers: receivers.length, message })
}
