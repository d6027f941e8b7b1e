import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { signWebhook } from '@referral/webhook-verifier/sender'
import { requireCredential } from '../../client.ts'
import { apiError, CliError, exitCode, usageError } from '../../errors.ts'
import { sanitizeText, toJson } from '../../output/text.ts'
import type { Run } from '../../run.ts'
import { readSecretFile } from '../../secrets.ts'
import { parseReceiverUrl, postDelivery } from './post.ts'
import { readSseMessages, type SseMessage } from './sse.ts'

export interface ListenOptions {
  forwardTo?: string
  printSecret?: boolean
  secretFile?: string
  events?: string[]
  extendedEvents?: boolean
  after?: string
  count?: number
}

// The service sends a keep-alive every 15 seconds.
const HEARTBEAT_TIMEOUT_MS = 45_000
const INITIAL_RETRY_DELAY_MS = 250
const MAX_RETRY_DELAY_MS = 5000

/** Receives the events of the shop with their original bytes and headers, and those missed while disconnected. */
export async function listen(run: Run, options: ListenOptions): Promise<undefined> {
  if (options.printSecret) {
    run.printText(`${readListenSecret(run, options)}\n`)
    return
  }
  const listener = new Listener(run, options)
  await listener.run()
}

/** The receiver's secret, else one derived from the owner token, which is the same on each run. */
const readListenSecret = (run: Run, { secretFile }: ListenOptions): string =>
  secretFile === undefined
    ? createHmac('sha256', requireCredential(run.settings, 'ownerToken'))
        .update('referral webhooks listen')
        .digest('hex')
    : readSecretFile(secretFile)

class Listener {
  readonly #run: Run
  readonly #forwardTo: string | undefined
  readonly #secret: string
  readonly #isOwnSecret: boolean
  readonly #query: string
  readonly #stop: ReturnType<Run['handleInterrupt']>
  #remaining: number
  #last: string | undefined
  #subscription: string | undefined

  constructor(run: Run, options: ListenOptions) {
    const { forwardTo, secretFile, events = [], extendedEvents, after, count } = options
    this.#run = run
    if (secretFile !== undefined && forwardTo === undefined) throw usageError('--secret-file requires --forward-to.')
    this.#secret = readListenSecret(run, options)
    this.#isOwnSecret = secretFile === undefined
    this.#forwardTo = forwardTo === undefined ? undefined : parseReceiverUrl(forwardTo)
    this.#query = new URLSearchParams({
      ...(events.length > 0 && { events: events.join(',') }),
      ...(extendedEvents && { extendedEvents: '1' }),
    }).toString()
    this.#last = after
    this.#remaining = count ?? Number.POSITIVE_INFINITY
    if (after !== undefined && !/^[!-~]{1,64}$/.test(after))
      throw usageError('--after must be the id of a delivery (dlv_…) or of the subscription (whs_…).')
    this.#stop = run.handleInterrupt()
  }

  /** Reconnects until it is interrupted or has received enough deliveries. */
  async run(): Promise<void> {
    let delay = INITIAL_RETRY_DELAY_MS
    while (this.#remaining > 0 && !this.#stop.interrupted) {
      try {
        await this.#connect(() => {
          delay = INITIAL_RETRY_DELAY_MS
        })
      } catch (error) {
        // Retrying does not help when the service rejects the request.
        if (error instanceof CliError && error.exitCode !== exitCode.unavailable) throw error
      }
      if (this.#remaining <= 0 || this.#stop.interrupted) break
      this.#run.reporter.info('connection lost; reconnecting')
      await sleep(delay, undefined, { signal: this.#stop.signal }).catch(() => {})
      delay = Math.min(delay * 2, MAX_RETRY_DELAY_MS)
    }
    if (this.#last && this.#remaining > 0)
      this.#run.reporter.info(`to continue from here within one hour: --after ${this.#last}`)
    if (this.#stop.interrupted) throw new CliError(exitCode.interrupted, 'Interrupted.', { code: 'interrupted' })
  }

  async #connect(onOpen: () => void): Promise<void> {
    const silence = new AbortController()
    let timer = setTimeout(() => silence.abort(), HEARTBEAT_TIMEOUT_MS)
    const onBytes = () => {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), HEARTBEAT_TIMEOUT_MS)
    }
    try {
      const response = await this.#request(AbortSignal.any([silence.signal, this.#stop.signal]))
      onOpen()
      for await (const message of readSseMessages(response.body ?? new ReadableStream(), onBytes)) {
        await this.#handleMessage(message)
        if (this.#remaining <= 0) return
      }
    } finally {
      clearTimeout(timer)
      silence.abort()
    }
  }

  async #request(signal: AbortSignal): Promise<Response> {
    const { settings } = this.#run
    const query = this.#query ? `?${this.#query}` : ''
    const headers: Record<string, string> = {
      Accept: 'text/event-stream',
      Authorization: `Bearer ${requireCredential(settings, 'ownerToken')}`,
    }
    if (this.#last) headers['Last-Event-ID'] = this.#last
    const response = await fetch(`${settings.baseUrl}/admin/v1/deliveries/stream${query}`, {
      headers,
      signal,
      redirect: 'manual',
    })
    const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream')
    if (response.ok && isStream) return response
    const { error } = (await response.json().catch(() => ({}))) as { error?: string }
    throw apiError(error ?? `The service returned ${response.status}.`, response)
  }

  async #handleMessage({ event, id, data }: SseMessage): Promise<void> {
    if (event === 'open') {
      await this.#handleOpen(JSON.parse(data))
      this.#last = id ?? this.#last
    }
    if (event !== 'delivery' || id === undefined) return
    await this.#handleDelivery(id, JSON.parse(data))
    // Set after forwarding, so that an interrupted delivery is received again.
    this.#last = id
    this.#remaining -= 1
  }

  async #handleOpen({ subscriptionId }: { subscriptionId: string }): Promise<void> {
    const { reporter } = this.#run
    if (this.#subscription === subscriptionId) {
      reporter.info('reconnected; no event was missed')
      return
    }
    if (this.#subscription !== undefined)
      reporter.warn('The service opened a new subscription: events in between are lost.')
    this.#subscription = subscriptionId
    const secret = this.#isOwnSecret ? this.#secret : null
    const line = secret === null ? 'signed with the secret of the file' : `signing secret: ${secret}`
    await this.#print({ type: 'open', subscriptionId, secret }, line)
  }

  async #handleDelivery(
    id: string,
    { headers: received, body }: { headers: Record<string, string>; body: string },
  ): Promise<void> {
    const event = received['X-Service-Event'] ?? ''
    const bytes = new TextEncoder().encode(body)
    const headers = await this.#sign(bytes, received)
    const response = this.#forwardTo ? await postDelivery(this.#forwardTo, { headers, body: bytes }) : undefined
    const { status = null, ms = null, reason = null } = response ?? {}
    const outcome = response ? `${status ?? 'no response'} in ${ms} ms${reason ? `: ${reason}` : ''}` : body
    const delivery = { type: 'delivery', id, event, status, ms, reason, headers, body }
    await this.#print(delivery, `${event} ${id} ${outcome}`)
  }

  /** Replaces the signature, which is made with a secret of the temporary subscription. */
  async #sign(body: Uint8Array<ArrayBuffer>, received: Record<string, string>): Promise<Record<string, string>> {
    const [id = '', timestamp] = [received['webhook-id'], Number(received['webhook-timestamp'])]
    return { ...received, ...(await signWebhook(body, this.#secret, { id, timestamp })) }
  }

  /** Writes a line immediately, because the command does not end. */
  async #print(data: object, line: string): Promise<void> {
    const { format } = this.#run.style
    this.#run.printText(format === 'json' || format === 'ndjson' ? `${toJson(data)}\n` : `${sanitizeText(line)}\n`)
    await this.#run.flush()
  }
}
