import createClient from 'openapi-fetch'
import type { Answer } from './attempt.ts'
import type { Core } from './core.ts'
import { unusual, usual } from './generated/unusual.ts'
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
      data: Content<Operation['responses'][Extract<keyof Operation['responses'], 200 | 201 | 202 | '2XX'>]>
      error?: never
      response: Response
    }
  | { data?: never; error: components['schemas']['ErrorBody']; response: Response }

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

/** What openapi-fetch has behind its types. */
type Untyped = {
  request(method: string, path: string, init: object): Promise<{ data?: unknown; error?: unknown }>
}

const requestWith =
  (core: Core, client: Untyped, method: string) =>
  (path: string, { params, body, headers, ...options }: Given = {}): Promise<unknown> => {
    const isIt: (route: Route) => boolean = ([verb, at]) => verb === method && at === path
    const route: Route = unusual.find(isIt) ?? [method, path, usual[method] ?? 'never']

    const toJob = async (request: Request): Promise<Job> => ({
      ...core.job(route, { options: { ...options, headers: Object.fromEntries(request.headers) } }),
      url: request.url,
      body: (await request.text()) || undefined,
    })

    const run = async (earlier?: Job): Promise<unknown> => {
      let response: Response | undefined
      // openapi-fetch reads a copy of what was read already; the caller gets the answer itself.
      const fetch = async (request: Request) => {
        const job = earlier ?? (await toJob(request))
        const outcome = await core.send(job)
        const reconcile = () => run({ ...job, uncertain: true })
        const error = settle(job, outcome, { reconcile, isJudged: false })
        if (error && !(error instanceof ApiError)) throw error
        const { answer } = outcome as { answer: Answer }
        response = answer.response
        const read = error ? JSON.stringify({ error: error.message }) : answer.text
        return new Response(read || null, { status: response.status })
      }
      const init = { params, body, headers, fetch, parseAs: route[3] ?? 'json' }
      return { ...(await client.request(method, path, init)), response }
    }
    return run()
  }

/** The raw methods of a client. The only place that knows openapi-fetch. */
export const createRaw = (core: Core): Raw => {
  const client = createClient<paths>({ baseUrl: core.job(['', '', 'never'], {}).url }) as unknown as Untyped
  return Object.fromEntries(
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, requestWith(core, client, method)]),
  ) as unknown as Raw
}
