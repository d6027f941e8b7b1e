import { type Example, examples } from './generated/examples.ts'
import type { OperationId } from './types.ts'

type Resolver = (info: { request: Request }) => Promise<Response>

/** The subset of msw that the SDK uses: `http` of `msw/http` (msw 3) or of `msw` (msw 2). */
export type MswHttp<Handler> = Record<
  'get' | 'post' | 'put' | 'patch' | 'delete',
  (path: string, resolver: Resolver) => Handler
>

/** Options of {@link referralHandlers}. */
export interface HandlerOptions {
  /** The `baseUrl` of the client under test. */
  baseUrl: string
  /** The example to respond with, by operation: `{ createAffiliate: 'email_taken' }`. Defaults to the first success. */
  examples?: Partial<Record<OperationId, string>> | undefined
}

/**
 * Returns one msw handler for each operation of `/api/v1`, which responds with the examples of the API description.
 *
 * @param msw The `http` of `msw/http` (msw 3) or of `msw` (msw 2).
 * @param options The `baseUrl` of the client, and the examples to respond with.
 * @throws {Error} in the handler when the operation has no example of the given name.
 *
 * @example
 * import { http } from 'msw/http'
 * const server = setupServer(...referralHandlers(http, { baseUrl: 'https://api.example' }))
 */
export const referralHandlers = <Handler>(msw: MswHttp<Handler>, options: HandlerOptions): Handler[] =>
  Object.entries(examples).map(([id, [method, path]]) => {
    const verb = method.toLowerCase() as keyof MswHttp<Handler>
    const url = `${options.baseUrl.replace(/\/+$/, '')}${path}`
    return msw[verb](url, ({ request }) => respond(id as OperationId, request, options.examples?.[id as OperationId]))
  })

const respond = async (id: OperationId, request: Request, name: string | undefined): Promise<Response> => {
  const matches = name ? (example: Example) => example[0] === name : await successOf(id, request)
  const found = examples[id]?.[2].find(matches)
  if (!found) throw new Error(`openapi.yaml has no example ${name ?? 'of a success'} for ${id}.`)
  return toResponse(found)
}

/** Matches a request's success. Its status depends on the request where one path has several functions. */
const successOf = async (id: OperationId, request: Request): Promise<(example: Example) => boolean> => {
  const { searchParams } = new URL(request.url)
  if (id === 'createWebhook') return ([, , body]) => 'ok' in (body as object) === searchParams.has('test')
  if (id !== 'recordEvent') return () => true
  if (searchParams.has('dryRun')) return ([, status]) => status === 200
  const { type = 'conversion' } = (await request.clone().json()) as { type?: string }
  return ([, status]) => status === (type === 'conversion' ? 201 : 202)
}

const toResponse = ([name, status, body]: Example): Response => {
  const headers = new Headers({ 'X-Request-Id': 'req_example', 'X-RateLimit-Limit': '100' })
  headers.set('X-RateLimit-Remaining', status === 429 ? '0' : '99')
  headers.set('X-RateLimit-Reset', '1')
  if (status >= 400) headers.set('X-Error-Code', name)
  if (status === 429 || status === 503) headers.set('Retry-After', '1')
  if (typeof body !== 'string') return Response.json(body, { status, headers })
  headers.set('Content-Type', 'text/html')
  return new Response(body, { status, headers })
}
