import { createHash } from 'node:crypto'
import { setImmediate as breathe } from 'node:timers/promises'
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

/** Serializes a response. @param standard The headers of every response, which `headers` override. */
export function toResponse({ status, body, headers }: ApiResponse, standard: Record<string, string>): Response {
  if (typeof body === 'string')
    return new Response(body, { status, headers: { ...standard, ...HTML_HEADERS, ...headers } })
  if (body instanceof ReadableStream)
    return new Response(body, { headers: { ...standard, ...STREAM_HEADERS, ...headers } })
  const json = body === undefined ? null : toJson(body)
  return new Response(json, { status, headers: { ...standard, ...JSON_HEADERS, ...headers } })
}

/** Longer responses are serialized and sent in slices, between which other requests proceed. */
const SLICE_LENGTH = 64 * 1024

/** The default page. Lists up to this length are serialized at once, which takes half the time of slices. */
const SHORT_LIST = 20

const hasLongList = (body: unknown): boolean =>
  body !== null &&
  typeof body === 'object' &&
  Object.values(body).some((value) => Array.isArray(value) && value.length > SHORT_LIST)

/** The JSON text of a body, or a stream of it when it is long. */
function toJson(body: unknown): string | ReadableStream<Uint8Array> {
  if (!hasLongList(body)) return JSON.stringify(body)
  const parts = jsonParts(body)
  const read = () => {
    let text = ''
    for (let next = parts.next(); !next.done; next = parts.next()) {
      text += next.value
      if (text.length > SLICE_LENGTH) break
    }
    return text
  }
  const start = read()
  if (start.length <= SLICE_LENGTH) return start
  const encoder = new TextEncoder()
  let slice = start
  return new ReadableStream({
    pull: async (controller) => {
      controller.enqueue(encoder.encode(slice))
      await breathe()
      slice = read()
      if (slice === '') controller.close()
    },
  })
}

/** The text of an object by its properties and the items of its lists, which only together are long. */
function* jsonParts(body: unknown): Generator<string> {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) return yield JSON.stringify(body)
  let separator = '{'
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue
    yield `${separator}${JSON.stringify(name)}:`
    separator = ','
    if (!Array.isArray(value)) {
      yield JSON.stringify(value)
      continue
    }
    yield '['
    for (let at = 0; at < value.length; at += ITEMS)
      yield `${at > 0 ? ',' : ''}${JSON.stringify(value.slice(at, at + ITEMS)).slice(1, -1)}`
    yield ']'
  }
  yield separator === '{' ? '{}' : '}'
}

/** Items serialized at once: a call for each would take longer for most lists. */
const ITEMS = 4

/** Rejects the other methods of a path with 405. `Allow` lists the given ones, and HEAD where GET is one. */
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

/** Converts a thrown error to the one the caller sees. Details for the operator go to the log. */
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
  /** What the script may request. */
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
    // `no-referrer` would make browsers send `Origin: null` with these forms; other sites receive no referrer either way.
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
}

/** The CSP source that allows one inline `<style>` by its hash. */
export const inlineStyleSource = (content: string): string =>
  `'sha256-${createHash('sha256').update(content).digest('base64')}'`

/** Browsers do not guess another content type. */
export const NOSNIFF = { 'X-Content-Type-Options': 'nosniff' }
