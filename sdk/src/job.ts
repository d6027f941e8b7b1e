import type { ClientOptions, WriteOptions } from './options.ts'
import type { Route } from './route.ts'
import type { Job } from './send.ts'

/** What goes into one request. */
export interface Parts {
  query?: object | undefined
  body?: unknown
  options?: WriteOptions | undefined
}

const search = (query: object = {}) => {
  const given = Object.entries(query).filter(([, value]) => value != null)
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, `${value}`]))}` : ''
}

/** A request of this client, with an idempotency key where the operation takes one. */
export const toJob = (client: ClientOptions, [method, path, retry, text]: Route, parts: Parts): Job => {
  const { query, body, options = {} } = parts
  const headers = new Headers({ Accept: 'application/json', ...client.headers })
  for (const [name, value] of new Headers(options.headers)) headers.set(name, value)
  if (body !== undefined) headers.set('Content-Type', 'application/json')
  if (options.idempotencyKey) headers.set('Idempotency-Key', options.idempotencyKey)
  else if (retry === 'keyed' && !headers.has('Idempotency-Key')) headers.set('Idempotency-Key', crypto.randomUUID())
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return {
    method,
    url: `${client.baseUrl?.replace(/(\/api\/v1)?\/*$/, '')}${path}${search(query)}`,
    retry,
    headers,
    body: JSON.stringify(body),
    options: { ...client, ...Object.fromEntries(given) },
    text: text !== undefined,
  }
}
