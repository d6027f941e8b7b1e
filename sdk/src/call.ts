import { ReferralError } from './errors.ts'
import type { RateLimit } from './retry.ts'

/** The data of a call together with its response. */
export interface WithResponse<T> {
  data: T
  /** Status and headers. The body has been read. */
  response: Response
  /** `X-Request-Id`. Include it in support requests. */
  requestId: string | undefined
  rateLimit: RateLimit | undefined
  /** True when the server returned the stored response of an earlier request with the same idempotency key. */
  idempotentReplayed: boolean
  /** True when an earlier attempt applied the write and its response was lost; `data` is then read from the current state. */
  recovered: boolean
  /** The number of times the request was sent. */
  attempts: number
}

/** The result of `safe()`. Check `error` first. */
export type SafeResult<T> = (WithResponse<T> & { error?: never }) | { error: ReferralError; data?: never }

/** A promise of the data that also gives access to the response. A list sends its request when it is first
 * awaited; every other call sends it immediately, awaited or not. */
export interface Call<T> extends Promise<T> {
  /** Resolves to the data together with status, headers, request id and rate limit. */
  withResponse(): Promise<WithResponse<T>>
  /** Resolves to `{ data }` or `{ error }` instead of rejecting with a ReferralError. */
  safe(): Promise<SafeResult<T>>
}

/** Starts on first `then()`, `withResponse()` or `safe()`; `Core.call` starts it eagerly. */
export class LazyCall<T> implements Call<T> {
  readonly [Symbol.toStringTag] = 'Call'
  #start: () => Promise<WithResponse<T>>
  #result: Promise<WithResponse<T>> | undefined

  constructor(start: () => Promise<WithResponse<T>>) {
    this.#start = start
  }

  withResponse(): Promise<WithResponse<T>> {
    this.#result ??= this.#start()
    return this.#result
  }

  safe(): Promise<SafeResult<T>> {
    return this.withResponse().catch((error: unknown) => {
      if (error instanceof ReferralError) return { error }
      throw error
    })
  }

  // biome-ignore lint/suspicious/noThenProperty: it implements Promise.
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
