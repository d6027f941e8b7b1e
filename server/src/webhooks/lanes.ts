import type { ClaimedDelivery } from '../repositories/deliveries.ts'

/** What is under way to one subscription. */
interface Lane {
  waiting: ClaimedDelivery[]
  inFlight: number
  /** How many may be in flight: more with every answer, one when there was none. */
  width: number
  pool: Pool
  isReady: boolean
}

/** Lanes that share a bound. Those that do not answer have their own, so that they delay only each other. */
interface Pool {
  ready: Lane[]
  inFlight: number
  claimed: number
  maxInFlight: number
  maxClaimed: number
}

const FIRST_WIDTH = 2
const MAX_WIDTH = 16
/** Claimed ahead of what is in flight, so that a claim is worth its transaction. */
const AHEAD = 4
const MAX_REMEMBERED = 10_000

const claimedBy = (lane: Lane) => lane.waiting.length + lane.inFlight

/** Decides what is sent next: in order per subscription, the subscriptions in turn, within the bounds. */
export class Lanes {
  readonly #lanes = new Map<string, Lane>()
  readonly #answering: Pool = { ready: [], inFlight: 0, claimed: 0, maxInFlight: 192, maxClaimed: 1536 }
  readonly #silent: Pool = { ready: [], inFlight: 0, claimed: 0, maxInFlight: 64, maxClaimed: 64 }
  #unwanted: string[] = []

  /** How many more deliveries to claim now, of the subscriptions that have some; in lots, for one alone is not worth it. */
  plan(subscriptionIds: string[]): Map<string, number> {
    const plan = new Map<string, number>()
    const planned = new Map<Pool, number>()
    for (const id of subscriptionIds) {
      const lane = this.#lanes.get(id)
      const pool = lane?.pool ?? this.#answering
      const held = lane ? claimedBy(lane) : 0
      const most = pool === this.#silent ? 1 : (lane?.width ?? FIRST_WIDTH) * AHEAD
      const room = Math.min(most - held, pool.maxClaimed - pool.claimed - (planned.get(pool) ?? 0))
      if (room <= 0 || held > most / 2) continue
      plan.set(id, room)
      planned.set(pool, (planned.get(pool) ?? 0) + room)
    }
    return plan
  }

  add(deliveries: ClaimedDelivery[]): void {
    for (const delivery of deliveries) {
      const lane = this.#lane(delivery.subscriptionId)
      lane.waiting.push(delivery)
      lane.pool.claimed++
      this.#offer(lane)
    }
  }

  /** The next delivery to send, which is in flight from now on. */
  next(): ClaimedDelivery | undefined {
    return this.#take(this.#answering) ?? this.#take(this.#silent)
  }

  /** A delivery has ended. A lane without an answer gives back what waits in it. */
  end({ subscriptionId }: ClaimedDelivery, wasAnswered: boolean): void {
    const lane = this.#lane(subscriptionId)
    lane.inFlight--
    lane.pool.inFlight--
    lane.pool.claimed--
    if (wasAnswered) {
      lane.width = Math.min(MAX_WIDTH, lane.width * 2)
      this.#move(lane, this.#answering)
    } else {
      lane.width = 1
      this.#giveBack(lane)
      this.#move(lane, this.#silent)
    }
    this.#offer(lane)
    const isWorthKnowing = lane.pool === this.#silent && this.#lanes.size <= MAX_REMEMBERED
    if (claimedBy(lane) === 0 && !isWorthKnowing) this.#lanes.delete(subscriptionId)
  }

  /** The ids of deliveries that were claimed and shall be given back; each is told once. */
  unwanted(): string[] {
    const ids = this.#unwanted
    this.#unwanted = []
    return ids
  }

  get isEmpty(): boolean {
    return this.#answering.claimed + this.#silent.claimed === 0
  }

  #lane(subscriptionId: string): Lane {
    let lane = this.#lanes.get(subscriptionId)
    if (!lane) {
      lane = { waiting: [], inFlight: 0, width: FIRST_WIDTH, pool: this.#answering, isReady: false }
      this.#lanes.set(subscriptionId, lane)
    }
    return lane
  }

  #offer(lane: Lane): void {
    if (lane.isReady || lane.waiting.length === 0 || lane.inFlight >= lane.width) return
    lane.isReady = true
    lane.pool.ready.push(lane)
  }

  #take(pool: Pool): ClaimedDelivery | undefined {
    while (pool.inFlight < pool.maxInFlight) {
      const lane = pool.ready.shift()
      if (!lane) return undefined
      lane.isReady = false
      const delivery = lane.waiting.shift()
      // Given back while it stood in the row.
      if (!delivery) continue
      lane.inFlight++
      pool.inFlight++
      this.#offer(lane)
      return delivery
    }
    return undefined
  }

  #giveBack(lane: Lane): void {
    lane.pool.claimed -= lane.waiting.length
    for (const { id } of lane.waiting.splice(0)) this.#unwanted.push(id)
  }

  #move(lane: Lane, pool: Pool): void {
    if (lane.pool === pool) return
    const { inFlight } = lane
    const held = claimedBy(lane)
    lane.pool.inFlight -= inFlight
    lane.pool.claimed -= held
    pool.inFlight += inFlight
    pool.claimed += held
    if (lane.isReady) lane.pool.ready = lane.pool.ready.filter((other) => other !== lane)
    lane.isReady = false
    lane.pool = pool
  }
}
