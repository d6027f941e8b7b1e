import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { Context } from 'hono'
import { ApiError, bodyTimeout, bodyTooLarge, invalidBody } from '../contract/errors.ts'
import type { BodyOwner, BodyReservation } from './body-budget.ts'
import type { Env, Server } from './server.ts'

/** The bytes of a body. `wasLate`: part of it had not arrived when reading began. */
export interface ReceivedBody {
  bytes: Uint8Array
  wasLate: boolean
}

/** The largest body to accept, and who its memory is charged to. */
interface ReadOptions {
  limit: number
  owner: BodyOwner
}

/**
 * Reads the body of a request and reserves its memory until the request ends.
 *
 * @throws ApiError 400 `body_too_large`, `body_timeout`, or `invalid_body` for a body that ends early; 503 `server_busy`.
 */
export async function readBody(
  { bodyBudget }: Pick<Server, 'bodyBudget'>,
  c: Context<Env>,
  { limit, owner }: ReadOptions,
): Promise<ReceivedBody> {
  const reservation = bodyBudget.reserve(owner)
  c.get('request').bodyReservation = reservation
  const request = c.req.raw
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  if (declared > limit) throw bodyTooLarge(limit)
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  try {
    if (incoming?.complete) return { bytes: await readBuffered(request, limit, reservation), wasLate: false }
    const buffer = new BodyBuffer(declared, limit, reservation)
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
  #buffer = Buffer.alloc(0)
  #size = 0

  constructor(declared: number, limit: number, reservation: BodyReservation) {
    this.#declared = declared
    this.#limit = limit
    this.reservation = reservation
    reservation.growTo(0)
  }

  /** @throws ApiError 400 `body_too_large`, 503 `server_busy`. */
  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.length
    if (size > this.#limit) throw bodyTooLarge(this.#limit)
    if (size > this.#buffer.length) this.#grow(size)
    this.#buffer.set(chunk, this.#size)
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
