import { setTimeout as sleep } from 'node:timers/promises'
import { requireCredential } from '../client.ts'
import { CliError, exitCode, usageError } from '../exit.ts'
import { sanitizeText, toJson } from '../output/text.ts'
import type { Run } from '../run.ts'
import { apiError } from '../unwrap.ts'
import { parseReceiverUrl, postDelivery } from './post.ts'
import { readSseMessages, type SseMessage } from './sse.ts'

export interface ListenOptions {
  forwardTo?: string
  events?: string[]
  after?: string
  count?: number
}

// The service gives a sign of life every 15 seconds.
const HEARTBEAT_TIMEOUT_MS = 45_000
const MAX_RETRY_DELAY_MS = 5000

/** Events of the shop on this machine: no tunnel, the very bytes and headers, and after a gap what was missed. */
export async function listen(run: Run, options: ListenOptions): Promise<undefined> {
  const listener = new Listener(run, options)
  await listener.run()
}

class Listener {
  readonly #run: Run
  readonly #forwardTo: string | undefined
  readonly #events: string
  readonly #stop: ReturnType<Run['handleInterrupt']>
  #left: number
  #last: string | undefined
  #subscription: string | undefined

  constructor(run: Run, { forwardTo, events = [], after, count }: ListenOptions) {
    this.#run = run
    this.#forwardTo = forwardTo === undefined ? undefined : parseReceiverUrl(forwardTo)
    this.#events = events.join(',')
    this.#last = after
    this.#left = count ?? Number.POSITIVE_INFINITY
    if (after !== undefined && !/^[!-~]{1,64}$/.test(after))
      throw usageError('--after is the id of a delivery, like dlv_…, or of the subscription, like whs_….')
    this.#stop = run.handleInterrupt()
  }

  /** Connects again after every break, until it is told to stop or has seen enough. */
  async run(): Promise<void> {
    let pause = 250
    while (this.#left > 0 && !this.#stop.interrupted) {
      try {
        await this.#connect(() => {
          pause = 250
        })
      } catch (error) {
        // What the service refuses it will refuse again.
        if (error instanceof CliError && error.exitCode !== exitCode.unavailable) throw error
      }
      if (this.#left <= 0 || this.#stop.interrupted) break
      this.#run.reporter.info('the connection broke; connecting again')
      await sleep(pause, undefined, { signal: this.#stop.signal }).catch(() => {})
      pause = Math.min(pause * 2, MAX_RETRY_DELAY_MS)
    }
    if (this.#last && this.#left > 0)
      this.#run.reporter.info(`to go on from here within an hour: --after ${this.#last}`)
    if (this.#stop.interrupted) throw new CliError(exitCode.interrupted, 'Stopped.', { code: 'interrupted' })
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
        await this.#take(message)
        if (this.#left <= 0) return
      }
    } finally {
      clearTimeout(timer)
      silence.abort()
    }
  }

  async #request(signal: AbortSignal): Promise<Response> {
    const { settings } = this.#run
    const query = this.#events ? `?events=${encodeURIComponent(this.#events)}` : ''
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
    throw apiError(error ?? `The service answered ${response.status}.`, response)
  }

  async #take({ event, id, data }: SseMessage): Promise<void> {
    if (event === 'open') {
      await this.#opened(JSON.parse(data))
      this.#last = id ?? this.#last
    }
    if (event !== 'delivery' || id === undefined) return
    await this.#deliver(id, JSON.parse(data))
    // Only now: a delivery that was under way when all ended comes again.
    this.#last = id
    this.#left -= 1
  }

  async #opened({ subscriptionId, secret }: { subscriptionId: string; secret: string }): Promise<void> {
    const { reporter } = this.#run
    if (this.#subscription === subscriptionId) {
      reporter.info('connected again; nothing was missed')
      return
    }
    if (this.#subscription !== undefined)
      reporter.warn(
        'The service began a new subscription: what happened meanwhile is missed, and the secret is a new one.',
      )
    this.#subscription = subscriptionId
    await this.#print({ type: 'open', subscriptionId, secret }, `signing secret: ${secret}`)
  }

  async #deliver(id: string, { headers, body }: { headers: Record<string, string>; body: string }): Promise<void> {
    const event = headers['X-Service-Event'] ?? ''
    const answer = this.#forwardTo
      ? await postDelivery(this.#forwardTo, { headers, body: new TextEncoder().encode(body) })
      : undefined
    const { status, ms } = answer ?? {}
    const came = answer ? `${status ?? 'no answer'} in ${ms} ms` : body
    const delivery = { type: 'delivery', id, event, status: status ?? null, ms: ms ?? null, headers, body }
    await this.#print(delivery, `${event} ${id} ${came}`)
  }

  /** One line at once: this output has no end. */
  async #print(data: object, line: string): Promise<void> {
    const { format } = this.#run.style
    this.#run.printText(format === 'json' || format === 'ndjson' ? `${toJson(data)}\n` : `${sanitizeText(line)}\n`)
    await this.#run.flush()
  }
}
