import type { Destination } from '../queries.ts'
import type { Delivery } from './outbox-sync.ts'

export interface Bounds {
  /** Of all shops together. */
  max: number
  perShop: number
  /** How many of them are reserved for shops that have none. */
  reserved: number
}

/** A limit that no shop can use up: each shop has its own limit, and the last places are reserved for shops that have none. */
export class FairLimit {
  readonly #bounds: Bounds
  readonly #byShop = new Map<string, number>()
  #count = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  get count(): number {
    return this.#count
  }

  /** Whether a shop may have one more. */
  hasRoom(shopId: string): boolean {
    const { max, perShop, reserved } = this.#bounds
    const own = this.#byShop.get(shopId) ?? 0
    return own === 0 ? this.#count < max : own < perShop && this.#count < max - reserved
  }

  /** Adds to the count of a shop, or subtracts when negative. Callers check `hasRoom` first. */
  add(shopId: string, count: number): void {
    const own = (this.#byShop.get(shopId) ?? 0) + count
    if (own === 0) this.#byShop.delete(shopId)
    else this.#byShop.set(shopId, own)
    this.#count += count
  }
}

/** The deliveries of one subscription that this process has claimed from the outbox. */
export interface Queue {
  destination: Destination
  /** Its limit is shared by all shops that send to this host. */
  host: string
  waiting: Delivery[]
  inFlight: Set<string>
  /** How many may be in flight: doubled with every complete response, one after any other outcome. */
  width: number
  /** How many deliveries in a row had no complete response. */
  failures: number
  isReady: boolean
}

/** A subscription whose last response was not complete is likely to time out again. */
export const isResponsive = ({ failures }: Pick<Queue, 'failures'>): boolean => failures === 0

/** How many deliveries of a queue this process has claimed. */
export const queueSize = (queue: Queue): number => queue.waiting.length + queue.inFlight.size

/** Removes and returns the next delivery to send. Events of the same change are sent in order, and delay no others. */
export function takeDeliverable(queue: Queue): Delivery | undefined {
  const isUnfinished = (id: string) => queue.inFlight.has(id) || queue.waiting.some((one) => one.id === id)
  const at = queue.waiting.findIndex(({ follows }) => follows === null || !isUnfinished(follows))
  return at < 0 ? undefined : queue.waiting.splice(at, 1)[0]
}

/** The normalized host of a destination; empty for an invalid URL, which is never sent to. */
export const hostOf = ({ url }: Destination): string => URL.parse(url)?.hostname.replace(/\.$/, '') ?? ''

/** How many deliveries a process claims ahead of time, with their payloads. */
const MAX_CLAIMED = 2048
const MAX_CLAIMED_PER_SHOP = 1024
/** How many of them are reserved for shops that have none. */
const RESERVED_CLAIMED = 512

/**
 * How many more deliveries to claim from each subscription: proportional to the width of its queue, at most a fair share of
 * its shop and of its queue, and in batches, because a transaction for a single one is not worth it.
 */
export class ClaimPlan {
  readonly counts = new Map<string, number>()
  readonly #share: number
  #claimed: number

  /**
   * @param claimed how many deliveries of all shops the process has
   * @param shops how many shops share them
   */
  constructor(claimed: number, shops: number) {
    this.#claimed = claimed
    this.#share = Math.min(MAX_CLAIMED_PER_SHOP, Math.max(1, Math.floor(MAX_CLAIMED / Math.max(1, shops))))
  }

  /** Plans for the subscriptions of one shop, with at most `maxUnresponsive` deliveries to unresponsive ones. */
  addShop(
    queues: ReadonlyMap<string, Queue>,
    maxUnresponsive: number,
    subscriptionIds: string[],
    start: (id: string) => Pick<Queue, 'width' | 'failures'>,
  ): void {
    let claimed = 0
    let unresponsive = 0
    for (const queue of queues.values()) {
      claimed += queueSize(queue)
      if (!isResponsive(queue)) unresponsive += queueSize(queue)
    }
    const share = Math.max(1, Math.floor(this.#share / Math.max(subscriptionIds.length, queues.size)))
    for (const id of subscriptionIds) {
      const queue = queues.get(id)
      const state = queue ?? start(id)
      const isSlow = !isResponsive(state)
      const most = isSlow ? 1 : Math.min(state.width ** 2, share)
      const own = queue ? queueSize(queue) : 0
      const all = (claimed === 0 ? MAX_CLAIMED : MAX_CLAIMED - RESERVED_CLAIMED) - this.#claimed
      const room = Math.min(most - own, this.#share - claimed, all)
      if (room <= 0 || own > most / 2 || (isSlow && unresponsive >= maxUnresponsive)) continue
      this.counts.set(id, room)
      this.#claimed += room
      claimed += room
      if (isSlow) unresponsive += room
    }
  }
}

/** The queues of one shop. */
interface ShopQueues {
  id: string
  queues: Map<string, Queue>
  /** The queues that may have a delivery to send, in round-robin order. */
  ready: Queue[]
  isReady: boolean
}

/** Deliveries in flight of this process. One shop never gets more than half of them. */
const IN_FLIGHT = { max: 256, perShop: 128, reserved: 64 }
/** The limit for each receiving host, which many shops may share. */
const PER_HOST = { max: 128, perShop: 64, reserved: 32 }
/** The limit for unresponsive subscriptions: each delivery is likely to time out. */
const UNRESPONSIVE = { max: 64, perShop: 8, reserved: 16 }
const INITIAL_WIDTH = 2
const MAX_WIDTH = 16
const MAX_FAILING = 10_000
/** How long a delivery without a complete response keeps its slot at least: doubled each time, up to a second. */
const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 1000

/** Chooses the next delivery: round robin over shops, then over the subscriptions of each, within fair limits. */
export class DeliveryScheduler {
  readonly #shops = new Map<string, ShopQueues>()
  /** The shops that may have a delivery to send, in round-robin order. */
  readonly #ready: ShopQueues[] = []
  readonly #inFlight = new FairLimit(IN_FLIGHT)
  readonly #unresponsive = new FairLimit(UNRESPONSIVE)
  readonly #hosts = new Map<string, FairLimit>()
  /** How many times in a row each subscription failed, the latest last. */
  readonly #failures = new Map<string, number>()
  /** The widths of queues that were removed when empty, for when they are created again. */
  readonly #widths = new Map<string, number>()
  #queued = 0

  /** How many more deliveries to claim from these subscriptions, given by shop. */
  plan(pending: ReadonlyMap<string, string[]>): Map<string, number> {
    const plan = new ClaimPlan(this.#queued, Math.max(pending.size, this.#shops.size))
    for (const [shopId, subscriptionIds] of pending) {
      const queues = this.#shops.get(shopId)?.queues ?? new Map<string, Queue>()
      plan.addShop(queues, UNRESPONSIVE.perShop, subscriptionIds, (id) => this.#initialState(id))
    }
    return plan.counts
  }

  add(destination: Destination, delivery: Delivery): void {
    const shop = this.#shopOf(destination.shopId)
    const queue = this.#queueOf(shop, destination)
    queue.waiting.push(delivery)
    this.#queued++
    this.#markReady(shop, queue)
  }

  /**
   * The next delivery to send, which counts as in flight from now on. Skips at most `maxSkipped` shops, and as many queues
   * of each, that have no room; the next call continues after them.
   */
  next(maxSkipped = Number.POSITIVE_INFINITY): { queue: Queue; delivery: Delivery } | undefined {
    for (let turns = Math.min(maxSkipped, this.#ready.length); turns > 0; turns--) {
      const shop = this.#ready.shift()!
      const next = this.#inFlight.hasRoom(shop.id) ? this.#nextInShop(shop, maxSkipped) : undefined
      shop.isReady = shop.ready.length > 0
      if (shop.isReady) this.#ready.push(shop)
      if (next) return next
    }
    return undefined
  }

  /** How long to wait before `end` after a delivery without a complete response, so that failing fast gains nothing. */
  pauseOf({ failures }: Queue): number {
    return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures)
  }

  /**
   * Finishes a delivery. Without a complete response the queue releases its other deliveries.
   *
   * @returns the ids of the released deliveries
   */
  end(queue: Queue, { id }: Delivery, isComplete: boolean): string[] {
    this.#count(queue, -1)
    queue.inFlight.delete(id)
    this.#queued--
    queue.width = isComplete ? Math.min(MAX_WIDTH, queue.width * 2) : 1
    this.#recordFailures(queue, isComplete ? 0 : queue.failures + 1)
    const dropped = isComplete ? [] : this.#drop(queue)
    const shop = this.#shopOf(queue.destination.shopId)
    this.#markReady(shop, queue)
    this.#removeIfEmpty(shop, queue)
    return dropped
  }

  /** Replaces the destinations, and releases the deliveries of removed ones. Returns the ids of the released deliveries. */
  updateDestinations(destinations: ReadonlyMap<string, Destination>): string[] {
    const dropped: string[] = []
    for (const shop of this.#shops.values()) {
      for (const [id, queue] of shop.queues) {
        const now = destinations.get(id)
        if (now) this.#redirect(queue, now)
        else {
          dropped.push(...this.#drop(queue))
          this.#removeIfEmpty(shop, queue)
        }
      }
    }
    for (const id of this.#widths.keys()) if (!destinations.has(id)) this.#widths.delete(id)
    return dropped
  }

  #shopOf(id: string): ShopQueues {
    let shop = this.#shops.get(id)
    if (!shop) {
      shop = { id, queues: new Map(), ready: [], isReady: false }
      this.#shops.set(id, shop)
    }
    return shop
  }

  #queueOf(shop: ShopQueues, destination: Destination): Queue {
    let queue = shop.queues.get(destination.id)
    if (!queue) {
      const empty = { waiting: [], inFlight: new Set<string>(), isReady: false }
      queue = { destination, host: hostOf(destination), ...empty, ...this.#initialState(destination.id) }
      shop.queues.set(destination.id, queue)
      this.#widths.delete(destination.id)
    }
    return queue
  }

  #initialState(subscriptionId: string): Pick<Queue, 'width' | 'failures'> {
    const failures = this.#failures.get(subscriptionId) ?? 0
    return { width: failures > 0 ? 1 : (this.#widths.get(subscriptionId) ?? INITIAL_WIDTH), failures }
  }

  #markReady(shop: ShopQueues, queue: Queue): void {
    if (queue.isReady || queue.waiting.length === 0 || queue.inFlight.size >= queue.width) return
    queue.isReady = true
    shop.ready.push(queue)
    if (shop.isReady) return
    shop.isReady = true
    this.#ready.push(shop)
  }

  #nextInShop(shop: ShopQueues, maxSkipped: number): { queue: Queue; delivery: Delivery } | undefined {
    for (let turns = Math.min(maxSkipped, shop.ready.length); turns > 0; turns--) {
      const queue = shop.ready.shift()!
      if (!this.#hasRoom(queue)) {
        shop.ready.push(queue)
        continue
      }
      queue.isReady = false
      const delivery = takeDeliverable(queue)
      if (!delivery) continue
      queue.inFlight.add(delivery.id)
      this.#count(queue, 1)
      this.#markReady(shop, queue)
      return { queue, delivery }
    }
    return undefined
  }

  /** Checks the limits of the subscription and its host; the caller has checked that of the shop. */
  #hasRoom(queue: Queue): boolean {
    const { shopId } = queue.destination
    if (!isResponsive(queue) && !this.#unresponsive.hasRoom(shopId)) return false
    return this.#hosts.get(queue.host)?.hasRoom(shopId) ?? true
  }

  /** Adds to the number in flight. */
  #count(queue: Queue, more: number): void {
    const { shopId } = queue.destination
    this.#inFlight.add(shopId, more)
    if (!isResponsive(queue)) this.#unresponsive.add(shopId, more)
    const onHost = this.#hosts.get(queue.host) ?? new FairLimit(PER_HOST)
    onHost.add(shopId, more)
    if (onHost.count === 0) this.#hosts.delete(queue.host)
    else this.#hosts.set(queue.host, onHost)
  }

  #recordFailures(queue: Queue, failures: number): void {
    const { id, shopId } = queue.destination
    this.#failures.delete(id)
    if (failures > 0) this.#failures.set(id, failures)
    // Forgets the oldest.
    if (this.#failures.size > MAX_FAILING) this.#failures.delete(this.#failures.keys().next().value!)
    const isSlow = failures > 0
    if (isSlow === isResponsive(queue))
      this.#unresponsive.add(shopId, isSlow ? queue.inFlight.size : -queue.inFlight.size)
    queue.failures = failures
  }

  #redirect(queue: Queue, now: Destination): void {
    const { url, secret } = queue.destination
    if (now.url === url && now.secret === secret) {
      // The same object, by which its route is cached.
      queue.destination.failingSince = now.failingSince
      queue.destination.clockOffsetMs = now.clockOffsetMs
      return
    }
    this.#count(queue, -queue.inFlight.size)
    queue.destination = now
    queue.host = hostOf(now)
    this.#count(queue, queue.inFlight.size)
  }

  #drop(queue: Queue): string[] {
    this.#queued -= queue.waiting.length
    return queue.waiting.splice(0).map(({ id }) => id)
  }

  #removeIfEmpty(shop: ShopQueues, queue: Queue): void {
    if (queueSize(queue) > 0) return
    shop.queues.delete(queue.destination.id)
    this.#widths.set(queue.destination.id, queue.width)
    if (shop.queues.size === 0) this.#shops.delete(shop.id)
  }
}
