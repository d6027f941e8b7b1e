import { setTimeout as sleep } from 'node:timers/promises'
import { type Deps, nowIso } from '../../core/context.ts'
import type { Transaction } from '../../database/access.ts'
import { type FinishedDelivery, updateFinished } from '../delivery-queries.ts'
import { type Claimant, releaseAllOf } from '../queries.ts'
import { createDeliver, type Deliver, type Means } from './deliver.ts'
import { lazyTransport } from './lazy-transport.ts'
import { claimantAt, joinClaimants, leaveClaimants, RENEW_MS, renew } from './lease.ts'
import { type Bid, type Catch, type Delivery, exchange, PAGE } from './outbox-sync.ts'
import { failed, type Outcome } from './outcome.ts'
import type { Queue } from './plan.ts'
import { createResolve } from './public-url.ts'
import { DeliveryScheduler } from './scheduler.ts'
import type { Transport, TransportOptions } from './transport.ts'

export interface DispatcherOptions
  extends Pick<Deps, 'db' | 'vault' | 'log' | 'now'>,
    Pick<Means, 'config'>,
    Partial<TransportOptions> {
  /** Sends instead of the network. */
  transport?: Transport
  /** How often claims are renewed and the outbox is looked at without being woken, in milliseconds. */
  renewMs?: number
  /** Told of each delivery that ended, by its code. */
  onEnd?: (code: string) => void
}

/** Sends what the outbox holds (section 6.2). */
export interface Dispatcher {
  /** There may be something to send. Returns at once. */
  wake: () => void
  /** Takes over what processes that ended have left, and begins to send. */
  start: () => Promise<void>
  /** Sends what waits, for so many milliseconds at most, then stops. */
  drain: (ms: number) => Promise<void>
  /** Breaks off. What was not answered is sent again by another process, or at the next start. */
  stop: () => Promise<void>
}

/** So many results are written at once, or after so long. */
const LOT = 256
const LINGER_MS = 25
/** How many shops without room a look after a delivery passes over; the look after the next exchange passes over all. */
const PATIENCE = 4
/** When to look again at what another process has the right to send. */
const SHARED_MS = 500

/** One for each process; several share an outbox. */
export const createDispatcher = (options: DispatcherOptions): Dispatcher => new OutboxDispatcher(options)

class OutboxDispatcher implements Dispatcher {
  readonly #options: DispatcherOptions
  readonly #transport: Transport
  readonly #deliverTo: Deliver
  readonly #name = joinClaimants()
  readonly #scheduler = new DeliveryScheduler()
  /** The subscriptions of all deliveries that were taken and are not yet recorded as finished, by delivery. */
  readonly #held = new Map<string, string>()
  #state: 'new' | 'running' | 'stopped' = 'new'
  #finished: FinishedDelivery[] = []
  #isAsked = false
  #turns: Promise<void> | undefined
  #linger: NodeJS.Timeout | undefined
  #recheckTimer: NodeJS.Timeout | undefined
  /** The shop that was served last, and the subscription of each that still waits; the next look begins after it. */
  #after = ''
  #afterOf = new Map<string, string>()
  #renewal: NodeJS.Timeout | undefined

  constructor(options: DispatcherOptions) {
    this.#options = options
    const { config, vault, now, resolve = createResolve(), transport, ...rest } = options
    this.#transport = transport ?? lazyTransport({ ...rest, resolve })
    this.#deliverTo = createDeliver({ config, vault, now, transport: this.#transport })
  }

  wake = (): void => {
    this.#isAsked = true
    if (this.#state === 'running') this.#turns ??= this.#takeTurns()
  }

  start = async (): Promise<void> => {
    this.#state = 'running'
    this.#renewal = setInterval(() => void this.#renew(), this.#options.renewMs ?? RENEW_MS).unref()
    await this.#renew()
  }

  drain = async (ms: number): Promise<void> => {
    const until = performance.now() + ms
    this.wake()
    const isBusy = () => this.#turns !== undefined || this.#held.size > 0
    while (this.#state === 'running' && isBusy() && performance.now() < until) await sleep(LINGER_MS)
    await this.stop()
  }

  stop = async (): Promise<void> => {
    if (this.#state === 'stopped') return
    this.#state = 'stopped'
    clearInterval(this.#renewal)
    clearTimeout(this.#linger)
    clearTimeout(this.#recheckTimer)
    await this.#transport.close()
    await this.#turns
    await this.#attempt('outbox_not_released', async (trx) => {
      await updateFinished(trx, this.#finished)
      await releaseAllOf(trx, this.#name)
    })
    leaveClaimants(this.#name)
  }

  /** Also the slow look at what nobody woke us for. */
  async #renew(): Promise<void> {
    await this.#attempt('claims_not_renewed', (trx) => renew(trx, this.#claimant()))
    this.wake()
  }

  async #takeTurns(): Promise<void> {
    while (this.#state === 'running' && this.#isAsked) {
      this.#isAsked = false
      await this.#sweep()
    }
    this.#turns = undefined
  }

  /** Looks at every shop that something waits for, page by page, once. */
  async #sweep(): Promise<void> {
    const known = new Set<string>()
    while (this.#state === 'running') {
      const seen = await this.#exchange()
      this.#send()
      if (seen.length < PAGE || seen.some((id) => known.has(id))) return
      for (const id of seen) known.add(id)
    }
  }

  /** Results in, deliveries out. Returns the shops that were looked at. */
  async #exchange(): Promise<string[]> {
    const finished = this.#finished.splice(0)
    clearTimeout(this.#linger)
    this.#linger = undefined
    const plan: Bid['plan'] = (waiting) => this.#scheduler.plan(waiting)
    const places = { after: this.#after, afterOf: this.#afterOf }
    const bid = { claimant: this.#claimant(), finished, held: this.#held, ...places, plan }
    const got = await this.#attempt('outbox_not_exchanged', (trx) => exchange(trx, bid))
    if (!got) {
      this.#finished.unshift(...finished)
      return []
    }
    for (const { id } of finished) this.#held.delete(id)
    for (const id of this.#scheduler.keep(got.destinations)) this.#held.delete(id)
    for (const delivery of got.deliveries) {
      this.#held.set(delivery.id, delivery.subscriptionId)
      this.#scheduler.add(got.destinations.get(delivery.subscriptionId)!, delivery)
    }
    if (got.isShared) this.#recheck()
    this.#turn(got)
    return [...got.seen.keys()]
  }

  /** The next look begins after what was taken; after a page of which nothing was wanted, with the next one. */
  #turn({ seen, planned }: Catch): void {
    const shops = [...seen].filter(([, ids]) => ids.some((id) => planned.has(id)))
    this.#after = (seen.size < PAGE ? shops : [...seen]).at(-1)?.[0] ?? ''
    const afterOf = new Map<string, string>()
    for (const [shopId, ids] of seen) {
      const last = ids.findLast((id) => planned.has(id)) ?? this.#afterOf.get(shopId)
      if (last !== undefined) afterOf.set(shopId, last)
    }
    this.#afterOf = afterOf
  }

  #recheck(): void {
    clearTimeout(this.#recheckTimer)
    this.#recheckTimer = setTimeout(this.wake, SHARED_MS).unref()
  }

  #send(patience?: number): void {
    while (this.#state === 'running') {
      const next = this.#scheduler.next(patience)
      if (!next) return
      void this.#deliver(next.queue, next.delivery)
    }
  }

  async #deliver(queue: Queue, delivery: Delivery): Promise<void> {
    const startedAt = performance.now()
    const outcome = await this.#deliverTo(queue.destination, delivery).catch((error: Error) => this.#reportBug(error))
    if (!outcome || (this.#state === 'stopped' && !outcome.isComplete)) return
    const { isComplete, ...ended } = outcome
    this.#note(queue, delivery, { ...ended, durationMs: Math.round(performance.now() - startedAt) })
    if (isComplete) this.#end(queue, delivery, true)
    // No exchange follows the pause, so the look after it is a whole one.
    else setTimeout(() => this.#end(queue, delivery, false), this.#scheduler.pauseOf(queue)).unref()
    if (this.#finished.length >= LOT || this.#finished.length === this.#held.size) this.wake()
    else this.#linger ??= setTimeout(this.wake, LINGER_MS)
  }

  #end(queue: Queue, delivery: Delivery, isComplete: boolean): void {
    for (const id of this.#scheduler.end(queue, delivery, isComplete)) this.#held.delete(id)
    this.#send(isComplete ? PATIENCE : undefined)
  }

  #note(
    { destination }: Queue,
    { id, event }: Delivery,
    ended: Omit<Outcome, 'isComplete'> & { durationMs: number },
  ): void {
    const status = ended.code === 'ok' ? 'SENT' : 'FAILED'
    this.#options.onEnd?.(ended.code)
    this.#finished.push({ id, status, ...ended, finishedAt: nowIso(this.#options) })
    const facts = { delivery: id, shop: destination.shopId, subscription: destination.id, event, ...ended }
    if (status === 'SENT') this.#options.log.debug(facts, 'webhook delivered')
    else this.#options.log.warn(facts, 'webhook not delivered')
  }

  #reportBug(error: Error): Outcome {
    this.#options.log.error({ code: 'delivery_bug', name: error.name, stack: error.stack }, 'bug')
    return failed('connect')
  }

  #claimant(): Claimant {
    return claimantAt(this.#name, this.#options.now())
  }

  async #attempt<T>(code: string, work: (trx: Transaction) => Promise<T>): Promise<T | undefined> {
    try {
      return await this.#options.db.transact(work)
    } catch (error) {
      this.#options.log.warn({ code, reason: error instanceof Error ? error.name : 'unknown' }, 'outbox unavailable')
      return undefined
    }
  }
}
