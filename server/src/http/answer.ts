import { refusalOf } from './refusal.ts'
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
