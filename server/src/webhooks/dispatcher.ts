import { setTimeout as sleep } from 'node:timers/promises'
import type { Deps } from '../context.ts'
import type { Trx } from '../db/database.ts'
import {
  type ClaimedDelivery,
  type FinishedDelivery,
  releaseClaimsOf,
  updateFinished,
} from '../repositories/deliveries.ts'
import { joinClaimants, leaveClaimants, RENEW_MS } from './claimant.ts'
import { deliver, type Means } from './deliver.ts'
import { exchange, keepClaims } from './exchange.ts'
import { Lanes } from './lanes.ts'
import { type Outcome, wasAnswered } from './outcome.ts'
import { createResolve } from './resolve.ts'
import { createTransport, type TransportOptions } from './transport.ts'

export interface DispatcherOptions
  extends Pick<Deps, 'db' | 'vault' | 'log' | 'now'>,
    Pick<Means, 'config'>,
    Partial<TransportOptions> {
  /** How often claims are renewed and the outbox is looked at without being woken, in milliseconds. */
  renewMs?: number
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
const LOT = 100
const LINGER_MS = 10

/** One for each process; several share an outbox. */
export const createDispatcher = (options: DispatcherOptions): Dispatcher => new OutboxDispatcher(options)

class OutboxDispatcher implements Dispatcher {
  readonly #options: DispatcherOptions
  readonly #means: Means
  readonly #name = joinClaimants()
  readonly #lanes = new Lanes()
  /** The ids of all deliveries that are claimed and not yet recorded as finished or given back. */
  readonly #claims = new Set<string>()
  #state: 'new' | 'running' | 'stopped' = 'new'
  #finished: FinishedDelivery[] = []
  #unwanted: string[] = []
  #isAsked = false
  #turns: Promise<void> | undefined
  #linger: NodeJS.Timeout | undefined
  #renewal: NodeJS.Timeout | undefined

  constructor(options: DispatcherOptions) {
    this.#options = options
    const { config, vault, now, resolve = createResolve(), ...rest } = options
    this.#means = { config, vault, now, transport: createTransport({ ...rest, resolve }) }
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
    const isBusy = () => this.#turns !== undefined || this.#claims.size > 0
    while (this.#state === 'running' && isBusy() && performance.now() < until) await sleep(LINGER_MS)
    await this.stop()
  }

  stop = async (): Promise<void> => {
    if (this.#state === 'stopped') return
    this.#state = 'stopped'
    clearInterval(this.#renewal)
    clearTimeout(this.#linger)
    await this.#means.transport.close()
    await this.#turns
    await this.#attempt('outbox_not_released', async (trx) => {
      await updateFinished(trx, this.#name, this.#finished)
      await releaseClaimsOf(trx, this.#name)
    })
    leaveClaimants(this.#name)
  }

  /** Also the slow poll that finds what nobody woke us for. */
  async #renew(): Promise<void> {
    const claims = { by: this.#name, ids: [...this.#claims], now: this.#options.now() }
    await this.#attempt('claims_not_renewed', (trx) => keepClaims(trx, claims))
    this.wake()
  }

  async #takeTurns(): Promise<void> {
    let after = ''
    while (this.#state === 'running' && (this.#isAsked || after)) {
      if (!after) this.#isAsked = false
      after = await this.#exchange(after)
      this.#send()
    }
    this.#turns = undefined
  }

  /** Results in, deliveries out. Answers after which subscription to look next; empty at the end. */
  async #exchange(after: string): Promise<string> {
    const finished = this.#finished.splice(0)
    const unwanted = this.#unwanted.splice(0).concat(this.#lanes.unwanted())
    clearTimeout(this.#linger)
    this.#linger = undefined
    const bid = { by: this.#name, at: new Date(this.#options.now()).toISOString(), finished, unwanted, after }
    const plan = (ids: string[]) => this.#lanes.plan(ids)
    const got = await this.#attempt('outbox_not_exchanged', (trx) => exchange(trx, { ...bid, plan }))
    if (!got) {
      this.#finished.unshift(...finished)
      this.#unwanted.push(...unwanted)
      return ''
    }
    for (const { id } of finished) this.#claims.delete(id)
    for (const id of unwanted) this.#claims.delete(id)
    for (const { id } of got.claimed) this.#claims.add(id)
    this.#lanes.add(got.claimed)
    return got.after
  }

  #send(): void {
    while (this.#state === 'running') {
      const delivery = this.#lanes.next()
      if (!delivery) return
      void this.#deliver(delivery)
    }
  }

  async #deliver(delivery: ClaimedDelivery): Promise<void> {
    const startedAt = performance.now()
    const outcome = await deliver(this.#means, delivery).catch((error: Error) => this.#reportBug(error))
    if (!outcome || (this.#state === 'stopped' && !wasAnswered(outcome))) return
    this.#note(delivery, outcome, Math.round(performance.now() - startedAt))
    this.#lanes.end(delivery, wasAnswered(outcome))
    this.#send()
    if (this.#finished.length >= LOT || this.#finished.length === this.#claims.size) this.wake()
    else this.#linger ??= setTimeout(this.wake, LINGER_MS)
  }

  #note({ id, shopId, subscriptionId, event }: ClaimedDelivery, outcome: Outcome, durationMs: number): void {
    const status = outcome.code === 'ok' ? 'SENT' : 'FAILED'
    const finishedAt = new Date(this.#options.now()).toISOString()
    this.#finished.push({ id, status, ...outcome, durationMs, finishedAt })
    const facts = { delivery: id, shop: shopId, subscription: subscriptionId, event, ...outcome, ms: durationMs }
    if (status === 'SENT') this.#options.log.debug(facts, 'webhook delivered')
    else this.#options.log.warn(facts, 'webhook not delivered')
  }

  #reportBug(error: Error): Outcome {
    this.#options.log.error({ code: 'delivery_bug', name: error.name, stack: error.stack }, 'bug')
    return { code: 'connect', httpStatus: null }
  }

  async #attempt<T>(code: string, work: (trx: Trx) => Promise<T>): Promise<T | undefined> {
    try {
      return await this.#options.db.transact(work)
    } catch (error) {
      this.#options.log.warn({ code, reason: error instanceof Error ? error.name : 'unknown' }, 'outbox unavailable')
      return undefined
    }
  }
}
