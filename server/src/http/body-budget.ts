import { serverBusy } from '../contract/errors.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** How much memory the bodies of open requests may use, and how long a body may take to arrive. */
export interface BodyLimits {
  /** Bodies of up to 64 KiB whose sender is not authenticated yet. */
  unverifiedBytes: number
  /** Larger bodies of unauthenticated senders, kept apart so that they cannot crowd out small ones. */
  unverifiedLargeBytes: number
  /** Bodies of more than 64 KiB. */
  largeBytes: number
  /** All other bodies; large ones cannot crowd them out. */
  smallBytes: number
  /** The longest pause between two chunks of a body. */
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

/** The largest share of a pool that one shop or one client address may use. */
const MAX_SHARES = {
  // An unverified sender can name any shop, so a shop's share is larger than that of one address.
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

/** Who the memory of a body is charged to: the shop, the address of a caller without a credential, or both. */
export interface BodyOwner {
  names: OwnerName[]
  isVerified: boolean
}

export const shopOwner = ({ id }: { id: string }): BodyOwner => ({ names: [`shop ${id}`], isVerified: true })

export const addressOwner = (address: string): BodyOwner => ({ names: [`address ${address}`], isVerified: false })

/** A store, whose signature is verified after the whole body has arrived. */
export const storeOwner = ({ id }: { id: string }, address: string): BodyOwner => ({
  names: [`shop ${id}`, `address ${address}`],
  isVerified: false,
})

/** The memory of the bodies of open requests, by pool and owner. One per process. */
export class BodyBudget {
  readonly limits: BodyLimits
  readonly #used = new Map<string, number>()

  constructor(limits: BodyLimits = { ...BODY_LIMITS }) {
    this.limits = limits
  }

  /** Bytes in use by pool, and by pool and owner. */
  get used(): Record<string, number> {
    return Object.fromEntries(this.#used)
  }

  /** Starts the reservation of one request. */
  reserve(holder: BodyOwner): BodyReservation {
    return new BodyReservation(this, holder)
  }

  /** @throws ApiError 503 `server_busy` when the pool or the owner's share is full. */
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

/** The memory reserved for the body of one request, until the request ends. */
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

  /** Grows the reservation to a number of bytes. @throws ApiError 503 `server_busy`. */
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

  /** Releases everything. */
  release(): void {
    if (this.#bytes > 0) this.#budget.release(this.#pool, this.#holder.names, this.#bytes)
    this.#bytes = 0
  }
}
