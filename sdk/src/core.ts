import type { Answer } from './attempt.ts'
import { type Call, LazyCall, type WithResponse } from './call.ts'
import { AbortedError } from './errors.ts'
import { type Parts, toJob } from './job.ts'
import type { ClientOptions } from './options.ts'
import { type RateLimit, readRateLimit } from './rate-limit.ts'
import type { Route } from './route.ts'
import { type Job, type Outcome, send } from './send.ts'
import { settle, unknown } from './settle.ts'
import { ApiError } from './status-errors.ts'
import type { Body, Open, OperationId, Query, Reply } from './types.ts'

/** What a method passes on. */
export interface Input<Id extends OperationId, Data> extends Parts {
  query?: Query<Id> | undefined
  body?: Body<Id> | undefined
  /** Makes the idempotency key, when the caller gives none. */
  key?: ((body: unknown) => Promise<string>) | undefined
  /** The part of the reply that the caller gets. */
  pick: (reply: Open<Reply<Id>>) => Data
  /** Asked when a write is refused after an attempt whose answer was lost: the state, if the refusal is our own echo. */
  echo?: ((refusal: ApiError) => Promise<Data | undefined>) | undefined
}

const check = ({ apiKey, baseUrl, dangerouslyAllowBrowser }: ClientOptions) => {
  // Checked here, because the runtime's own complaint would quote it.
  if (!/^[!-~]+$/.test(apiKey?.trim() ?? '')) throw new TypeError('apiKey is missing, or is no key.')
  if (!/^https?:\/\/[^/]/.test(baseUrl ?? '')) throw new TypeError('baseUrl must start with https:// or http://.')
  if ('window' in globalThis && 'document' in globalThis && !dangerouslyAllowBrowser)
    throw new TypeError('The API key can pay money: use it on a server, or set dangerouslyAllowBrowser in a test.')
}

/** What every resource is made from: one key, one service. */
export class Core {
  /** The window as the last answer described it; undefined before the first. */
  rateLimit: RateLimit | undefined
  readonly #client: ClientOptions

  constructor(client: ClientOptions) {
    check(client)
    this.#client = client
  }

  /** Sends at once. */
  call<Id extends OperationId, Data>(route: Route<Id>, input: Input<Id, Data>): Call<Data> {
    const call = new LazyCall(() => this.request(route, input))
    call.withResponse()
    return call
  }

  /** A described operation; `uncertain` when an earlier call may have done it. */
  async request<Id extends OperationId, Data>(
    route: Route<Id>,
    { key, pick, echo, ...parts }: Input<Id, Data>,
    uncertain = false,
  ): Promise<WithResponse<Data>> {
    const { options, body } = parts
    const idempotencyKey = options?.idempotencyKey ?? (await key?.(body))
    const job = this.job(route, { ...parts, options: { ...options, idempotencyKey } })
    const again = { ...parts, options: { ...options, idempotencyKey: job.headers.get('Idempotency-Key') ?? undefined } }
    const reconcile = async () => (await this.request(route, { pick, echo, ...again }, true)).data
    const outcome = await this.send({ ...job, uncertain })
    const error = settle(job, outcome, { reconcile, isJudged: echo !== undefined })
    const look = error instanceof ApiError && outcome.uncertain ? echo?.(error) : undefined
    const echoed = await look?.catch((cause) => {
      throw cause instanceof AbortedError ? cause : unknown(job, cause, reconcile)
    })
    if (error && echoed === undefined) throw error
    const { response, json } = outcome.answer as Answer
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

  /** A request that is not sent yet. */
  job(route: Route, parts: Parts): Job {
    return toJob(this.#client, route, parts)
  }

  /** Sends a request, as often as it takes. */
  async send(job: Job): Promise<Outcome> {
    const outcome = await send(this.#client, job)
    this.rateLimit = (outcome.answer && readRateLimit(outcome.answer.response)) ?? this.rateLimit
    return outcome
  }
}

/** Connects single resources, so that a bundle holds no others: `affiliates(createCore({ apiKey, baseUrl }))`. */
export const createCore = (options: ClientOptions): Core => new Core(options)
