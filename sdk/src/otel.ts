import {
  context,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { version } from './generated/version.ts'
import type { ClientOptions, Hooks, RequestInfo } from './options.ts'

/** Options of {@link withOpenTelemetry}. */
export interface TelemetryOptions {
  /** Defaults to the global provider. */
  tracerProvider?: TracerProvider | undefined
}

/** The spans of one call, in the state that its hooks share. */
interface Spans {
  call: Span
  attempt?: Span
}

const key = Symbol('@referral/sdk/otel')
const spansOf = ({ state }: RequestInfo) => state[key] as Spans | undefined

const end = (span: Span | undefined, { status, error }: { status?: number | undefined; error?: unknown }) => {
  if (!span) return
  if (status !== undefined) span.setAttribute('http.response.status_code', status)
  if (error instanceof Error) {
    span.setAttribute('error.type', error.name)
    span.recordException(error)
  }
  if (error || (status !== undefined && status >= 400)) span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
}

/**
 * Adds traces to a client's options: a span for each call, a client span for each attempt, and the header
 * `traceparent`, with which the server continues the trace. Hooks among the options still run.
 *
 * @param options The client's options.
 * @param telemetry The `tracerProvider`, if it is not the global one.
 * @returns The options to pass to `createReferralClient`.
 *
 * @example
 * const client = createReferralClient(withOpenTelemetry({ apiKey, baseUrl }))
 */
export const withOpenTelemetry = (options: ClientOptions = {}, telemetry: TelemetryOptions = {}): ClientOptions => {
  const tracer = (telemetry.tracerProvider ?? trace).getTracer('@referral/sdk', version)

  const hooks: Hooks = {
    async onRequest(info) {
      const { method, path, url, attempt, state, headers } = info
      const attributes = { 'http.request.method': method, 'url.template': path }
      const spans = spansOf(info) ?? { call: tracer.startSpan(`referral ${method} ${path}`, { attributes }) }
      state[key] = spans
      const parent = trace.setSpan(context.active(), spans.call)
      const resent = attempt > 1 ? { 'http.request.resend_count': attempt - 1 } : {}
      const { origin, pathname, hostname } = new URL(url)
      // Without the query, which may contain personal data.
      const request = { 'url.full': `${origin}${pathname}`, 'server.address': hostname }
      spans.attempt = tracer.startSpan(
        `${method} ${path}`,
        { kind: SpanKind.CLIENT, attributes: { ...attributes, ...request, ...resent } },
        parent,
      )
      propagation.inject(trace.setSpan(parent, spans.attempt), headers, {
        set: (carrier, name, value) => carrier.set(name, value),
      })
      await options.onRequest?.(info)
    },
    async onResponse(info) {
      end(spansOf(info)?.attempt, { status: info.status })
      await options.onResponse?.(info)
    },
    async onError(info) {
      end(spansOf(info)?.attempt, { error: info.error })
      await options.onError?.(info)
    },
    async onEnd(info) {
      end(spansOf(info)?.call, { status: info.status, error: info.error })
      await options.onEnd?.(info)
    },
  }
  return { ...options, ...hooks }
}
