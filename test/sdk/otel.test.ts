import { context, propagation, type Span, type SpanContext, SpanKind, TraceFlags, trace } from '@opentelemetry/api'
import { withOpenTelemetry } from '@referral/sdk/otel'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { errorResponse, jsonResponse, scriptedClient, success } from './support/scripted-client.ts'

interface Recorded {
  name: string
  kind: SpanKind | undefined
  parent: string | undefined
  spanId: string
  attributes: Record<string, unknown>
  isError: boolean
  isEnded: boolean
}

/** A tracer provider that keeps its spans. */
const recorder = () => {
  const spans: Recorded[] = []
  const startSpan = (
    name: string,
    options: { kind?: SpanKind; attributes?: object } = {},
    parent = context.active(),
  ): Span => {
    const spanId = `${spans.length + 1}`.padStart(16, '0')
    const one: Recorded = {
      name,
      kind: options.kind,
      parent: trace.getSpanContext(parent)?.spanId,
      spanId,
      attributes: { ...options.attributes },
      isError: false,
      isEnded: false,
    }
    spans.push(one)
    const spanContext: SpanContext = { traceId: '1'.repeat(32), spanId, traceFlags: TraceFlags.SAMPLED }
    return Object.assign(trace.wrapSpanContext(spanContext), {
      setAttribute(key: string, value: unknown) {
        one.attributes[key] = value
        return this
      },
      setStatus() {
        one.isError = true
        return this
      },
      end() {
        one.isEnded = true
      },
    }) as Span
  }
  return { spans, tracerProvider: { getTracer: () => ({ startSpan, startActiveSpan: undefined as never }) } }
}

beforeAll(() => {
  propagation.setGlobalPropagator({
    inject: (active, carrier, { set }) => {
      const { traceId, spanId } = trace.getSpanContext(active)!
      set(carrier, 'traceparent', `00-${traceId}-${spanId}-01`)
    },
    extract: (active) => active,
    fields: () => ['traceparent'],
  })
})
afterAll(() => propagation.disable())

test('a span for the call and one for each attempt, whose context is sent', async () => {
  const { spans, tracerProvider } = recorder()
  const seen: string[] = []
  const options = withOpenTelemetry({ onEnd: ({ path }) => seen.push(path) }, { tracerProvider })
  const { client, requests } = scriptedClient(
    [errorResponse(503, 'api_disabled', { 'Retry-After': '0' }), jsonResponse(200, success)],
    options,
  )
  await client.journey.get({ customerEmail: 'buyer@example.com' })
  expect(spans.map(({ name, kind, parent, isError, isEnded }) => [name, kind, parent, isError, isEnded])).toEqual([
    ['referral GET /api/v1/journey', undefined, undefined, false, true],
    ['GET /api/v1/journey', SpanKind.CLIENT, spans[0]!.spanId, true, true],
    ['GET /api/v1/journey', SpanKind.CLIENT, spans[0]!.spanId, false, true],
  ])
  expect(spans[2]!.attributes).toMatchObject({
    'http.request.method': 'GET',
    'http.response.status_code': 200,
    'http.request.resend_count': 1,
    'url.full': 'https://api.example/api/v1/journey',
  })
  expect(JSON.stringify(spans)).not.toContain('buyer')
  expect(requests.map(({ headers }) => headers.get('traceparent'))).toEqual(
    spans.slice(1).map(({ spanId }) => `00-${'1'.repeat(32)}-${spanId}-01`),
  )
  expect(seen).toEqual(['/api/v1/journey'])
})

test('a call that fails ends its spans with the error', async () => {
  const { spans, tracerProvider } = recorder()
  const refused = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) })
  const { client } = scriptedClient([refused], withOpenTelemetry({ maxRetries: 0 }, { tracerProvider }))
  await client.analytics.get().safe()
  expect(spans.map(({ isError, isEnded, attributes }) => [isError, isEnded, attributes['error.type']])).toEqual([
    [true, true, 'ConnectionError'],
    [true, true, 'ConnectionError'],
  ])
})
