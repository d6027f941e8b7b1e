import type { Core } from './core.ts'
import * as operations from './generated/operations.ts'
import type { CallOptions } from './options.ts'
import type { Route } from './route.ts'
import type { components, paths } from './schema.ts'
import type { Job } from './send.ts'
import { settle } from './settle.ts'
import { ApiError } from './status-errors.ts'

type Verb = 'get' | 'post' | 'put' | 'patch' | 'delete'
type Described = { parameters: { query?: unknown; header?: unknown; path?: unknown }; responses: object }

/** The paths that have a method. */
type PathWith<V extends Verb> = { [P in keyof paths]: paths[P][V] extends Described ? P : never }[keyof paths]

/** An operation, by path and method. */
type At<P extends keyof paths, V extends Verb> = Extract<paths[P][V], Described>

/** Something in the parameters is required. */
type NeedsParams = { parameters: { query: object } | { path: object } | { header: object } }

/** Parameters and body of an operation, as openapi.yaml names them. */
export type RawInit<Operation extends Described> = CallOptions &
  (Operation extends NeedsParams
    ? { params: Omit<Operation['parameters'], 'cookie'> }
    : { params?: Omit<Operation['parameters'], 'cookie'> }) &
  (Operation extends { requestBody: { content: { 'application/json': infer Body } } }
    ? { body: Body }
    : { body?: undefined })

type Content<Answer> = Answer extends { content: infer Media } ? Media[keyof Media] : never

/** Either `data`, or the `error` the service sent with another status. */
export type RawResult<Operation extends Described> =
  | {
      data: Content<Operation['responses'][Extract<keyof Operation['responses'], 200 | 201 | 202>]>
      error?: never
      response: Response
    }
  | { data?: never; error: components['schemas']['Error']; response: Response }

/** One method of the raw client. */
export type RawMethod<V extends Verb> = <P extends PathWith<V>>(
  path: P,
  ...init: At<P, V> extends NeedsParams | { requestBody: object } ? [RawInit<At<P, V>>] : [RawInit<At<P, V>>?]
) => Promise<RawResult<At<P, V>>>

/**
 * Every operation as it stands in openapi.yaml, with the same retries and time-outs. What the service refuses is a
 * result; it rejects only when there is no answer of the API.
 */
export interface Raw {
  GET: RawMethod<'get'>
  POST: RawMethod<'post'>
  PUT: RawMethod<'put'>
  PATCH: RawMethod<'patch'>
  DELETE: RawMethod<'delete'>
}

type Given = CallOptions & { params?: { query?: object; header?: object; path?: object }; body?: unknown }

const run = async (core: Core, job: Job): Promise<unknown> => {
  const outcome = await core.send(job)
  const reconcile = () => run(core, { ...job, uncertain: true })
  const error = settle(job, outcome, { reconcile, isJudged: false })
  if (error instanceof ApiError) return { error: { error: error.message }, response: error.response }
  if (error) throw error
  const { answer } = outcome
  return { data: answer?.json ?? answer?.text, response: answer?.response }
}

const requestWith =
  (core: Core, method: string) =>
  (path: string, { params = {}, body, ...options }: Given = {}): Promise<unknown> => {
    const known = Object.values<Route>(operations).find((route) => route[0] === method && route[1] === path)
    const [, , retry, text] = known ?? [method, path, 'never' as const]
    const fill = (_: string, name: string) => encodeURIComponent((params.path as Record<string, string>)[name]!)
    const headers = { ...options.headers, ...params.header }
    const parts = { query: params.query, body, options: { ...options, headers } }
    return run(core, core.job([method, path.replace(/{(\w+)}/g, fill), retry, text], parts))
  }

/** The raw methods of a client. */
export const createRaw = (core: Core): Raw =>
  Object.fromEntries(
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, requestWith(core, method)]),
  ) as unknown as Raw
