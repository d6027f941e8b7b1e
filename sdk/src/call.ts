import { ReferralError } from './errors.ts'
import type { RateLimit } from './rate-limit.ts'

/** What a call gave, with the answer around it. */
export interface WithResponse<T> {
  data: T
  /** Status and headers. Its body has been read. */
  response: Response
  /** `X-Request-Id`: quote it when you ask for help. */
  requestId: string | undefined
  rateLimit: RateLimit | undefined
  /** The stored answer of an earlier call with the same idempotency key (`Idempotent-Replayed`). */
  idempotentReplayed: boolean
  /** An earlier attempt did it, and its answer was lost; `data` is the state that was found. */
  ownEcho: boolean
  /** How often the request was sent. */
  attempts: number
}

/** The result of `safe()`: look at `error` first. */
export type SafeResult<T> = (WithResponse<T> & { error?: never }) | { error: ReferralError; data?: never }

/** A promise of the data that also knows the answer around it. It is sent at once, whether you await it or not. */
export interface Call<T> extends Promise<T> {
  /** The data together with status, headers, request id and rate limit. */
  withResponse(): Promise<WithResponse<T>>
  /** Never rejects for a failed call: gives `{ data }` or `{ error }`. */
  safe(): Promise<SafeResult<T>>
}

/** Sends when it is first asked for something. */
export class LazyCall<T> implements Call<T> {
  readonly [Symbol.toStringTag] = 'Call'
  #send: () => Promise<WithResponse<T>>
  #sent: Promise<WithResponse<T>> | undefined

  constructor(send: () => Promise<WithResponse<T>>) {
    this.#send = send
  }

  withResponse(): Promise<WithResponse<T>> {
    this.#sent ??= this.#send()
    return this.#sent
  }

  safe(): Promise<SafeResult<T>> {
    return this.withResponse().catch((error: unknown) => {
      if (error instanceof ReferralError) return { error }
      throw error
    })
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise.
  then<A = T, B = never>(
    onData?: ((data: T) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.withResponse()
      .then(({ data }) => data)
      .then(onData, onError)
  }

  catch<B = never>(onError?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, onError)
  }

  finally(onEnd?: (() => void) | null): Promise<T> {
    return this.then().finally(onEnd)
  }
}
