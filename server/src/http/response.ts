import { ApiError, internalError, storageUnavailable, tooMuchWaiting } from '../contract/errors.ts'
import { isStorageError, TooMuchWaiting } from '../database/storage-error.ts'
import type { Server } from './server.ts'

/** What an operation answers, before it is text. A string is a page. */
export interface Answer {
  status: number
  body: unknown
  headers: Record<string, string>
}

/** Nobody on the way may keep or gather what is to be read at once. */
const STREAMED = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}
const PAGE = { 'Content-Type': 'text/html; charset=UTF-8' }
const JSON_TYPE = { 'Content-Type': 'application/json' }

/** An answer as it is sent. `usual`: the headers that all answers have. */
export function render({ status, body, headers }: Answer, usual: Record<string, string>): Response {
  if (typeof body === 'string') return new Response(body, { status, headers: { ...usual, ...PAGE, ...headers } })
  if (body instanceof ReadableStream) return new Response(body, { headers: { ...usual, ...STREAMED, ...headers } })
  const text = body === undefined ? null : JSON.stringify(body)
  return new Response(text, { status, headers: { ...usual, ...JSON_TYPE, ...headers } })
}

/** `Allow` for the methods of a path: whatever serves GET serves HEAD. */
export const allowHeader = (methods: string[]): string =>
  methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ')

/** The answer to what was thrown. */
export function refusal(server: Server, thrown: Error, requestId: string): Answer {
  const { status, code, message, retryAfter, headers: detail } = refusalOf(server, thrown, requestId)
  const headers: Record<string, string> = { ...detail, 'X-Error-Code': code }
  if (retryAfter !== undefined) headers['Retry-After'] = String(retryAfter)
  return { status, body: { error: message }, headers }
}

/** What the caller is told of what went wrong; what only the operator may know goes to the log. */
export function refusalOf({ deps }: Pick<Server, 'deps'>, thrown: Error, requestId: string): ApiError {
  const error = isStorageError(thrown) ? unavailable(thrown) : thrown
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

const unavailable = (cause: Error) =>
  cause instanceof TooMuchWaiting ? tooMuchWaiting(cause) : storageUnavailable(cause)
