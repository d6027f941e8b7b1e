import { createHash } from 'node:crypto'
import { ApiError, internalError, storageUnavailable, tooManyReports } from '../contract/errors.ts'
import { isStorageError, QueueFullError } from '../database/storage-error.ts'
import type { Server } from './server.ts'

/** What an operation answers, before it is text. A string is a page. */
export interface ApiResponse {
  status: number
  body: unknown
  headers: Record<string, string>
}

/** Nobody on the way may keep or gather what is to be read at once. */
const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}
const HTML_HEADERS = { 'Content-Type': 'text/html; charset=UTF-8' }
const JSON_HEADERS = { 'Content-Type': 'application/json' }

/** An answer as it is sent. `usual`: the headers that all answers have. */
export function toResponse({ status, body, headers }: ApiResponse, usual: Record<string, string>): Response {
  if (typeof body === 'string')
    return new Response(body, { status, headers: { ...usual, ...HTML_HEADERS, ...headers } })
  if (body instanceof ReadableStream)
    return new Response(body, { headers: { ...usual, ...STREAM_HEADERS, ...headers } })
  const text = body === undefined ? null : JSON.stringify(body)
  return new Response(text, { status, headers: { ...usual, ...JSON_HEADERS, ...headers } })
}

/** `Allow` for the methods of a path: whatever serves GET serves HEAD. */
export const allowHeader = (methods: string[]): string =>
  methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')

/** The answer to what was thrown. */
export function errorResponse(server: Server, thrown: Error, requestId: string): ApiResponse {
  const { status, code, message, retryAfter, headers: detail } = toApiError(server, thrown, requestId)
  const headers: Record<string, string> = { ...detail, 'X-Error-Code': code }
  if (retryAfter !== undefined) headers['Retry-After'] = String(retryAfter)
  return { status, body: { error: message }, headers }
}

/** What the caller is told of what went wrong; what only the operator may know goes to the log. */
export function toApiError({ deps }: Pick<Server, 'deps'>, thrown: Error, requestId: string): ApiError {
  const error = isStorageError(thrown) ? toUnavailable(thrown) : thrown
  if (!(error instanceof ApiError)) {
    deps.log.error({ requestId, name: error.name, stack: error.stack }, 'bug')
    return internalError()
  }
  // The driver's code says whether a disk is full or a statement is wrong; its message may hold data and stays out.
  const cause = error.cause as { code?: string; name?: string } | undefined
  if (error.status === 503 && cause)
    deps.log.error({ requestId, code: error.code, cause: cause.code ?? cause.name }, 'unavailable')
  return error
}

const toUnavailable = (cause: Error) =>
  cause instanceof QueueFullError ? tooManyReports(cause) : storageUnavailable(cause)

/** What a page may load; everything else is refused. */
interface Sources {
  style: string
  script?: string
  image?: string
  form?: string
}

/** Headers of every HTML page: it loads nothing from elsewhere, and no other page frames it or learns where it links to. */
export function pageHeaders({ style, script = "'none'", image = "'none'", form = "'none'" }: Sources) {
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      `style-src ${style}`,
      `script-src ${script}`,
      `img-src ${image}`,
      `form-action ${form}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    ...NOSNIFF,
    'X-Frame-Options': 'DENY',
    // With no-referrer browsers would send `Origin: null` with forms of these pages; no other site receives it either way.
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
}

/** The source of one inline `<style>`, which then is the only one that applies. */
export const inlineStyleSource = (content: string): string =>
  `'sha256-${createHash('sha256').update(content).digest('base64')}'`

/** No browser takes a response for another type than it says. */
export const NOSNIFF = { 'X-Content-Type-Options': 'nosniff' }
