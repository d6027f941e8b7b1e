import { setTimeout as sleep } from 'node:timers/promises'
import { type Deps, nowIso } from '../../../core/context.ts'
import { registerLeaseHolder, unregisterLeaseHolder } from '../../../core/lease-holders.ts'
import type { Transaction } from '../../../database/database.ts'
import { claimPending, findWaiting, releaseClaims, releaseEndedClaims } from '../claim-queries.ts'
import { DUE_BATCH_SIZE, listShopsWithAdvancedRetries, makeDuePending } from '../delivery-queries.ts'
import { type Addressed, createDeliver, type Deliver, type Dependencies, lazyTransport } from './deliver.ts'
import { failed, type Outcome } from './outcome.ts'
import { MANY_IN_FLIGHT, maxInFlightOf, planClaims } from './plan-claims.ts'
import { createResolve } from './public-url.ts'
import { type EndedAttempt, recordAttempts, type Unreachable } from './retry.ts'
import type { Transport, TransportOptions } from './transport.ts'

export interface DispatcherOptions
  extends Pick<Deps, 'db' | 'vault' | 'log' | 'now'>,
    Pick<Dependencies, 'config'>,
    Partial<TransportOptions> {
  /** Replaces the network. */
  transport?: Transport
  /** How often the outbox is polled, in milliseconds. */
  pollMs?: number
  /** Called with each finished delivery's code and subscription. */
  onEnd?: (code: string, subscriptionId: string) => void
  /** Disables a subscription whose receiver is gone or has been failing for too long. */
  disable?: (subscription: Unreachable) => Promise<void>
}

/** Sends the outbox's deliveries. */
export interface Dispatcher {
  /** Syncs with the outbox soon. Returns immediately. */
  wake: () => void
  /** Takes over deliveries from this machine's ended processes, and starts sending. */
  start: () => Promise<void>
  /** Sends pending deliveries for at most `ms` milliseconds, then stops. */
  drain: (ms: number) => Promise<void>
  /** Aborts deliveries in flight. Another process repeats them, or this one after a restart. */
  stop: () => Promise<void>
}

const POLL_MS = 5000
/** How long a claim lasts: longer than an attempt, its pause, and recording its result. */
const CLAIM_MS = 15_000
/** How many shops are visited in one transaction. */
const SHOPS_PAGE = 32
/**
 * Results are written when there are this many, three quarters of what one shop can have in flight, or after this
 * interval.
 */
const BATCH_SIZE = 96
const FLUSH_INTERVAL_MS = 25
/**
 * How long a delivery without a complete response stays in flight, so that a restarting receiver does not miss all
 * others.
 */
const PAUSE_MS = 500
/** How long new events do not trigger a claim after a claim that found only deliveries that cannot be sent yet. */
const BLOCKED_PAUSE_MS = 50

/** How many test shops with an advanced clock are visited in one transaction. */
const MAX_ADVANCED = 20

/** The result of syncing a page of shops. */
interface SyncedPage {
  /** The last shop, if there are others. */
  nextShop?: string
  /** Whether nothing was recorded and no pending delivery could be claimed. */
  isBlocked: boolean
}

/** Each process has one dispatcher. Several can share an outbox. */
export const createDispatcher = (options: DispatcherOptions): Dispatcher => new OutboxDispatcher(options)

/** Claims deliveries, sends them, and records the results with the next claim. */
class OutboxDispatcher implements Dispatcher {
  readonly #options: DispatcherOptions & { transport: Transport }
  readonly #deliver: Deliver
  readonly #holder = registerLeaseHolder()
  #state: 'new' | 'running' | 'stopped' = 'new'
  /** Claimed deliveries whose attempt has not ended, by ID. */
  readonly #inFlight = new Map<string, Addressed>()
  /** Results to record. */
  #ended: EndedAttempt[] = []
  #needsSync = false
  #syncing: Promise<void> | undefined
  /** The last shop visited while there was room. The next sync starts after it. */
  #afterShop = ''

  constructor(options: DispatcherOptions) {
    const { resolve = createResolve(), transport = lazyTransport({ ...options, resolve }) } = options
    this.#options = { ...options, transport }
    this.#deliver = createDeliver(this.#options)
  }

  wake = (): void => {
    this.#needsSync = true
    if (this.#state === 'running') this.#syncing ??= this.#runSyncs()
  }

  start = async (): Promise<void> => {
    this.#state = 'running'
    await this.#transact('claim_release_failed', releaseEndedClaims)
    this.wake()
    const poll = setInterval(() => {
      if (this.#state === 'running') this.wake()
      else clearInterval(poll)
    }, this.#options.pollMs ?? POLL_MS).unref()
  }

  drain = async (ms: number): Promise<void> => {
    const until = performance.now() + ms
    this.wake()
    const isBusy = () => this.#syncing !== undefined || this.#inFlight.size + this.#ended.length > 0
    while (this.#state === 'running' && isBusy() && performance.now() < until) await sleep(FLUSH_INTERVAL_MS)
    await this.stop()
  }

  stop = async (): Promise<void> => {
    if (this.#state === 'stopped') return
    this.#state = 'stopped'
    await this.#options.transport.close()
    await this.#syncing
    await this.#transact('claim_release_failed', async (trx) => {
      await recordAttempts(trx, this.#ended)
      await releaseClaims(trx, this.#holder, [...this.#inFlight.values()])
    })
    unregisterLeaseHolder(this.#holder)
  }

  async #runSyncs(): Promise<void> {
    while (this.#state === 'running' && this.#needsSync) {
      this.#needsSync = false
      const startedAfter = this.#afterShop
      this.#afterShop = ''
      let next: string | undefined = startedAfter
      let isBlocked = true
      while (this.#state === 'running' && next !== undefined) {
        const page: SyncedPage = await this.#sync(next)
        isBlocked &&= page.isBlocked
        next = page.nextShop
      }
      if (isBlocked) await sleep(BLOCKED_PAUSE_MS)
      // The shops before the first one are visited as well, unless there is no room again.
      if (startedAfter !== '' && this.#afterShop === '') this.#needsSync = true
    }
    this.#syncing = undefined
  }

  /** Records results, then claims and sends deliveries for a page of shops. */
  async #sync(afterShop: string): Promise<SyncedPage> {
    const ended = this.#ended.splice(0)
    const result = await this.#transact('outbox_sync_failed', async (trx) => {
      const unreachable = await recordAttempts(trx, ended)
      await this.#makeDuePending(trx)
      return { unreachable, ...(await this.#claim(trx, afterShop)) }
    })
    if (!result) {
      this.#ended.unshift(...ended)
      return { isBlocked: true }
    }
    for (const subscription of result.unreachable) void this.#disable(subscription)
    const unrecorded = new Set(this.#ended.map(({ id }) => id))
    for (const delivery of result.claimed) {
      // Its claim has expired because the clock was set forward.
      if (this.#inFlight.has(delivery.id) || unrecorded.has(delivery.id)) continue
      this.#inFlight.set(delivery.id, delivery)
      if (this.#state === 'running') void this.#send(delivery)
    }
    if (result.nextShop !== undefined && this.#inFlight.size >= MANY_IN_FLIGHT) this.#afterShop ||= result.nextShop
    return { ...result, isBlocked: result.isBlocked && ended.length === 0 }
  }

  async #claim(trx: Transaction, afterShop: string): Promise<SyncedPage & { claimed: Addressed[] }> {
    const at = this.#options.now()
    const [now, until] = [new Date(at).toISOString(), new Date(at + CLAIM_MS).toISOString()]
    const { shopIds, destinations } = await findWaiting(trx, { after: afterShop, limit: SHOPS_PAGE, now })
    const inFlight = [...this.#inFlight.values()].map(({ destination }) => destination)
    const claims = [...planClaims(destinations, inFlight)].map(async ([destination, count]) => {
      const { shopId, id: subscriptionId } = destination
      const bounds = { maxInFlight: maxInFlightOf(destination), count }
      const rows = await claimPending(trx, { holder: this.#holder, now, until, shopId, subscriptionId, ...bounds })
      return rows.map((row) => ({ ...row, destination }))
    })
    const claimed = (await Promise.all(claims)).flat()
    claimed.sort((a, b) => a.attempts - b.attempts || (a.id < b.id ? -1 : 1))
    const lastShop = shopIds.length < SHOPS_PAGE ? undefined : shopIds.at(-1)
    return { claimed, isBlocked: shopIds.length > 0 && claimed.length === 0, ...(lastShop && { nextShop: lastShop }) }
  }

  async #makeDuePending(trx: Transaction): Promise<void> {
    const now = this.#options.now()
    const counts = [await makeDuePending(trx, nowIso(this.#options))]
    for (const { id, clockOffsetMs } of await listShopsWithAdvancedRetries(trx, now, MAX_ADVANCED))
      counts.push(await makeDuePending(trx, new Date(now + clockOffsetMs).toISOString(), id))
    if (counts.includes(DUE_BATCH_SIZE)) this.#needsSync = true
  }

  /** Not awaited, because it waits for the shop's lock. If it fails, the next failed attempt repeats it. */
  async #disable(subscription: Unreachable): Promise<void> {
    try {
      await this.#options.disable?.(subscription)
      this.wake()
    } catch (error) {
      const reason = error instanceof Error ? error.name : 'unknown'
      this.#options.log.warn({ code: 'disable_failed', subscription: subscription.id, reason }, 'outbox unavailable')
    }
  }

  async #send(delivery: Addressed): Promise<void> {
    const startedAt = performance.now()
    const outcome = await this.#deliver(delivery).catch((error: Error) => this.#logBug(error))
    if (!outcome) return
    const durationMs = Math.round(performance.now() - startedAt)
    if (!outcome.isComplete) await sleep(PAUSE_MS, undefined, { ref: false })
    if (this.#state === 'stopped') return
    this.#recordOutcome(delivery, { ...outcome, durationMs })
    if (this.#inFlight.size === 0 || this.#ended.length >= BATCH_SIZE) this.wake()
    else if (this.#ended.length === 1) setTimeout(() => this.#ended.length > 0 && this.wake(), FLUSH_INTERVAL_MS)
  }

  #recordOutcome(delivery: Addressed, outcome: Outcome & { durationMs: number }): void {
    const { id, shopId, subscriptionId, event } = delivery
    const { failingSince, maxInFlight, clockOffsetMs } = delivery.destination
    const { isComplete, ...facts } = outcome
    this.#inFlight.delete(id)
    const attempts = delivery.attempts + (outcome.code === 'disabled' ? 0 : 1)
    this.#options.onEnd?.(outcome.code, subscriptionId)
    const endedAt = new Date(this.#options.now() + clockOffsetMs).toISOString()
    this.#ended.push({ shopId, id, subscriptionId, ...outcome, attempts, failingSince, maxInFlight, endedAt })
    const line = { delivery: id, shop: shopId, subscription: subscriptionId, event, attempt: attempts, ...facts }
    if (outcome.code === 'ok') this.#options.log.debug(line, 'webhook delivered')
    else this.#options.log.warn(line, 'webhook not delivered')
  }

  #logBug(error: Error): Outcome {
    this.#options.log.error({ code: 'delivery_bug', name: error.name, stack: error.stack }, 'bug')
    return failed('connect')
  }

  async #transact<T>(code: string, work: (trx: Transaction) => Promise<T>): Promise<T | undefined> {
    try {
      return await this.#options.db.transact(work)
    } catch (error) {
      this.#options.log.warn({ code, reason: error instanceof Error ? error.name : 'unknown' }, 'outbox unavailable')
      return undefined
    }
  }
}
