import type { Hash, Hmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { Context } from 'hono'
import { ApiError, bodyTimeout, bodyTooLarge, invalidBody, serverBusy } from '../contract/errors.ts'

/** The bytes of a body. `wasLate`: part of it had not arrived when reading began. */
export interface ReceivedBody {
  bytes: Uint8Array
  wasLate: boolean
}

/** The largest body to accept, and who its memory is charged to. */
interface ReadOptions {
  limit: number
  owner: BodyOwner
  /** Updated with each chunk as it arrives; hashing several megabytes at once would block other requests. */
  hash?: Hash | Hmac | undefined
}

/**
 * Reads the body of a request and reserves its memory until the request ends.
 *
 * @throws ApiError 400 `body_too_large`, `body_timeout`, or `invalid_body` for a body that ends early; 503 `server_busy`.
 */
export async function readBody(
  { bodyBudget }: { bodyBudget: BodyBudget },
  c: Context,
  { limit, owner, hash }: ReadOptions,
): Promise<ReceivedBody> {
  const reservation = bodyBudget.reserve(owner)
  // Released with the response.
  const state: { bodyReservation?: BodyReservation } = c.get('request')
  state.bodyReservation = reservation
  const request = c.req.raw
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  if (declared > limit) throw bodyTooLarge(limit)
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  try {
    if (incoming?.complete) {
      const bytes = await readBuffered(request, limit, reservation)
      hash?.update(bytes)
      return { bytes, wasLate: false }
    }
    const buffer = new BodyBuffer(declared, { limit, hash }, reservation)
    if (incoming) return { bytes: await readSocket(incoming, buffer), wasLate: true }
    return { bytes: await readWebStream(request.body, buffer), wasLate: false }
  } catch (error) {
    throw error instanceof ApiError ? error : invalidBody('The request body ended unexpectedly.')
  }
}

/** Reads a body that is already in the connection's buffers, which are small. */
async function readBuffered(request: Request, limit: number, reservation: BodyReservation): Promise<Uint8Array> {
  const bytes = new Uint8Array(await request.arrayBuffer())
  if (bytes.length > limit) throw bodyTooLarge(limit)
  reservation.growTo(bytes.length)
  return bytes
}

/** Reads to the end, or until a timeout. */
function readSocket(source: Readable, buffer: BodyBuffer): Promise<Uint8Array> {
  const { stallMs, totalMs } = buffer.reservation.limits
  return new Promise((resolve, reject) => {
    const stop = (settle: () => void) => {
      clearTimeout(stall)
      clearTimeout(total)
      source.off('data', onData).off('end', onEnd).off('close', onClose)
      source.pause()
      settle()
    }
    const fail = (error: Error) => stop(() => reject(error))
    const onEnd = () => stop(() => resolve(buffer.bytes))
    const onData = (chunk: Uint8Array) => {
      stall.refresh()
      try {
        buffer.add(chunk)
      } catch (error) {
        fail(error as Error)
      }
    }
    const onClose = () => fail(source.errored ?? new Error('The connection was closed'))
    const giveUp = () => {
      const { size } = buffer
      // After a pause of the process, received chunks may not have been read yet.
      setImmediate(() => (buffer.size === size ? fail(bodyTimeout()) : stall.refresh()))
    }
    const stall = setTimeout(giveUp, stallMs)
    const total = setTimeout(() => fail(bodyTimeout()), totalMs)
    source.on('data', onData).on('end', onEnd).on('close', onClose)
    // Never removed: an error after an early end would be uncaught.
    source.on('error', fail)
    if (source.destroyed) onClose()
  })
}

/** Reads a request without a socket, as in tests. */
async function readWebStream(source: ReadableStream<Uint8Array> | null, buffer: BodyBuffer): Promise<Uint8Array> {
  if (!source) return buffer.bytes
  const { stallMs, totalMs } = buffer.reservation.limits
  const reader = source.getReader()
  let isOver = false
  const giveUp = () => {
    isOver = true
    void reader.cancel()
  }
  const stall = setTimeout(giveUp, stallMs)
  const total = setTimeout(giveUp, totalMs)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isOver) throw bodyTimeout()
      if (done) return buffer.bytes
      stall.refresh()
      buffer.add(value)
    }
  } finally {
    clearTimeout(stall)
    clearTimeout(total)
  }
}

const INITIAL_BYTES = 16 * 1024

/** Copies chunks into one buffer, so that many tiny chunks use no more memory than their bytes. */
class BodyBuffer {
  readonly reservation: BodyReservation
  readonly #declared: number
  readonly #limit: number
  readonly #hash: ReadOptions['hash']
  #buffer = Buffer.alloc(0)
  #size = 0

  constructor(declared: number, { limit, hash }: Pick<ReadOptions, 'limit' | 'hash'>, reservation: BodyReservation) {
    this.#declared = declared
    this.#limit = limit
    this.#hash = hash
    this.reservation = reservation
    reservation.growTo(0)
  }

  /** @throws ApiError 400 `body_too_large`, 503 `server_busy`. */
  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.length
    if (size > this.#limit) throw bodyTooLarge(this.#limit)
    if (size > this.#buffer.length) this.#grow(size)
    this.#buffer.set(chunk, this.#size)
    this.#hash?.update(chunk)
    this.#size = size
  }

  get size(): number {
    return this.#size
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size)
  }

  #grow(least: number): void {
    const most = Number.isNaN(this.#declared) ? this.#limit : this.#declared
    const length = Math.max(least, Math.min(most, Math.max(INITIAL_BYTES, this.#buffer.length * 2)))
    this.reservation.growTo(length)
    const buffer = Buffer.allocUnsafeSlow(length)
    buffer.set(this.bytes)
    this.#buffer = buffer
  }
}

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
