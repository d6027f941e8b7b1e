interface Waiting<T> {
  ownerId: string
  shopId: string
  since: number
  item: T
}

/**
 * A queue for one thread that is fair by time: the next item is of the owner that has used the thread least in the last
 * minute, less the time since its last turn. So an owner whose items take long does not delay the others by more than the
 * item that runs, and waits about a minute at most itself when others need the thread all the time. Shops of one owner share
 * its turns in the same way.
 */
export class ReportQueue<T> {
  #waiting: Waiting<T>[] = []
  readonly #owners = new TimeUsed()
  readonly #shops = new TimeUsed()
  readonly #maxPerShop: number

  constructor(maxPerShop: number) {
    this.#maxPerShop = maxPerShop
  }

  /** Returns false, without adding the item, when the queue of the shop is full. */
  add({ shopId, ownerId = shopId }: { shopId: string; ownerId?: string | undefined }, item: T): boolean {
    if (this.#waiting.filter((waiting) => waiting.shopId === shopId).length >= this.#maxPerShop) return false
    this.#waiting.push({ ownerId, shopId, since: performance.now(), item })
    return true
  }

  find(matches: (item: T) => boolean): T | undefined {
    return this.#waiting.find(({ item }) => matches(item))?.item
  }

  /** Removes and returns the next item. */
  take(): T | undefined {
    const first = minBy(this.#waiting, ({ ownerId, since }) => this.#owners.rank(ownerId, since))
    if (!first) return undefined
    const own = this.#waiting.filter(({ ownerId }) => ownerId === first.ownerId)
    const next = minBy(own, ({ shopId, since }) => this.#shops.rank(shopId, since))!
    this.#waiting = this.#waiting.filter((waiting) => waiting !== next)
    return next.item
  }

  /** Records that an item has used the thread for this time, which has just ended. */
  charge({ shopId, ownerId = shopId }: { shopId: string; ownerId?: string | undefined }, ms: number): void {
    this.#owners.add(ownerId, ms)
    this.#shops.add(shopId, ms)
  }

  clear(): T[] {
    const all = this.#waiting.map(({ item }) => item)
    this.#waiting = []
    return all
  }
}

const MINUTE_MS = 60_000
/** After which nothing is left of the time that was used. */
const FORGET_MS = 10 * MINUTE_MS

/** The time that was used lately: it fades exponentially, to a third in a minute. */
class TimeUsed {
  readonly #used = new Map<string, { ms: number; endedAt: number }>()

  /** The lowest is next. */
  rank(id: string, since: number): number {
    const endedAt = this.#used.get(id)?.endedAt ?? since
    return this.#msOf(id) - (performance.now() - Math.max(endedAt, since))
  }

  add(id: string, ms: number): void {
    const total = this.#msOf(id) + ms
    const now = performance.now()
    this.#used.delete(id)
    this.#used.set(id, { ms: total, endedAt: now })
    for (const [oldest, { endedAt }] of this.#used) {
      if (now - endedAt < FORGET_MS) break
      this.#used.delete(oldest)
    }
  }

  #msOf(id: string): number {
    const used = this.#used.get(id)
    return used ? used.ms * Math.exp((used.endedAt - performance.now()) / MINUTE_MS) : 0
  }
}

/** The first of the items with the lowest rank. */
function minBy<T>(items: T[], rankOf: (item: T) => number): T | undefined {
  let lowest = Number.POSITIVE_INFINITY
  let found: T | undefined
  for (const item of items) {
    const rank = rankOf(item)
    if (rank < lowest) [lowest, found] = [rank, item]
  }
  return found
}
