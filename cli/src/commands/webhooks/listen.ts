import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebhookEventList } from '@referral/sdk'
import { signWebhook } from '@referral/webhook-verifier/testing'
import { requireCredential } from '../../client.ts'
import { CliError, exitCode, toFailure, usageError } from '../../errors.ts'
import { sanitizeText, toJson } from '../../output/text.ts'
import type { Run } from '../../run.ts'
import { readSecretFile } from '../../secrets.ts'
import { parseReceiverUrl, postDelivery } from './post.ts'

export interface ListenOptions {
  forwardTo?: string
  printSecret?: boolean
  secretFile?: string
  events?: string[]
  extendedEvents?: boolean
  after?: string
  count?: number
}

const POLL_INTERVAL_MS = 1000

/** Polls the events of the shop, and forwards each with the bytes and headers that a subscription would receive. */
export async function listen(run: Run, options: ListenOptions): Promise<undefined> {
  const { secretFile, forwardTo, events = [], extendedEvents, count = Number.POSITIVE_INFINITY } = options
  if (options.printSecret) {
    run.printText(`${readListenSecret(run, options)}\n`)
    return
  }
  if (secretFile !== undefined && forwardTo === undefined) throw usageError('--secret-file requires --forward-to.')
  const secret = readListenSecret(run, options)
  const receiver = forwardTo === undefined ? undefined : parseReceiverUrl(forwardTo)
  const names = events.flatMap((list) => list.split(',')).map((name) => name.trim())
  const poll = await createPoll(run, extendedEvents)
  const stop = run.handleInterrupt()
  let after: string | null = options.after ?? 'latest'
  let isOpen = false
  let remaining = count
  while (remaining > 0 && !stop.interrupted) {
    const page: WebhookEventList | undefined = await poll(after)
    if (page && !isOpen) await printOpen(run, secretFile === undefined ? secret : null)
    isOpen ||= page !== undefined
    for (const { id, ...event } of page?.data ?? []) {
      if (remaining === 0 || stop.interrupted) break
      if (names.length === 0 || names.includes(event.event)) {
        await forward(run, { id, event, secret, receiver })
        remaining--
      }
      // Set after forwarding, so that an interrupted delivery is received again.
      after = id
    }
    if (page && remaining > 0 && !stop.interrupted) after = page.next
    if (!page?.hasMore && remaining > 0)
      await sleep(POLL_INTERVAL_MS, undefined, { signal: stop.signal }).catch(() => {})
  }
  if (after?.startsWith('evt_') && remaining > 0) run.reporter.info(`to continue from here: --after ${after}`)
  if (stop.interrupted) throw new CliError(exitCode.interrupted, 'Interrupted.', { code: 'interrupted' })
}

/** The receiver's secret, or one derived from the API key, which is the same on each run. */
const readListenSecret = (run: Run, { secretFile }: ListenOptions): string =>
  secretFile === undefined
    ? createHmac('sha256', requireCredential(run.settings, 'apiKey')).update('referral webhooks listen').digest('hex')
    : readSecretFile(secretFile)

/** Returns the events after a position. Undefined while the service is unreachable. */
async function createPoll(run: Run, extendedEvents: boolean | undefined) {
  const client = await run.client()
  let isReachable = true
  return async (after: string | null): Promise<WebhookEventList | undefined> => {
    try {
      const query = { ...(after && { after }), ...(extendedEvents && { extendedEvents: '1' as const }) }
      const page = await client.webhooks.events(query)
      if (!isReachable) run.reporter.info('reconnected; no event was missed')
      isReachable = true
      return page
    } catch (error) {
      // Polling again does not help if the service rejects the request.
      const { exitCode: code } = toFailure(error)
      if (code !== exitCode.unavailable && code !== exitCode.rateLimited) throw error
      if (isReachable) run.reporter.info('connection lost; reconnecting')
      isReachable = false
      return undefined
    }
  }
}

interface Forwarded {
  id: string
  event: Omit<WebhookEventList['data'][number], 'id'>
  secret: string
  receiver: string | undefined
}

async function forward(run: Run, { id, event, secret, receiver }: Forwarded): Promise<void> {
  const body = JSON.stringify(event)
  const bytes = new TextEncoder().encode(body)
  const timestamp = Math.floor(run.context.now() / 1000)
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'referral-webhooks/1',
    'X-Service-Event': event.event,
    ...(await signWebhook(bytes, secret, { id, timestamp })),
  }
  const response = receiver ? await postDelivery(receiver, { headers, body: bytes }) : undefined
  const { status = null, ms = null, reason = null } = response ?? {}
  const outcome = response ? `${status ?? 'no response'} in ${ms} ms${reason ? `: ${reason}` : ''}` : body
  const delivery = { type: 'delivery', id, event: event.event, status, ms, reason, headers, body }
  await print(run, delivery, `${event.event} ${id} ${outcome}`)
}

/** @param secret null if it comes from a file */
const printOpen = (run: Run, secret: string | null): Promise<void> =>
  print(
    run,
    { type: 'open', secret },
    secret === null ? 'signed with the secret of the file' : `signing secret: ${secret}`,
  )

/** Writes a line immediately, because the command does not end by itself. */
async function print(run: Run, data: object, line: string): Promise<void> {
  const { format } = run.style
  run.printText(format === 'json' || format === 'ndjson' ? `${toJson(data)}\n` : `${sanitizeText(line)}\n`)
  await run.flush()
}
