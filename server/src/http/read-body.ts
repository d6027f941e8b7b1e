import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import { ApiError, bodyTimeout, bodyTooLarge, invalidBody, serverBusy } from '../contract/errors.ts'

/** The bytes of a body. `wasLate`: part of it had not arrived when reading began. */
export interface ReceivedBody {
  bytes: Uint8Array
  wasLate: boolean
}

/** What a signature is computed from: one hash, or one for each secret. */
export interface BodyHash {
  update: (bytes: Uint8Array) => void
}

/** The largest body to accept, and who its memory is charged to. */
interface ReadOptions {
  limit: number
  owner: BodyOwner
  /** Updated with each chunk as it arrives; hashing several megabytes at once would block other requests. */
  hash?: BodyHash | undefined
}

/**
 * Reads the body of a request. The memory of one that is still arriving is reserved until the request ends.
 *
 * @throws ApiError 400 `body_too_large`, `body_timeout`, or `invalid_body` for a body that ends early; 503 `server_busy`.
 */
export async function readBody(
  { bodyBudget }: { bodyBudget: BodyBudget },
  c: Context,
  options: ReadOptions,
): Promise<ReceivedBody> {
  const request = c.req.raw
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  if (declared > options.limit) throw bodyTooLarge(options.limit)
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  try {
    // It is in the connection's buffers, which are small. Node.js runs promises before it marks such a body as complete.
    if (incoming && (incoming.complete || incoming.readableLength === declared)) {
      const bytes = new Uint8Array(await request.arrayBuffer())
      if (bytes.length > options.limit) throw bodyTooLarge(options.limit)
      options.hash?.update(bytes)
      return { bytes, wasLate: false }
    }
    const reservation = new BodyReservation(bodyBudget, options.owner)
    // Released with the response.
    const state: { bodyReservation?: BodyReservation } = c.get('request')
    state.bodyReservation = reservation
    const buffer = new BodyBuffer(declared, options, reservation)
    // Without a socket, as in tests, only the web stream exists.
    const chunks = incoming?.iterator({ destroyOnReturn: false }) ?? request.body?.values({ preventCancel: true })
    if (chunks) await readChunks(chunks, buffer, bodyBudget.limits)
    return { bytes: buffer.bytes, wasLate: incoming !== undefined }
  } catch (error) {
    throw error instanceof ApiError ? error : invalidBody('The request body ended unexpectedly.')
  }
}

/** Reads to the end, or until a timeout. */
async function readChunks(
  chunks: AsyncIterator<Uint8Array>,
  buffer: BodyBuffer,
  { stallMs, totalMs }: BodyLimits,
): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const stall = setTimeout(() => {
    const { size } = buffer
    // After a pause of the process, received chunks may not have been read yet.
    setImmediate(() => (buffer.size === size ? reject(bodyTimeout()) : stall.refresh()))
  }, stallMs)
  const total = setTimeout(() => reject(bodyTimeout()), totalMs)
  try {
    for (;;) {
      const { done, value } = await Promise.race([chunks.next(), late])
      if (done) return
      stall.refresh()
      buffer.add(value)
    }
  } catch (error) {
    // Not awaited: it ends when the next chunk arrives.
    chunks.return?.().catch(() => {})
    throw error
  } finally {
    clearTimeout(stall)
    clearTimeout(total)
  }
}

const KIB = 1024
const MIB = 1024 * KIB
/** Also the least that is reserved: an open request costs more than its bytes, so many tiny bodies are bounded too. */
const INITIAL_BYTES = 16 * KIB

/** Copies chunks into one buffer, so that many tiny chunks use no more memory than their bytes. */
class BodyBuffer {
  readonly #declared: number
  readonly #options: ReadOptions
  readonly #reservation: BodyReservation
  #buffer = Buffer.alloc(0)
  #size = 0

  constructor(declared: number, options: ReadOptions, reservation: BodyReservation) {
    this.#declared = declared
    this.#options = options
    this.#reservation = reservation
    reservation.growTo(INITIAL_BYTES)
  }

  /** @throws ApiError 400 `body_too_large`, 503 `server_busy`. */
  add(chunk: Uint8Array): void {
    const { limit, hash } = this.#options
    const size = this.#size + chunk.length
    if (size > limit) throw bodyTooLarge(limit)
    if (size > this.#buffer.length) this.#grow(size)
    this.#buffer.set(chunk, this.#size)
    hash?.update(chunk)
    this.#size = size
  }

  get size(): number {
    return this.#size
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size)
  }

  #grow(least: number): void {
    const most = Number.isNaN(this.#declared) ? this.#options.limit : this.#declared
    const length = Math.max(least, Math.min(most, Math.max(INITIAL_BYTES, this.#buffer.length * 2)))
    this.#reservation.growTo(length)
    const buffer = Buffer.allocUnsafeSlow(length)
    buffer.set(this.bytes)
    this.#buffer = buffer
  }
}

/** How much memory arriving bodies may use, and how long they may take. */
interface BodyLimits {
  bytes: number
  /** The longest pause between two chunks of a body. */
  stallMs: number
  /** The time for a whole body. */
  totalMs: number
}

export const BODY_LIMITS: BodyLimits = { bytes: 64 * MIB, stallMs: 10_000, totalMs: 30_000 }

/** The largest share of a shop, or of the address of a caller without a verified credential. */
const SHARE = 1 / 8

/** Who the memory of a body is charged to. A store's signature is verified after its body, so it is charged to the address. */
export type BodyOwner = `shop ${string}` | `address ${string}`

/** The memory of the bodies of open requests, by owner. One per process. */
export class BodyBudget {
  readonly limits: BodyLimits
  readonly #used = new Map<BodyOwner, number>()
  #total = 0

  constructor(limits: BodyLimits = { ...BODY_LIMITS }) {
    this.limits = limits
  }

  /** Bytes in use by owner. */
  get used(): Record<string, number> {
    return Object.fromEntries(this.#used)
  }

  /** @throws ApiError 503 `server_busy` when the budget or the owner's share is exceeded. */
  acquire(owner: BodyOwner, bytes: number): void {
    const { bytes: limit } = this.limits
    const used = (this.#used.get(owner) ?? 0) + bytes
    if (this.#total + bytes > limit || used > limit * SHARE) throw serverBusy()
    this.#total += bytes
    this.#used.set(owner, used)
  }

  release(owner: BodyOwner, bytes: number): void {
    this.#total -= bytes
    const used = (this.#used.get(owner) ?? 0) - bytes
    if (used > 0) this.#used.set(owner, used)
    else this.#used.delete(owner)
  }
}

/** The memory reserved for the body of one request, until the request ends. */
export class BodyReservation {
  readonly #budget: BodyBudget
  readonly #owner: BodyOwner
  #bytes = 0

  constructor(budget: BodyBudget, owner: BodyOwner) {
    this.#budget = budget
    this.#owner = owner
  }

  /** Grows the reservation to a number of bytes. @throws ApiError 503 `server_busy`. */
  growTo(bytes: number): void {
    if (bytes <= this.#bytes) return
    this.#budget.acquire(this.#owner, bytes - this.#bytes)
    this.#bytes = bytes
  }

  /** Releases everything. */
  release(): void {
    this.#budget.release(this.#owner, this.#bytes)
    this.#bytes = 0
  }
}
