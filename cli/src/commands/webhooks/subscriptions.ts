import { type components, generateSecret, type ReferralClient, type WebhookSubscription } from '@referral/sdk'
import { CliError, exitCode, unwrap, usageError } from '../../errors.ts'
import { confirm } from '../../prompt.ts'
import type { Run } from '../../run.ts'
import { readSecret, type SecretOptions } from '../../secrets.ts'

type WebhookUpdate = components['schemas']['WebhookUpdate']

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
  const secretInput = await readSecret(run.context, options)
  if (unsigned && secretInput) throw usageError('--no-secret and a secret cannot be combined.')
  const generated = unsigned || secretInput ? undefined : generateSecret()
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
  const secret = secretInput ?? generated
  const subscription = await client.webhooks.create({ ...body, ...(secret ? { secret } : {}) })
  if (generated) run.reporter.info('Store the secret in the receiver now: it is not shown again.')
  if (unsigned) run.reporter.warn('Receivers cannot verify unsigned deliveries.')
  run.printRecord({ ...subscription, secret: generated ?? null })
}

/** Enables a subscription that the service has disabled. */
export const enableWebhook = (run: Run, id: string): Promise<undefined> => patch(run, id, { status: 'enabled' })

export type UpdateOptions = Pick<CreateOptions, 'events' | 'retryPolicy' | 'extendedEvents'> & { url?: string }

/** Changes a subscription's given fields. */
export async function updateWebhook(run: Run, id: string, options: UpdateOptions): Promise<undefined> {
  const { url, events, retryPolicy, extendedEvents } = options
  const names = events?.flatMap(parseEventNames)
  const isAll = names?.length === 1 && names[0] === 'all'
  const body: WebhookUpdate = {
    ...(url !== undefined && { url }),
    ...(names && { events: isAll ? [] : names }),
    ...(retryPolicy && { retryPolicy }),
    ...(extendedEvents !== undefined && { extendedEvents }),
  }
  if (Object.keys(body).length === 0) throw usageError('No change was given. Pass at least one option, such as --url.')
  return patch(run, id, body)
}

async function patch(run: Run, id: string, body: WebhookUpdate): Promise<undefined> {
  if (run.dryRun) return run.printDryRun('PATCH', `/admin/v1/webhooks/${encodeURIComponent(id)}`, body)
  run.printRecord(await sendPatch(run, id, body))
}

const sendPatch = async (run: Run, id: string, body: WebhookUpdate): Promise<WebhookSubscription> =>
  unwrap(await (await run.ownerClient()).PATCH('/admin/v1/webhooks/{id}', { params: { path: { id } }, body })).data

export type RotateOptions = SecretOptions & { yes?: boolean }

/** Replaces the secret with the given one, or with a generated one that is printed once. */
export async function rotateSecret(run: Run, id: string, options: RotateOptions): Promise<undefined> {
  const secretInput = await readSecret(run.context, options)
  const path = `/admin/v1/webhooks/${encodeURIComponent(id)}`
  if (run.dryRun) return run.printDryRun('PATCH', path, { secret: '(hidden)' })
  const question = `Replace the secret of ${id}? A receiver that does not know the new one rejects the deliveries.`
  await confirm(run.context, question, options.yes)
  const secret = secretInput ?? generateSecret()
  const subscription = await sendPatch(run, id, { secret })
  if (!secretInput) run.reporter.info('Store the secret in the receiver now: it is not shown again.')
  run.printRecord({ ...subscription, secret: secretInput ? null : secret })
}

/** Empty text counts as a name, so that an unset variable does not subscribe to all events. */
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
  const emitted = [...data.emitted_events, 'test', ...(isExtended ? data.extended_events : [])]
  const unknown = events.filter((name) => !emitted.includes(name))
  if (unknown.some((name) => data.extended_events.includes(name)))
    run.reporter.info('Pass --extended-events to receive extended events.')
  if (unknown.length)
    run.reporter.warn(
      `Events that are never sent: ${unknown.map((name) => name || '""').join(', ')}. Available events: ${emitted.join(', ')}.`,
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
