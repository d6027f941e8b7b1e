import { setTimeout as sleep } from 'node:timers/promises'
import { type Deps, nowIso } from '../../../core/context.ts'
import { hasEnded, registerLeaseHolder, unregisterLeaseHolder } from '../../../core/lease-holders.ts'
import type { Transaction } from '../../../database/database.ts'
import { listShopsWithAdvancedRetries, makeDuePending } from '../delivery-queries.ts'
import { type LeaseHolder, listLeaseHolders, releaseAllDestinations, renewDestinations } from '../queries.ts'
import { createDeliver, type Deliver, type Dependencies, lazyTransport } from './deliver.ts'
import { type Delivery, SHOPS_PAGE, type SyncRequest, type SyncResult, syncOutbox } from './outbox-sync.ts'
import { failed, type Outcome } from './outcome.ts'
import { createResolve } from './public-url.ts'
import { type EndedAttempt, recordAttempts, type Unreachable } from './retry.ts'
import type { Queue } from './scheduler.ts'
import { DeliveryScheduler } from './scheduler.ts'
import type { Transport, TransportOptions } from './transport.ts'

/** How often a process renews its leases, and how long they last, in milliseconds. */
const RENEW_INTERVAL_MS = 5000
const LEASE_MS = 15_000

export interface DispatcherOptions
  extends Pick<Deps, 'db' | 'vault' | 'log' | 'now'>,
    Pick<Dependencies, 'config'>,
    Partial<TransportOptions> {
  /** Sends instead of the network. */
  transport?: Transport
  /** How often leases are renewed and the outbox is polled, in milliseconds. */
  renewMs?: number
  /** Called with the code of each finished delivery, and its subscription. */
  onEnd?: (code: string, subscriptionId: string) => void
  /** Disables a subscription whose receiver is gone or has failed for too long. */
  disable?: (subscription: Unreachable) => Promise<void>
}

/** Sends the deliveries of the outbox. */
export interface Dispatcher {
  /** Syncs with the outbox soon. Returns immediately. */
  wake: () => void
  /** Takes over the leases of processes that ended, and begins to send. */
  start: () => Promise<void>
  /** Sends pending deliveries for at most `ms` milliseconds, then stops. */
  drain: (ms: number) => Promise<void>
  /** Aborts deliveries in flight; another process repeats them, or this one at its next start. */
  stop: () => Promise<void>
}

/** Results are written when there are this many, or after this interval. */
const BATCH_SIZE = 256
const FLUSH_INTERVAL_MS = 25
/** How many shops without room are skipped after a delivery. After a sync all of them may be skipped. */
const MAX_SKIPPED = 4
/** How often due retries are looked up, and the maximum number of batches each time. */
const DUE_INTERVAL_MS = 1000
const MAX_DUE_BATCHES = 20
/** When to sync again after deliveries were found that another process has leased. */
const RECHECK_INTERVAL_MS = 500
/** How long orders do not cause another sync after one that found only deliveries that other processes have leased. */
const SHARED_PAUSE_MS = 50

/** Each process has one dispatcher; several can share an outbox. */
export const createDispatcher = (options: DispatcherOptions): Dispatcher => new OutboxDispatcher(options)

class OutboxDispatcher implements Dispatcher {
  readonly #options: DispatcherOptions
  readonly #transport: Transport
  readonly #deliverTo: Deliver
  readonly #name = registerLeaseHolder()
  readonly #scheduler = new DeliveryScheduler()
  /** The subscription of each claimed delivery whose result is not recorded yet, by delivery id. */
  readonly #claimed = new Map<string, string>()
  #state: 'new' | 'running' | 'stopped' = 'new'
  #ended: EndedAttempt[] = []
  #lastDueAt = 0
  #needsSync = false
  /** Whether the current sweep has found deliveries of other processes only. */
  #isAllShared = false
  #syncing: Promise<void> | undefined
  #flushTimer: NodeJS.Timeout | undefined
  #recheckTimer: NodeJS.Timeout | undefined
  /** The shop served last, and the subscription served last of each shop: the next sync begins after them. */
  #afterShop = ''
  #afterSubscription = new Map<string, string>()
  #renewal: NodeJS.Timeout | undefined

  constructor(options: DispatcherOptions) {
    this.#options = options
    const { config, vault, now, resolve = createResolve(), transport, ...rest } = options
    this.#transport = transport ?? lazyTransport({ ...rest, resolve })
    this.#deliverTo = createDeliver({ config, vault, now, transport: this.#transport })
  }

  wake = (): void => {
    this.#needsSync = true
    if (this.#state === 'running') this.#syncing ??= this.#runSyncs()
  }

  start = async (): Promise<void> => {
    this.#state = 'running'
    this.#renewal = setInterval(() => void this.#renew(), this.#options.renewMs ?? RENEW_INTERVAL_MS).unref()
    await this.#renew()
  }

  drain = async (ms: number): Promise<void> => {
    const until = performance.now() + ms
    this.wake()
    const isBusy = () => this.#syncing !== undefined || this.#claimed.size > 0
    while (this.#state === 'running' && isBusy() && performance.now() < until) await sleep(FLUSH_INTERVAL_MS)
    await this.stop()
  }

  stop = async (): Promise<void> => {
    if (this.#state === 'stopped') return
    this.#state = 'stopped'
    clearInterval(this.#renewal)
    clearTimeout(this.#flushTimer)
    clearTimeout(this.#recheckTimer)
    await this.#transport.close()
    await this.#syncing
    await this.#transact('lease_release_failed', async (trx) => {
      await recordAttempts(trx, this.#ended)
      await releaseAllDestinations(trx, this.#name)
    })
    unregisterLeaseHolder(this.#name)
  }

  /** Renews leases, and polls for deliveries of other processes. */
  async #renew(): Promise<void> {
    await this.#transact('lease_renewal_failed', (trx) => renewLeases(trx, this.#leaseHolder()))
    this.wake()
  }

  async #runSyncs(): Promise<void> {
    while (this.#state === 'running' && this.#needsSync) {
      this.#needsSync = false
      this.#isAllShared = true
      await this.#sweep()
      if (this.#isAllShared) await sleep(SHARED_PAUSE_MS)
    }
    this.#syncing = undefined
  }

  /** Visits every shop with pending deliveries once, page by page. */
  async #sweep(): Promise<void> {
    await this.#makeDuePending()
    const done = new Set<string>()
    while (this.#state === 'running') {
      const visited = await this.#sync()
      this.#send()
      if (visited.length < SHOPS_PAGE || visited.some((id) => done.has(id))) return
      for (const id of visited) done.add(id)
    }
  }

  /** Finds the deliveries whose next attempt is due. */
  async #makeDuePending(): Promise<void> {
    const now = this.#options.now()
    if (Math.abs(now - this.#lastDueAt) < DUE_INTERVAL_MS) return
    this.#lastDueAt = now
    for (let batches = 0; batches < MAX_DUE_BATCHES && this.#state === 'running'; batches++) {
      const made = await this.#transact('retry_failed', (trx) => makeDuePending(trx, nowIso(this.#options)))
      if (!made) break
    }
    const list = (trx: Transaction) => listShopsWithAdvancedRetries(trx, now, MAX_DUE_BATCHES)
    for (const { id, clockOffsetMs } of (await this.#transact('retry_failed', list)) ?? []) {
      if (this.#state !== 'running') return
      const shopNow = new Date(now + clockOffsetMs).toISOString()
      await this.#transact('retry_failed', (trx) => makeDuePending(trx, shopNow, id))
    }
  }

  /** Records results and claims deliveries. Returns the shops that were visited. */
  async #sync(): Promise<string[]> {
    const ended = this.#ended.splice(0)
    clearTimeout(this.#flushTimer)
    this.#flushTimer = undefined
    const plan: SyncRequest['plan'] = (pending) => this.#scheduler.plan(pending)
    const request: SyncRequest = {
      leaseHolder: this.#leaseHolder(),
      ended,
      claimed: this.#claimed,
      afterShop: this.#afterShop,
      afterSubscription: this.#afterSubscription,
      plan,
    }
    const result = await this.#transact('outbox_sync_failed', (trx) => syncOutbox(trx, request))
    if (!result) {
      this.#isAllShared = false
      this.#ended.unshift(...ended)
      return []
    }
    for (const { id } of ended) this.#claimed.delete(id)
    for (const id of this.#scheduler.updateDestinations(result.destinations)) this.#claimed.delete(id)
    for (const delivery of result.deliveries) {
      this.#claimed.set(delivery.id, delivery.subscriptionId)
      this.#scheduler.add(result.destinations.get(delivery.subscriptionId)!, delivery)
    }
    if (result.isShared) this.#recheck()
    if (!result.isShared || result.deliveries.length > 0) this.#isAllShared = false
    for (const one of result.unreachable) void this.#disable(one)
    this.#advance(result)
    return [...result.visited.keys()]
  }

  /** The next sync begins after the deliveries that were claimed, or after the page when nothing of it was claimed. */
  #advance({ visited, planned }: SyncResult): void {
    const shops = [...visited].filter(([, ids]) => ids.some((id) => planned.has(id)))
    this.#afterShop = (visited.size < SHOPS_PAGE ? shops : [...visited]).at(-1)?.[0] ?? ''
    const afterSubscription = new Map<string, string>()
    for (const [shopId, ids] of visited) {
      const last = ids.findLast((id) => planned.has(id)) ?? this.#afterSubscription.get(shopId)
      if (last !== undefined) afterSubscription.set(shopId, last)
    }
    this.#afterSubscription = afterSubscription
  }

  /** Not awaited, because it waits for the shop's lock. When it fails, the next failed attempt repeats it. */
  async #disable(subscription: Unreachable): Promise<void> {
    try {
      await this.#options.disable?.(subscription)
      this.wake()
    } catch (error) {
      const reason = error instanceof Error ? error.name : 'unknown'
      this.#options.log.warn({ code: 'disable_failed', subscription: subscription.id, reason }, 'outbox unavailable')
    }
  }

  #recheck(): void {
    clearTimeout(this.#recheckTimer)
    this.#recheckTimer = setTimeout(this.wake, RECHECK_INTERVAL_MS).unref()
  }

  #send(maxSkipped?: number): void {
    while (this.#state === 'running') {
      const next = this.#scheduler.next(maxSkipped)
      if (!next) return
      void this.#deliver(next.queue, next.delivery)
    }
  }

  async #deliver(queue: Queue, delivery: Delivery): Promise<void> {
    const startedAt = performance.now()
    const outcome = await this.#deliverTo(queue.destination, delivery).catch((error: Error) => this.#logBug(error))
    if (!outcome || (this.#state === 'stopped' && !outcome.isComplete)) return
    const { isComplete, ...ended } = outcome
    this.#recordOutcome(queue, delivery, { ...ended, durationMs: Math.round(performance.now() - startedAt) })
    if (isComplete) this.#end(queue, delivery, true)
    // No sync follows the pause, so nothing is skipped after it.
    else setTimeout(() => this.#end(queue, delivery, false), this.#scheduler.pauseOf(queue)).unref()
    if (this.#ended.length >= BATCH_SIZE || this.#ended.length === this.#claimed.size) this.wake()
    else this.#flushTimer ??= setTimeout(this.wake, FLUSH_INTERVAL_MS)
  }

  #end(queue: Queue, delivery: Delivery, isComplete: boolean): void {
    for (const id of this.#scheduler.end(queue, delivery, isComplete)) this.#claimed.delete(id)
    this.#send(isComplete ? MAX_SKIPPED : undefined)
  }

  #recordOutcome(
    { destination }: Queue,
    { id, event, attempts: before }: Delivery,
    outcome: Omit<Outcome, 'isComplete'> & { durationMs: number },
  ): void {
    const { shopId, id: subscriptionId, failingSince, clockOffsetMs } = destination
    const attempts = before + 1
    this.#options.onEnd?.(outcome.code, subscriptionId)
    const wasFailing = failingSince !== null
    const endedAt = new Date(this.#options.now() + clockOffsetMs).toISOString()
    this.#ended.push({ shopId, id, subscriptionId, ...outcome, attempts, wasFailing, endedAt })
    const facts = { delivery: id, shop: shopId, subscription: subscriptionId, event, attempt: attempts, ...outcome }
    if (outcome.code === 'ok') this.#options.log.debug(facts, 'webhook delivered')
    else this.#options.log.warn(facts, 'webhook not delivered')
  }

  #logBug(error: Error): Outcome {
    this.#options.log.error({ code: 'delivery_bug', name: error.name, stack: error.stack }, 'bug')
    return failed('connect')
  }

  #leaseHolder(): LeaseHolder {
    return leaseHolderAt(this.#name, this.#options.now())
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

/** @param now milliseconds since 1970 */
const leaseHolderAt = (holder: string, now: number): LeaseHolder => ({
  holder,
  now: new Date(now).toISOString(),
  expiredBefore: new Date(now - LEASE_MS).toISOString(),
})

/** Renews the leases of a dispatcher, and releases those of ended processes of this machine. */
async function renewLeases(trx: Transaction, leaseHolder: LeaseHolder): Promise<void> {
  await renewDestinations(trx, leaseHolder)
  for (const name of await listLeaseHolders(trx)) if (hasEnded(name)) await releaseAllDestinations(trx, name)
}
