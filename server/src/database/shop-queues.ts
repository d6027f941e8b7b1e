import { type Job, settle } from './postgres-group.ts'
import { StorageError } from './storage-error.ts'
import { planWaves } from './touches.ts'

/** The jobs of a shop that wait for a transaction. */
interface ShopQueue {
  shopId: string
  jobs: Job[]
  /** How many groups in a row have found the shop locked by another process. */
  misses: number
}

/** Jobs that share a transaction. */
export interface Group {
  queues: ShopQueue[]
  waves: Job[][]
  /** Of several shops, or of one that may share the transaction with others. */
  isShared: boolean
}

/** Which groups may start. */
interface Capacity {
  canShare: boolean
  canBeOwn: boolean
}

const MAX_GROUP = 64
/** Groups that try a locked shop again, which costs them nothing; then it waits for its lock. */
const MAX_MISSES = 2

/**
 * The queues of all shops. Shops whose jobs can all run side by side share a group. A shop has its own group when some
 * of its jobs run alone or in turn, so that others do not wait for them. A shop is in one group at a time. Shops take turns.
 */
export class ShopQueues {
  readonly #queues = new Map<string, ShopQueue>()
  readonly #ready = new Set<ShopQueue>()
  /** Shops that another process has locked. */
  readonly #locked = new Set<ShopQueue>()

  add(shopId: string, job: Job): void {
    const known = this.#queues.get(shopId)
    if (known) return void known.jobs.push(job)
    const queue: ShopQueue = { shopId, jobs: [job], misses: 0 }
    this.#queues.set(shopId, queue)
    this.#ready.add(queue)
  }

  /** The shops that another process has locked, those that were tried longest ago first. */
  lockedShopIds(): string[] {
    return [...this.#locked].map(({ shopId }) => shopId)
  }

  /** Removes the next group of ready shops. */
  take({ canShare, canBeOwn }: Capacity): Group | undefined {
    const shared: Group = { queues: [], waves: [[]], isShared: true }
    const [wave] = shared.waves as [Job[]]
    for (const queue of this.#ready) {
      const group = planGroup(queue)
      if (!group.isShared) {
        if (canBeOwn && wave.length === 0) return this.#start(group)
        continue
      }
      const jobs = group.waves.flat()
      if (!canShare || (wave.length > 0 && wave.length + jobs.length > MAX_GROUP)) continue
      shared.queues.push(queue)
      wave.push(...jobs)
    }
    return wave.length > 0 ? this.#start(shared) : undefined
  }

  /** Removes the next group of a locked shop. */
  takeLocked(shopId: string): Group {
    return this.#start(planGroup(this.#queues.get(shopId)!))
  }

  #start(group: Group): Group {
    const taken = new Set(group.waves.flat())
    for (const queue of group.queues) {
      this.#move(queue)
      queue.jobs = queue.jobs.filter((job) => !taken.has(job))
    }
    return group
  }

  /** Ends a group. Its jobs that are not settled are queued again. */
  end({ queues, waves }: Group, lockedShopIds: string[]): void {
    const left = waves.flat().filter(({ isSettled }) => !isSettled)
    for (const queue of queues) {
      queue.jobs.unshift(...left.filter(({ shopId }) => shopId === queue.shopId))
      queue.misses = lockedShopIds.includes(queue.shopId) ? queue.misses + 1 : 0
      if (queue.jobs.length === 0) this.#delete(queue)
      else this.#move(queue, queue.misses > MAX_MISSES ? this.#locked : this.#ready)
    }
  }

  /** The shops are no longer locked. */
  resume(shopIds: string[]): void {
    for (const shopId of shopIds) this.#move(this.#queues.get(shopId)!, this.#ready)
  }

  /** The shop is still locked; other locked shops are tried first. */
  postpone(shopId: string): void {
    this.#move(this.#queues.get(shopId)!, this.#locked)
  }

  /** Rejects jobs that have waited too long for another process. */
  rejectExpired(timeoutMs: number): void {
    const now = performance.now()
    for (const queue of this.#locked) {
      for (const job of queue.jobs) {
        job.waitsSince ??= now
        if (timeoutMs > 0 && now - job.waitsSince >= timeoutMs) settle(job, () => job.reject(lockTimeout()))
      }
      queue.jobs = queue.jobs.filter(({ isSettled }) => !isSettled)
      if (queue.jobs.length === 0) this.#delete(queue)
    }
  }

  /** Moves a shop to the end of the given shops, or to none while it is in a group. */
  #move(queue: ShopQueue, to?: Set<ShopQueue>): void {
    this.#ready.delete(queue)
    this.#locked.delete(queue)
    to?.add(queue)
  }

  #delete(queue: ShopQueue): void {
    this.#move(queue)
    this.#queues.delete(queue.shopId)
  }
}

function planGroup(queue: ShopQueue): Group {
  const alone = queue.jobs.find(({ isAlone }) => isAlone)
  if (alone) return { queues: [queue], waves: [[alone]], isShared: false }
  const waves = planWaves(queue.jobs.slice(0, MAX_GROUP))
  return { queues: [queue], waves, isShared: waves.length === 1 && waves[0]!.every(({ touches }) => touches) }
}

/** The error of PostgreSQL for a lock that was not released in time. */
const lockTimeout = () =>
  new StorageError('The lock of the shop was not released in time', { code: '55P03', isLost: false })
