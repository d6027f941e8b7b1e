import type { Destination } from '../repositories/subscriptions.ts'
import type { Delivery } from './exchange.ts'

/** What is under way to one subscription. */
export interface Lane {
  destination: Destination
  waiting: Delivery[]
  inFlight: Set<string>
  /** How many may be in flight: twice as many with every answer, one when there was none. */
  width: number
  pool: Pool
  isReady: boolean
}

/** Lanes that share a bound. Those that do not answer have their own, so that they delay only each other. */
interface Pool {
  ready: Lane[]
  inFlight: number
  held: number
  maxInFlight: number
  maxHeld: number
}

const FIRST_WIDTH = 2
const MAX_WIDTH = 16
const MAX_REMEMBERED = 10_000

// The events of one change arrive in their order; others need not wait for them.
const isUnderWay = (lane: Lane, id: string) => lane.inFlight.has(id) || lane.waiting.some((one) => one.id === id)
const heldBy = (lane: Lane) => lane.waiting.length + lane.inFlight.size

/** Decides what is sent next: in order per subscription, the subscriptions in turn, within the bounds. */
export class Lanes {
  /** Those with something under way. */
  readonly #lanes = new Map<string, Lane>()
  /** How wide lanes were that have just run dry: what is taken next for them goes on from there. */
  readonly #widths = new Map<string, number>()
  /** The subscriptions that did not answer last time. */
  readonly #mute = new Set<string>()
  readonly #answering: Pool = { ready: [], inFlight: 0, held: 0, maxInFlight: 192, maxHeld: 1024 }
  readonly #silent: Pool = { ready: [], inFlight: 0, held: 0, maxInFlight: 64, maxHeld: 64 }

  /**
   * How many more deliveries to take now, of the subscriptions that have some: the more the wider their lane is, never
   * more than a fair share, and in lots, for one alone is not worth it.
   */
  plan(subscriptionIds: string[]): Map<string, number> {
    const plan = new Map<string, number>()
    const planned = new Map<Pool, number>()
    const count = Math.max(subscriptionIds.length, this.#lanes.size)
    for (const id of subscriptionIds) {
      const lane = this.#lanes.get(id)
      const { pool, width } = lane ?? this.#start(id)
      const held = lane ? heldBy(lane) : 0
      const most = Math.min(width ** 2, Math.max(1, Math.floor(pool.maxHeld / count)))
      const room = Math.min(most - held, pool.maxHeld - pool.held - (planned.get(pool) ?? 0))
      if (room <= 0 || held > most / 2) continue
      plan.set(id, room)
      planned.set(pool, (planned.get(pool) ?? 0) + room)
    }
    return plan
  }

  add(destination: Destination, delivery: Delivery): void {
    const lane = this.#lane(destination)
    lane.waiting.push(delivery)
    lane.pool.held++
    this.#offer(lane)
  }

  /** The next delivery to send, which is in flight from now on. */
  next(): { lane: Lane; delivery: Delivery } | undefined {
    return this.#take(this.#answering) ?? this.#take(this.#silent)
  }

  /** A delivery has ended. A lane without an answer drops what waits in it. Answers the ids of what was dropped. */
  end(lane: Lane, { id }: Delivery, wasAnswered: boolean): string[] {
    lane.inFlight.delete(id)
    lane.pool.inFlight--
    lane.pool.held--
    lane.width = wasAnswered ? Math.min(MAX_WIDTH, lane.width * 2) : 1
    if (wasAnswered) this.#mute.delete(lane.destination.id)
    else if (this.#mute.size < MAX_REMEMBERED) this.#mute.add(lane.destination.id)
    const dropped = wasAnswered ? [] : this.#drop(lane)
    this.#move(lane, wasAnswered ? this.#answering : this.#silent)
    this.#offer(lane)
    this.#forget(lane)
    return dropped
  }

  /** Takes over where to send now, and drops what waits for other destinations. Answers the ids of what was dropped. */
  keep(destinations: ReadonlyMap<string, Destination>): string[] {
    const dropped: string[] = []
    for (const [id, lane] of this.#lanes) {
      const now = destinations.get(id)
      if (!now) {
        dropped.push(...this.#drop(lane))
        this.#forget(lane)
      } else if (now.url !== lane.destination.url || now.secret !== lane.destination.secret) lane.destination = now
    }
    for (const id of this.#widths.keys()) if (!destinations.has(id)) this.#widths.delete(id)
    return dropped
  }

  #lane(destination: Destination): Lane {
    let lane = this.#lanes.get(destination.id)
    if (!lane) {
      lane = { destination, waiting: [], inFlight: new Set(), isReady: false, ...this.#start(destination.id) }
      this.#lanes.set(destination.id, lane)
      this.#widths.delete(destination.id)
    }
    return lane
  }

  #start(subscriptionId: string): Pick<Lane, 'width' | 'pool'> {
    const isMute = this.#mute.has(subscriptionId)
    if (isMute) return { width: 1, pool: this.#silent }
    return { width: this.#widths.get(subscriptionId) ?? FIRST_WIDTH, pool: this.#answering }
  }

  #offer(lane: Lane): void {
    if (lane.isReady || lane.waiting.length === 0 || lane.inFlight.size >= lane.width) return
    lane.isReady = true
    lane.pool.ready.push(lane)
  }

  #take(pool: Pool): { lane: Lane; delivery: Delivery } | undefined {
    while (pool.inFlight < pool.maxInFlight) {
      const lane = pool.ready.shift()
      if (!lane) return undefined
      lane.isReady = false
      const at = lane.waiting.findIndex(({ follows }) => follows === null || !isUnderWay(lane, follows))
      const [delivery] = at < 0 ? [] : lane.waiting.splice(at, 1)
      if (!delivery) continue
      lane.inFlight.add(delivery.id)
      pool.inFlight++
      this.#offer(lane)
      return { lane, delivery }
    }
    return undefined
  }

  #drop(lane: Lane): string[] {
    lane.pool.held -= lane.waiting.length
    return lane.waiting.splice(0).map(({ id }) => id)
  }

  #move(lane: Lane, pool: Pool): void {
    if (lane.pool === pool) return
    const from = lane.pool
    if (lane.isReady) from.ready = from.ready.filter((other) => other !== lane)
    lane.isReady = false
    from.inFlight -= lane.inFlight.size
    from.held -= heldBy(lane)
    pool.inFlight += lane.inFlight.size
    pool.held += heldBy(lane)
    lane.pool = pool
  }

  #forget(lane: Lane): void {
    if (heldBy(lane) > 0) return
    this.#lanes.delete(lane.destination.id)
    this.#widths.set(lane.destination.id, lane.width)
  }
}
