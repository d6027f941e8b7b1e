import { serverBusy } from '../contract/errors.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** How much memory the bodies of open requests may take, and how long a body may take to arrive. */
export interface BodyLimits {
  /** Bodies of up to 64 KiB whose sender is not authenticated yet. */
  unverifiedBytes: number
  /** Larger bodies of such senders, which cannot crowd out small ones. */
  unverifiedLargeBytes: number
  /** Bodies of more than 64 KiB. */
  largeBytes: number
  /** All other bodies; large ones cannot crowd them out. */
  smallBytes: number
  /** The longest pause between two pieces of a body. */
  stallMs: number
  /** The time for a whole body. */
  totalMs: number
}

export const BODY_LIMITS: BodyLimits = {
  unverifiedBytes: 32 * MIB,
  unverifiedLargeBytes: 32 * MIB,
  largeBytes: 32 * MIB,
  smallBytes: 32 * MIB,
  stallMs: 10_000,
  totalMs: 30_000,
}

/** The largest part of a pool that one shop or one client address may use; the rest is left for others. */
const MAX_SHARES = {
  // Anyone can name a shop, so its share is wider than that of the address the bytes come from.
  unverifiedBytes: { shop: 1 / 2, address: 1 / 8 },
  unverifiedLargeBytes: { shop: 1 / 2, address: 1 / 4 },
  largeBytes: { shop: 1 / 4, address: 1 / 4 },
  smallBytes: { shop: 1 / 8, address: 1 / 8 },
} as const
const MAX_SMALL_BYTES = 64 * KIB
/** An open request costs more than its bytes, so that many tiny bodies are bounded too. */
const MIN_UNVERIFIED_BYTES = 16 * KIB

type PoolName = keyof typeof MAX_SHARES
type OwnerName = `shop ${string}` | `address ${string}`

/** Whom the memory of a body is counted for: the shop, the address of a caller without a credential, or both. */
export interface BodyOwner {
  names: OwnerName[]
  isVerified: boolean
}

export const shopOwner = ({ id }: { id: string }): BodyOwner => ({ names: [`shop ${id}`], isVerified: true })

export const addressOwner = (address: string): BodyOwner => ({ names: [`address ${address}`], isVerified: false })

/** A store, whose signature can only be verified over the whole body. */
export const storeOwner = ({ id }: { id: string }, address: string): BodyOwner => ({
  names: [`shop ${id}`, `address ${address}`],
  isVerified: false,
})

/** What the bodies of open requests take, by pool and holder. One for each process. */
export class BodyBudget {
  readonly limits: BodyLimits
  readonly #used = new Map<string, number>()

  constructor(limits: BodyLimits = { ...BODY_LIMITS }) {
    this.limits = limits
  }

  /** Bytes in use by pool, and by pool and holder. */
  get used(): Record<string, number> {
    return Object.fromEntries(this.#used)
  }

  /** Opens the account of one request. */
  reserve(holder: BodyOwner): BodyReservation {
    return new BodyReservation(this, holder)
  }

  /** @throws ApiError 503 `server_busy`; nothing is taken then. */
  acquire(pool: PoolName, names: OwnerName[], bytes: number): void {
    const limit = this.limits[pool]
    const shareOf = (name: OwnerName) => limit * MAX_SHARES[pool][name.startsWith('shop ') ? 'shop' : 'address']
    const isFull = (name: string, most: number) => (this.#used.get(name) ?? 0) + bytes > most
    if (isFull(pool, limit) || names.some((name) => isFull(`${pool} ${name}`, shareOf(name)))) throw serverBusy()
    this.#add(pool, names, bytes)
  }

  release(pool: PoolName, names: OwnerName[], bytes: number): void {
    this.#add(pool, names, -bytes)
  }

  #add(pool: PoolName, names: OwnerName[], bytes: number): void {
    for (const name of [pool, ...names.map((one) => `${pool} ${one}`)]) {
      const used = (this.#used.get(name) ?? 0) + bytes
      if (used === 0) this.#used.delete(name)
      else this.#used.set(name, used)
    }
  }
}

/** What the body of one request takes, until the request ends. */
export class BodyReservation {
  readonly #budget: BodyBudget
  readonly #holder: BodyOwner
  #pool: PoolName
  #bytes = 0

  constructor(budget: BodyBudget, holder: BodyOwner) {
    this.#budget = budget
    this.#holder = holder
    this.#pool = holder.isVerified ? 'smallBytes' : 'unverifiedBytes'
  }

  get limits(): BodyLimits {
    return this.#budget.limits
  }

  get #largePool(): PoolName {
    return this.#holder.isVerified ? 'largeBytes' : 'unverifiedLargeBytes'
  }

  /** Raises what the body takes to so many bytes. @throws ApiError 503 `server_busy`. */
  growTo(to: number): void {
    const { names, isVerified } = this.#holder
    const bytes = isVerified ? to : Math.max(to, MIN_UNVERIFIED_BYTES)
    if (bytes <= this.#bytes) return
    if (bytes > MAX_SMALL_BYTES && this.#pool !== this.#largePool) {
      this.release()
      this.#pool = this.#largePool
    }
    this.#budget.acquire(this.#pool, names, bytes - this.#bytes)
    this.#bytes = bytes
  }

  /** Gives everything back. */
  release(): void {
    if (this.#bytes > 0) this.#budget.release(this.#pool, this.#holder.names, this.#bytes)
    this.#bytes = 0
  }
}
