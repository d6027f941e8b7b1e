import type { Destination } from '../queries.ts'
import { FairLimit } from './fair-limit.ts'
import type { Delivery } from './outbox-sync.ts'
import { ClaimPlan, hostOf, isResponsive, type Queue, queueSize, takeDeliverable } from './plan.ts'

/** The queues of one shop. */
interface ShopQueues {
  id: string
  queues: Map<string, Queue>
  /** Those that may have something to send, in turn. */
  ready: Queue[]
  isReady: boolean
}

/** Deliveries in flight of this process. One shop alone never gets more than half of them. */
const IN_FLIGHT = { max: 256, perShop: 128, reserved: 64 }
/** The same for each receiving host, which many shops may share. */
const PER_HOST = { max: 128, perShop: 64, reserved: 32 }
/** Those to subscriptions whose last response was not complete: each is likely to take all the time it has. */
const UNRESPONSIVE = { max: 64, perShop: 8, reserved: 16 }
const INITIAL_WIDTH = 2
const MAX_WIDTH = 16
const MAX_FAILING = 10_000
/** How long a delivery without a complete response keeps its place at least: twice as long each time, up to a second. */
const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 1000

/** Decides what is sent next: the shops in turn, then the subscriptions of each, within bounds that no shop can use up. */
export class DeliveryScheduler {
  readonly #shops = new Map<string, ShopQueues>()
  /** The shops that may have something to send, in turn. */
  readonly #ready: ShopQueues[] = []
  readonly #inFlight = new FairLimit(IN_FLIGHT)
  readonly #unresponsive = new FairLimit(UNRESPONSIVE)
  readonly #hosts = new Map<string, FairLimit>()
  /** The subscriptions whose last response was not complete with their failures in a row, the latest last. */
  readonly #failures = new Map<string, number>()
  /** How wide queues were that have just emptied: what is taken next for them goes on from there. */
  readonly #widths = new Map<string, number>()
  #queued = 0

  /** How many more deliveries to take of these subscriptions, given by shop. */
  plan(waiting: ReadonlyMap<string, string[]>): Map<string, number> {
    const plan = new ClaimPlan(this.#queued, Math.max(waiting.size, this.#shops.size))
    for (const [shopId, subscriptionIds] of waiting) {
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
   * The next delivery to send, which is in flight from now on. Passes over at most `maxSkipped` shops, and as many queues of
   * each, that have no room: the next call goes on from there.
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

  /** How long to wait before `end` after a delivery without a complete response: failing fast earns no more turns. */
  pauseOf({ failures }: Queue): number {
    return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures)
  }

  /**
   * A delivery has ended. A queue without a complete response drops what waits in it; returns the ids of what was
   * dropped.
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

  /** Takes over where to send now, and drops what waits for other destinations. Returns the ids of what was dropped. */
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

  /** What the shop may have in all is known already. */
  #hasRoom(queue: Queue): boolean {
    const { shopId } = queue.destination
    if (!isResponsive(queue) && !this.#unresponsive.hasRoom(shopId)) return false
    return this.#hosts.get(queue.host)?.hasRoom(shopId) ?? true
  }

  /** So many more in flight. */
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
    // The oldest goes first.
    if (this.#failures.size > MAX_FAILING) this.#failures.delete(this.#failures.keys().next().value!)
    const isSlow = failures > 0
    if (isSlow === isResponsive(queue))
      this.#unresponsive.add(shopId, isSlow ? queue.inFlight.size : -queue.inFlight.size)
    queue.failures = failures
  }

  #redirect(queue: Queue, now: Destination): void {
    const { url, secret } = queue.destination
    if (now.url === url && now.secret === secret) return
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
