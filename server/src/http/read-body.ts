import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { Context } from 'hono'
import { ApiError, bodyTimeout, bodyTooLarge, invalidBody } from '../contract/errors.ts'
import type { Env } from './authorize.ts'
import type { BodyAccount, Holder } from './body-budget.ts'
import type { Server } from './server.ts'

/** The bytes of a body. `wasLate`: some of them had not arrived when reading began. */
export interface ReceivedBody {
  bytes: Uint8Array
  wasLate: boolean
}

/** The largest body to accept, and whom its memory is counted for. */
interface Expected {
  limit: number
  holder: Holder
}

/**
 * Reads the body of a request, and counts what it takes until the request ends.
 *
 * @throws ApiError 400 `body_too_large`, `body_timeout`, or `invalid_body` for a body that ends early; 503 `server_busy`.
 */
export async function readBody(
  { bodies }: Pick<Server, 'bodies'>,
  c: Context<Env>,
  { limit, holder }: Expected,
): Promise<ReceivedBody> {
  const account = bodies.open(holder)
  c.get('visit').body = account
  const request = c.req.raw
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  if (declared > limit) throw bodyTooLarge(limit)
  const { incoming } = (c.env ?? {}) as { incoming?: IncomingMessage }
  try {
    if (incoming?.complete) return { bytes: await readWhole(request, limit, account), wasLate: false }
    const gathered = new Gathered(declared, limit, account)
    if (incoming) return { bytes: await collect(incoming, gathered), wasLate: true }
    return { bytes: await collectWeb(request.body, gathered), wasLate: false }
  } catch (error) {
    throw error instanceof ApiError ? error : invalidBody('The request body ended unexpectedly.')
  }
}

/** Reads a body that has arrived in the buffers of its connection, which are small. */
async function readWhole(request: Request, limit: number, account: BodyAccount): Promise<Uint8Array> {
  const bytes = new Uint8Array(await request.arrayBuffer())
  if (bytes.length > limit) throw bodyTooLarge(limit)
  account.raise(bytes.length)
  return bytes
}

/** Reads to the end, as long as the pieces keep arriving. */
function collect(source: Readable, gathered: Gathered): Promise<Uint8Array> {
  const { stallMs, totalMs } = gathered.account.limits
  return new Promise((resolve, reject) => {
    const stop = (settle: () => void) => {
      clearTimeout(stall)
      clearTimeout(total)
      source.off('data', onData).off('end', onEnd).off('close', onClose)
      source.pause()
      settle()
    }
    const fail = (error: Error) => stop(() => reject(error))
    const onEnd = () => stop(() => resolve(gathered.bytes))
    const onData = (chunk: Uint8Array) => {
      stall.refresh()
      try {
        gathered.add(chunk)
      } catch (error) {
        fail(error as Error)
      }
    }
    const onClose = () => fail(source.errored ?? new Error('The connection was closed'))
    const giveUp = () => {
      const { size } = gathered
      // After a pause of the process itself, pieces may be waiting that have not been read yet.
      setImmediate(() => (gathered.size === size ? fail(bodyTimeout()) : stall.refresh()))
    }
    const stall = setTimeout(giveUp, stallMs)
    const total = setTimeout(() => fail(bodyTimeout()), totalMs)
    source.on('data', onData).on('end', onEnd).on('close', onClose)
    // It stays: an error after an early end must not be uncaught.
    source.on('error', fail)
    if (source.destroyed) onClose()
  })
}

/** The same for a request without a socket, as in tests. */
async function collectWeb(source: ReadableStream<Uint8Array> | null, gathered: Gathered): Promise<Uint8Array> {
  if (!source) return gathered.bytes
  const { stallMs, totalMs } = gathered.account.limits
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
      if (done) return gathered.bytes
      stall.refresh()
      gathered.add(value)
    }
  } finally {
    clearTimeout(stall)
    clearTimeout(total)
  }
}

const FIRST = 16 * 1024

/** Copies pieces into one buffer, so that a body of many tiny ones takes no more memory than its bytes. */
class Gathered {
  readonly account: BodyAccount
  readonly #declared: number
  readonly #limit: number
  #buffer = Buffer.alloc(0)
  #size = 0

  constructor(declared: number, limit: number, account: BodyAccount) {
    this.#declared = declared
    this.#limit = limit
    this.account = account
    account.raise(0)
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
    const length = Math.max(least, Math.min(most, Math.max(FIRST, this.#buffer.length * 2)))
    this.account.raise(length)
    const buffer = Buffer.allocUnsafeSlow(length)
    buffer.set(this.bytes)
    this.#buffer = buffer
  }
}
