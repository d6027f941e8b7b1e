import { type Call, LazyCall, type WithResponse } from './call.ts'
import { operations } from './operations.ts'
import type { CallOptions, ClientOptions, WriteOptions } from './options.ts'
import { type RateLimit, readRateLimit } from './rate-limit.ts'
import type { Retry } from './retry.ts'
import { type Job, type Outcome, send } from './send.ts'
import { settle } from './settle.ts'
import { ApiError } from './status-errors.ts'
import type { Body, Open, OperationId, Query, Reply } from './types.ts'

/** What a method passes on. */
export interface Input<Id extends OperationId, Data> {
  query?: Query<Id> | undefined
  body?: Body<Id> | undefined
  options?: WriteOptions | undefined
  /** Makes the idempotency key, when the caller gives none. */
  key?: ((body: unknown) => Promise<string>) | undefined
  /** The part of the reply that the caller gets. */
  pick: (reply: Open<Reply<Id>>) => Data
  /** Asked when a write is refused after an attempt whose answer was lost: the state, if the refusal is our own echo. */
  echo?: ((refusal: ApiError) => Promise<Data | undefined>) | undefined
}

/** What every resource is made from. */
export interface Core {
  /** The window as the last answer described it. */
  readonly rateLimit: RateLimit | undefined
  /** Sends at once. */
  call<Id extends OperationId, Data>(id: Id, input: Input<Id, Data>): Call<Data>
  request<Id extends OperationId, Data>(id: Id, input: Input<Id, Data>): Promise<WithResponse<Data>>
  /** Sends a request that is put together already. */
  send(job: Job): Promise<Outcome>
  /** Completes headers: the client's own, and an idempotency key where the operation takes one. */
  headers(given: Headers, retry: Retry): Headers
  readonly baseUrl: string
}

const search = (query: object = {}) => {
  const given = Object.entries(query).filter(([, value]) => value != null)
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, `${value}`]))}` : ''
}

const inBrowser = () => 'window' in globalThis && 'document' in globalThis

/** Connects resources to a service. Throws a TypeError for options that cannot work. */
export const createCore = (client: ClientOptions): Core => {
  if (!client.apiKey?.trim()) throw new TypeError('apiKey is missing.')
  if (!/^https?:\/\//.test(client.baseUrl)) throw new TypeError('baseUrl must start with https:// or http://.')
  if (inBrowser() && !client.dangerouslyAllowBrowser)
    throw new TypeError('The API key can pay money: use it on a server, or set dangerouslyAllowBrowser in a test.')
  const baseUrl = client.baseUrl.replace(/(\/api\/v1)?\/*$/, '')
  let rateLimit: RateLimit | undefined

  const run = async (job: Job): Promise<Outcome> => {
    const outcome = await send(client, { ...job, options: { ...client, ...defined(job.options) } })
    if (outcome.answer) rateLimit = readRateLimit(outcome.answer.response) ?? rateLimit
    return outcome
  }

  const withDefaults = (headers: Headers, retry: Retry, key?: string) => {
    for (const [name, value] of Object.entries({ Accept: 'application/json', ...client.headers }))
      if (!headers.has(name)) headers.set(name, value)
    if (key || (retry === 'keyed' && !headers.has('Idempotency-Key')))
      headers.set('Idempotency-Key', key ?? crypto.randomUUID())
    return headers
  }

  const request = async <Id extends OperationId, Data>(id: Id, input: Input<Id, Data>, uncertain = false) => {
    const { query, body, options = {}, key, pick, echo } = input
    const [method, path, retry] = operations[id]
    const headers = withDefaults(new Headers(options.headers), retry, options.idempotencyKey ?? (await key?.(body)))
    if (body !== undefined) headers.set('Content-Type', 'application/json')
    const idempotencyKey = headers.get('Idempotency-Key') ?? undefined
    const url = `${baseUrl}${path}${search(query)}`
    const outcome = await run({ method, url, retry, headers, body: JSON.stringify(body), options, uncertain })

    const again = () =>
      request(id, { ...input, options: { ...options, idempotencyKey } }, true).then(({ data }) => data)
    const error = settle(
      outcome,
      { idempotencyKey },
      (retry as string) === 'never' ? undefined : again,
      method === 'GET',
    )
    const echoed = outcome.uncertain && error instanceof ApiError ? await echo?.(error) : undefined
    if (error && echoed === undefined) throw error
    const { response, json } = outcome.answer!
    return {
      data: echoed ?? pick(json as Open<Reply<Id>>),
      response,
      requestId: response.headers.get('X-Request-Id') ?? undefined,
      rateLimit: readRateLimit(response),
      idempotentReplayed: response.headers.get('Idempotent-Replayed') === 'true',
      ownEcho: echoed !== undefined,
      attempts: outcome.attempts,
    }
  }

  return {
    get rateLimit() {
      return rateLimit
    },
    call(id, input) {
      const call = new LazyCall(() => request(id, input))
      call.withResponse()
      return call
    },
    request,
    send: run,
    headers: withDefaults,
    baseUrl,
  }
}

const defined = (options: CallOptions): CallOptions =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
