import type { Context } from 'hono'
import ipaddr from 'ipaddr.js'
import type { Deps } from '../core/context.ts'
import type { ApiSwitch } from '../core/installation.ts'
import type { Metrics } from '../core/metrics.ts'
import type { RequestSpan, Tracing } from '../core/tracing.ts'
import type { KeyWithShop } from '../domains/accounts/queries.ts'
import type { RateLimit, RateLimiter } from './rate-limit.ts'
import type { BodyBudget, BodyReservation } from './read-body.ts'
import type { ReadTurns } from './read-turns.ts'

/** State shared by all requests of one server process. */
export interface Server {
  deps: Deps
  limiter: RateLimiter
  bodyBudget: BodyBudget
  readTurns: ReadTurns
  apiSwitch: ApiSwitch
  metrics: Metrics | undefined
  tracing: Tracing | undefined
  recordKeyUse: (key: KeyWithShop['key']) => void
}

/** The caller's `X-Request-Id` if it is short and safe to log, otherwise a new ID. */
export function resolveRequestId(header: string | undefined, deps: Pick<Deps, 'newId'>): string {
  return header && /^[\w.:-]{1,128}$/.test(header) ? header : deps.newId('req')
}

/** One request's state, from its first byte to its response. */
export interface RequestState {
  /** From `performance.now()`. */
  startedAt: number
  authorization: string | null
  /** The client's address or network. Requests without a valid key are rate-limited by it. */
  address: string
  requestId: string
  /** From the `traceparent` header, to find the request in the caller's traces and logs. */
  traceId: string | undefined
  /** The request's span, or the caller's if traces are off. */
  traceparent: string | undefined
  /** Ended with the response. Undefined if traces are off. */
  span: RequestSpan | undefined
  /** The operation ID, once the path is matched. */
  operation?: string
  /** The caller, once its credential is found. */
  caller?: { shopId: string; keyId?: string; userId?: string }
  /** Sent in the `X-RateLimit-*` headers. */
  rateLimit?: RateLimit
  /** The origin of a shop's page that may read the response. */
  allowedOrigin?: string | undefined
  /** The memory reserved for the body. */
  bodyReservation?: BodyReservation
}

export type LogFields = Pick<RequestState, 'requestId'> &
  Partial<RequestState['caller'] & Pick<RequestState, 'traceId' | 'operation'>>

/** The fields of each request's log lines. Contains no secrets and no personal data. */
export const logFields = ({ requestId, traceId, operation, caller }: RequestState): LogFields => ({
  requestId,
  traceId,
  operation,
  ...caller,
})

/** The Hono variables of a request. */
export type Env = { Variables: { request: RequestState } }

/** The socket's address or, behind `proxies` trusted proxies, the address that the outermost proxy received from. */
export function clientAddress(c: Context, proxies: number): string {
  const env = c.env as { incoming?: { socket?: { remoteAddress?: string } } } | undefined
  return resolveAddress(
    { socket: env?.incoming?.socket?.remoteAddress, forwardedFor: c.req.header('X-Forwarded-For') },
    proxies,
  )
}

interface Connection {
  socket?: string | undefined
  forwardedFor?: string | undefined
}

function resolveAddress({ socket = 'unknown', forwardedFor = '' }: Connection, proxies: number): string {
  if (proxies === 0) return socket
  const hops = forwardedFor
    .split(',')
    .map((hop) => hop.trim())
    .filter(Boolean)
  return hops.at(-proxies) ?? socket
}

const IPV6_NETWORK_BYTES = 8

/**
 * The rate-limit subject of requests without a key: an IPv4 address, or the /64 network of an IPv6 address, because one
 * client usually has a whole /64. A port added by a proxy is ignored.
 */
export function clientNetwork(address: string): string {
  const host = /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address
  if (!ipaddr.isValid(host)) return address
  const ip = ipaddr.process(host)
  if (ip.kind() === 'ipv4') return ip.toString()
  const network = ip.toByteArray().map((byte, i) => (i < IPV6_NETWORK_BYTES ? byte : 0))
  return `${ipaddr.fromByteArray(network)}/64`
}
