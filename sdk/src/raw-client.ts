import createClient from 'openapi-fetch'
import { type Core, toResult } from './core.ts'
import { ApiError } from './errors.ts'
import { defaultRetryPolicies, operationMetadata } from './generated/operation-metadata.ts'
import type { CallOptions } from './options.ts'
import type { components, paths } from './schema.ts'
import type { PreparedRequest } from './send.ts'
import type { Operation } from './types.ts'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
type PathOperation = { parameters: { query?: unknown; header?: unknown; path?: unknown }; responses: object }

/** The paths that support a method. */
type PathsWith<M extends Method> = { [P in keyof paths]: paths[P][M] extends PathOperation ? P : never }[keyof paths]

/** The operation of a path and a method. */
type OperationAt<P extends keyof paths, M extends Method> = Extract<paths[P][M], PathOperation>

/** An operation with a required parameter. */
type RequiresParams = { parameters: { query: object } | { path: object } | { header: object } }

/** Parameters and body of an operation, named as in openapi.yaml. */
export type RawInit<O extends PathOperation> = CallOptions &
  (O extends RequiresParams
    ? { params: Omit<O['parameters'], 'cookie'> }
    : { params?: Omit<O['parameters'], 'cookie'> }) &
  (O extends { requestBody: { content: { 'application/json': infer Body } } }
    ? { body: Body }
    : O extends { requestBody?: { content: { 'application/json': infer Body } } }
      ? { body?: Body }
      : { body?: undefined })

type Content<R> = R extends { content: infer MediaTypes } ? MediaTypes[keyof MediaTypes] : never

/** The `data` of a successful response, or the `error` body of any other one. */
export type RawResult<O extends PathOperation> =
  | {
      data: Content<O['responses'][Extract<keyof O['responses'], 200 | 201 | 202 | '2XX'>]>
      error?: never
      response: Response
    }
  | { data?: never; error: components['schemas']['ErrorBody']; response: Response }

/** A method of the raw client. */
export type RawMethod<M extends Method> = <P extends PathsWith<M>>(
  path: P,
  ...init: OperationAt<P, M> extends RequiresParams | { requestBody: object }
    ? [RawInit<OperationAt<P, M>>]
    : [RawInit<OperationAt<P, M>>?]
) => Promise<RawResult<OperationAt<P, M>>>

/**
 * Calls any operation of openapi.yaml by method and path, with the same retries and timeouts as the resources. Returns
 * error responses of the API instead of throwing them.
 *
 * @throws {ReferralError} when no usable response of the API was received.
 *
 * @example
 * const { data, error } = await client.GET('/api/v1/programs', { params: { query: { limit: 1 } } })
 */
export interface RawClient {
  GET: RawMethod<'get'>
  POST: RawMethod<'post'>
  PUT: RawMethod<'put'>
  PATCH: RawMethod<'patch'>
  DELETE: RawMethod<'delete'>
}

type UntypedInit = CallOptions & { params?: { query?: object; header?: object; path?: object }; body?: unknown }

/** openapi-fetch without its types, which depend on literal paths. */
type UntypedClient = {
  request(method: string, path: string, init: object): Promise<{ data?: unknown; error?: unknown }>
}

/** Creates the raw methods. The only file that imports openapi-fetch. */
export const createRawClient = (core: Core): RawClient => {
  const { url: baseUrl } = core.prepare(['', '', 'never'], {})
  const client = createClient<paths>({ baseUrl }) as unknown as UntypedClient
  return Object.fromEntries(
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, rawMethod(core, client, method)]),
  ) as unknown as RawClient
}

const rawMethod =
  (core: Core, client: UntypedClient, method: string) =>
  (path: string, { params, body, headers, ...options }: UntypedInit = {}): Promise<unknown> => {
    const isCalled: (operation: Operation) => boolean = ([verb, at]) => verb === method && at === path
    const operation: Operation = operationMetadata.find(isCalled) ?? [
      method,
      path,
      defaultRetryPolicies[method] ?? 'never',
    ]

    const prepare = async (outgoing: Request): Promise<PreparedRequest> => ({
      ...core.prepare(operation, { options: { ...options, headers: Object.fromEntries(outgoing.headers) } }),
      url: outgoing.url,
      body: (await outgoing.text()) || undefined,
    })

    const run = async (earlier?: PreparedRequest): Promise<unknown> => {
      let response: Response | undefined
      // openapi-fetch parses a copy of the body that was read; the caller gets the original response.
      const fetch = async (outgoing: Request) => {
        const request = earlier ?? (await prepare(outgoing))
        const sent = await core.send(request)
        const { received, error } = toResult(request, sent, () => run({ ...request, mayBeApplied: true }))
        if (error && !(error instanceof ApiError)) throw error
        response = error ? error.response : received.response
        const text = error ? JSON.stringify({ error: error.message }) : received.text
        return new Response(text || null, { status: response.status })
      }
      const init = { params, body, headers, fetch, parseAs: operation[3] ?? 'json' }
      return { ...(await client.request(method, path, init)), response }
    }
    return run()
  }
