import { randomBytes } from 'node:crypto'
import type { TracingConfig } from '../config.ts'
import type { Deps } from './context.ts'

type Attributes = Record<string, string | number | undefined>

/** A request's span. An unsampled span has the ID of the caller's. */
export interface RequestSpan extends TraceParent {
  end: (ended: { name: string; isError: boolean; attributes: Attributes }) => void
}

export interface Tracing {
  /** Starts a span, as a child of the caller's. */
  start: (parent: TraceParent | undefined) => RequestSpan
  /** Sends the remaining spans. */
  close: () => Promise<void>
}

/** The caller's span. */
interface TraceParent {
  traceId: string
  spanId: string
  isSampled: boolean
}

/** Parses a W3C `traceparent` header. */
export function parseTraceParent(header: string | undefined): TraceParent | undefined {
  if (header === undefined) return undefined
  const [, version, traceId = '', spanId = '', flags = ''] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/.exec(header) ?? []
  if (version === undefined || version === 'ff' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** A W3C `traceparent` header. */
export const formatTraceParent = ({ traceId, spanId, isSampled }: TraceParent): string =>
  `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

const BATCH_SIZE = 512
const MAX_QUEUE = 2048
const EXPORT_INTERVAL_MS = 5000
const EXPORT_TIMEOUT_MS = 10_000
/** `SPAN_KIND_SERVER` and `STATUS_CODE_ERROR` of the protocol. */
const SERVER = 2
const ERROR = 2

/**
 * Sends spans as OTLP JSON over HTTP. Losing spans is acceptable: a queue that is full drops them, and nothing waits for the
 * collector except the end of the process.
 */
export function createTracing(config: TracingConfig, { log }: Pick<Deps, 'log'>): Tracing {
  const resource = { attributes: toAttributes(config.resource) }
  let queue: object[] = []
  let sending: Promise<void> | undefined
  let hasFailed = false

  async function send(spans: object[]): Promise<void> {
    try {
      const body = JSON.stringify({
        resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'referral' }, spans }] }],
      })
      const headers = { ...config.headers, 'Content-Type': 'application/json' }
      const signal = AbortSignal.timeout(EXPORT_TIMEOUT_MS)
      const response = await fetch(config.endpoint, { method: 'POST', headers, body, signal })
      await response.body?.cancel()
      if (!response.ok) throw new Error(`status ${response.status}`)
      hasFailed = false
    } catch (error) {
      if (!hasFailed) log.warn({ reason: (error as Error).message }, 'traces cannot be sent')
      hasFailed = true
    }
  }
  async function sendAll(): Promise<void> {
    while (queue.length > 0) await send(queue.splice(0, BATCH_SIZE))
    sending = undefined
  }
  const flush = () => {
    sending ??= sendAll()
    return sending
  }
  const timer = setInterval(() => void flush(), EXPORT_INTERVAL_MS).unref()

  return {
    start: (parent) => {
      const traceId = parent?.traceId ?? randomBytes(16).toString('hex')
      const ownId = randomBytes(8).toString('hex')
      if (!isSampled(config, traceId, parent))
        return { traceId, spanId: parent?.spanId ?? ownId, isSampled: false, end: () => {} }
      const startedAt = now()
      return {
        traceId,
        spanId: ownId,
        isSampled: true,
        end: ({ name, isError, attributes }) => {
          if (queue.length >= MAX_QUEUE) return
          queue.push({
            traceId,
            spanId: ownId,
            ...(parent && { parentSpanId: parent.spanId }),
            name,
            kind: SERVER,
            startTimeUnixNano: startedAt,
            endTimeUnixNano: now(),
            attributes: toAttributes(attributes),
            status: isError ? { code: ERROR } : {},
          })
          if (queue.length >= BATCH_SIZE) void flush()
        },
      }
    },
    close: async () => {
      clearInterval(timer)
      await flush()
      queue = []
    },
  }
}

/** Nanoseconds since 1970, as text. */
const now = () => String(BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n)

function isSampled({ sampler, ratio }: TracingConfig, traceId: string, parent: TraceParent | undefined): boolean {
  if (parent && sampler.startsWith('parentbased_')) return parent.isSampled
  // The last 7 bytes of a trace ID are random, so that all services of a trace decide alike.
  return Number.parseInt(traceId.slice(-14), 16) < ratio * 2 ** 56
}

const toAttributes = (attributes: Attributes) =>
  Object.entries(attributes).flatMap(([key, value]) => {
    if (value === undefined) return []
    return { key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }
  })
