import { createHash } from 'node:crypto'
import type { Context } from 'hono'
import { ApiError, internalError, reportTooSlow, storageUnavailable, tooManyReports } from '../contract/errors.ts'
import { isStorageError, QueueFullError, ReportTimeoutError } from '../database/storage-error.ts'
import { type LogFields, logFields, type RequestState, type Server } from './server.ts'

/** A response before serialization. A string body is HTML. */
export interface ApiResponse {
  status: number
  body: unknown
  headers: Record<string, string>
}

/** No cache or proxy may store or buffer a stream. */
const STREAM_HEADERS = {
  'Content-Type': 'application/x-ndjson',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}
const HTML_HEADERS = { 'Content-Type': 'text/html; charset=UTF-8' }
const JSON_HEADERS = { 'Content-Type': 'application/json' }

/** Serializes a response. @param standard headers for every response, overridden by `headers` */
export function toResponse({ status, body, headers }: ApiResponse, standard: Record<string, string>): Response {
  if (typeof body === 'string')
    return new Response(body, { status, headers: { ...standard, ...HTML_HEADERS, ...headers } })
  if (body instanceof ReadableStream)
    return new Response(body, { headers: { ...standard, ...STREAM_HEADERS, ...headers } })
  if (body === undefined) return new Response(null, { status, headers: { ...standard, ...headers } })
  return new Response(JSON.stringify(body), { status, headers: { ...standard, ...JSON_HEADERS, ...headers } })
}

/** Rejects a path's other methods with 405. `Allow` lists the given methods, plus HEAD if they include GET. */
export const rejectMethod =
  (methods: string[]) =>
  (c: Context): never => {
    c.header('Allow', methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', '))
    throw new ApiError(
      405,
      'method_not_allowed',
      `${c.req.method} is not allowed on this path. The Allow header lists the methods that are.`,
    )
  }

/** The response for a thrown error. */
export function errorResponse(server: Server, thrown: Error, request: RequestState): ApiResponse {
  const { status, code, message, retryAfter, headers: detail } = toApiError(server, thrown, logFields(request))
  const headers: Record<string, string> = { ...detail, 'X-Error-Code': code }
  if (retryAfter !== undefined) headers['Retry-After'] = String(retryAfter)
  // A store's notification has a signature instead.
  if (status === 401 && !code.startsWith('store_')) headers['WWW-Authenticate'] = 'Bearer'
  return { status, body: { error: message }, headers }
}

/** Converts a thrown error to the one that the caller sees. Details for the operator go to the log. */
export function toApiError({ deps }: Pick<Server, 'deps'>, thrown: Error, fields: LogFields): ApiError {
  const error = isStorageError(thrown) ? toUnavailable(thrown) : thrown
  if (!(error instanceof ApiError)) {
    deps.log.error({ ...fields, name: error.name, stack: error.stack }, 'bug')
    return internalError()
  }
  // The driver's message may contain data, so only its code is logged.
  const cause = error.cause as { code?: string; name?: string } | undefined
  if (error.status === 503 && cause)
    deps.log.error({ ...fields, code: error.code, cause: cause.code ?? cause.name }, 'unavailable')
  return error
}

function toUnavailable(cause: Error): ApiError {
  if (cause instanceof QueueFullError) return tooManyReports(cause)
  return cause instanceof ReportTimeoutError ? reportTooSlow(cause) : storageUnavailable(cause)
}

/** The Content-Security-Policy sources a page may load; everything else is blocked. */
interface Sources {
  style: string
  script?: string
  image?: string
  form?: string
  font?: string
  /** Sources that the script may request. */
  connect?: string
}

/** Security headers of every HTML page: no external resources, no framing, no cross-origin referrer. */
export function pageHeaders({ style, script = "'none'", image = "'none'", form = "'none'", font, connect }: Sources) {
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      `style-src ${style}`,
      `script-src ${script}`,
      `img-src ${image}`,
      ...(font ? [`font-src ${font}`] : []),
      ...(connect ? [`connect-src ${connect}`] : []),
      `form-action ${form}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    ...NOSNIFF,
    'X-Frame-Options': 'DENY',
    // `no-referrer` would make browsers send `Origin: null` with these forms. Other sites receive no referrer either
    // way.
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
}

/** The CSP source that allows one inline `<style>` by its hash. */
export const inlineStyleSource = (content: string): string =>
  `'sha256-${createHash('sha256').update(content).digest('base64')}'`

/** Prevents browsers from guessing another content type. */
export const NOSNIFF = { 'X-Content-Type-Options': 'nosniff' }
