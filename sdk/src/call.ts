import { type CallInput, type Core, dataOf, type WithResponse } from './core.ts'
import { type ApiError, type ErrorCode, type ErrorDetails, ReferralError, toApiError } from './errors.ts'
import type { ActionReply } from './models.ts'

/** The result of `safe()`. Check `error` first. */
export type SafeResult<T> = (WithResponse<T> & { error?: never }) | { error: ReferralError; data?: never }

/** A promise of the data that also gives access to the response. A list sends its request when it is first
 * awaited; every other call sends it immediately, awaited or not. */
export interface Call<T> extends Promise<T> {
  /**
   * Resolves to the data together with status, headers, request ID and rate limit.
   *
   * @throws {ReferralError} as the call itself.
   *
   * @example
   * const { data, requestId, attempts } = await client.programs.list().withResponse()
   */
  withResponse(): Promise<WithResponse<T>>
  /**
   * Resolves to `{ data }` or `{ error }` instead of rejecting with a ReferralError.
   *
   * @throws {TypeError} when an option of the call is malformed.
   *
   * @example
   * const { data, error } = await client.affiliates.get('aff_unknown').safe()
   * if (error) console.log(error.code)
   */
  safe(): Promise<SafeResult<T>>
  /**
   * Resolves to the response with its body unread, so that a large export need not fit into memory. Call it at once, instead
   * of `await`. From then on, `signal` aborts the body, and no timeout does.
   *
   * @throws {ReferralError} as the call itself.
   *
   * @example
   * const { body } = await client.commissions.list({ limit: 100 }).asResponse()
   */
  asResponse(): Promise<Response>
}

/** Starts a call. */
export const startCall = <Reply, Data, const Query = undefined, Body = undefined>(
  core: Core,
  input: CallInput<Query, Body, Reply, Data>,
): Call<Data> => {
  const call = new LazyCall((isStreamed) => core.run({ ...input, isStreamed }))
  // After the current expression, in which `asResponse()` may be called.
  queueMicrotask(() => call.withResponse())
  return call
}

/**
 * Starts an update. After a 409 and a lost response, the lost attempt applied it when every field has the value that was
 * sent. An update without fields reads the current state.
 */
export const startUpdate = <Body extends object, Reply, Data extends object, Query = undefined>(
  core: Core,
  input: CallInput<Query, Partial<Body>, Reply, Data>,
): Call<Data> => {
  const recover = async ({ status }: ApiError) => {
    if (status !== 409) return undefined
    const data = await dataOf(core.run({ ...input, body: {} }))
    const isApplied = Object.entries(input.body ?? {}).every(
      ([name, value]) => normalize(Reflect.get(data, name)) === normalize(value),
    )
    return isApplied ? data : undefined
  }
  return startCall(core, { ...input, recover })
}

const normalize = (value: unknown) => (typeof value === 'string' ? value.trim() : value)

/** The reply to an action that an earlier attempt has applied. */
export const doneEarlier = (id: string): ActionReply => ({ ok: true, message: 'Done by an earlier attempt.', id })

/** Recovers a removal: a 404, or this code, after a lost response means that the lost attempt removed the resource. */
export const recoverRemoval =
  (id: string, removed?: ErrorCode) =>
  async ({ status, code }: ApiError): Promise<ActionReply | undefined> =>
    status === 404 || (removed && code === removed) ? doneEarlier(id) : undefined

/** Picks the `data` of a reply. */
export const pickData = <T>(reply: { data: T }): T => reply.data

/**
 * Picks the only item of a list that is filtered by ID.
 *
 * @throws {NotFoundError} with this code when the list is empty.
 */
export const pickOne =
  (code: ErrorCode) =>
  <T>({ data: [item] }: { data: T[] }, response: Response, details: ErrorDetails): T => {
    if (item !== undefined) return item
    throw toApiError('Your shop has no item with this id.', { ...details, response, code }, 404)
  }

/** Picks a reply with data and more. */
export const pickReply = <T extends { data: unknown }>(reply: T): T | undefined => (reply.data ? reply : undefined)

/** Picks the reply to an action. */
export const pickAction = (reply: ActionReply): ActionReply | undefined => (reply.ok ? reply : undefined)

/** Starts on first `then()`, `withResponse()` or `safe()`; `startCall` starts it eagerly. */
export class LazyCall<T> implements Call<T> {
  readonly [Symbol.toStringTag] = 'Call'
  #start: (isStreamed?: boolean) => Promise<WithResponse<T>>
  #result: Promise<WithResponse<T>> | undefined

  constructor(start: (isStreamed?: boolean) => Promise<WithResponse<T>>) {
    this.#start = start
  }

  withResponse(): Promise<WithResponse<T>> {
    this.#result ??= this.#start()
    return this.#result
  }

  async asResponse(): Promise<Response> {
    this.#result ??= this.#start(true)
    return (await this.#result).response
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
