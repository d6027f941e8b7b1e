// Full: it starts other processes.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { readConfig } from '../../server/src/config.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: object }[]
}

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = 'b7ad6b7169203331'

let folder: ReturnType<typeof temporaryFolder>
let server: RunningServer
let received: { url: string | undefined; authorization: string | undefined; body: string }[]
const collector = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  received.push({ url: request.url, authorization: request.headers.authorization, body })
  response.end('{}')
})
beforeEach(async () => {
  folder = temporaryFolder()
  received = []
  collector.listen(0, '127.0.0.1')
  await once(collector, 'listening')
})
afterEach(async () => {
  await server?.stop('SIGKILL')
  collector.closeAllConnections()
  await new Promise((done) => collector.close(done))
  folder.remove()
})

async function serve(more: Record<string, string>) {
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
  server = await startServer({ REFERRAL_DATA_DIR: folder.path, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...more })
  const key = /^REFERRAL_API_KEY=(.*)$/m.exec(readFileSync(join(folder.path, 'demo.env'), 'utf8'))?.[1]
  return (path: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}${path}`, { headers: { Authorization: `Bearer ${key}`, ...headers } })
}
const spans = (): Span[] =>
  received.flatMap(({ body }) => JSON.parse(body).resourceSpans[0].scopeSpans[0].spans as Span[])
const attributesOf = ({ attributes }: Span) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

test('one span per request is sent to the collector, as a child of the caller, before the process ends', {
  timeout: 60_000,
}, async () => {
  const get = await serve({
    OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic%20abc',
    OTEL_SERVICE_NAME: 'shop-api',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
  })
  await get('/api/v1/affiliates?q=canary', { traceparent: `00-${TRACE}-${PARENT}-01` })
  await get('/api/v1/affiliates?limit=1000')
  await get('/readyz')
  expect(await server.stop()).toBe(0)

  const [child, root, ...others] = spans()
  expect(others).toEqual([])
  expect(child).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, name: 'listAffiliates', kind: 2, status: {} })
  expect(BigInt(child!.endTimeUnixNano)).toBeGreaterThan(BigInt(child!.startTimeUnixNano))
  expect(Math.abs(Number(child!.startTimeUnixNano) / 1e6 - Date.now())).toBeLessThan(60_000)
  expect(attributesOf(child!)).toMatchObject({
    'http.request.method': 'GET',
    'http.response.status_code': '200',
    'referral.shop.id': expect.stringMatching(/^shp_/),
    'referral.key.id': expect.stringMatching(/^key_/),
  })
  expect(root).not.toHaveProperty('parentSpanId')
  expect(root!.traceId).toMatch(/^[\da-f]{32}$/)
  expect(attributesOf(root!)['http.response.status_code']).toBe('400')
  // The log line has the id of the trace that the server began.
  expect(server.log()).toContain(`"traceId":"${root!.traceId}"`)
  expect(received[0]).toMatchObject({ url: '/v1/traces', authorization: 'Basic abc' })
  expect(received[0]!.body).toContain('"shop-api"')
  expect(received[0]!.body).toContain('"deployment.environment"')
  expect(received[0]!.body).not.toContain('canary')
})

test('deliveries continue the trace of the server', { timeout: 60_000 }, async () => {
  const deliveries: string[] = []
  const receiver = createServer((request, response) => {
    deliveries.push(String(request.headers.traceparent))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const address = `127.0.0.1:${(receiver.address() as AddressInfo).port}`
  await serve({ REFERRAL_WEBHOOK_ALLOW: address })
  const key = /^REFERRAL_API_KEY=(.*)$/m.exec(readFileSync(join(folder.path, 'demo.env'), 'utf8'))?.[1]
  const post = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify({ url: `http://${address}/` }),
    })
  expect((await post('/api/v1/webhooks')).status).toBe(200)
  expect((await post('/api/v1/webhooks?test=1', { traceparent: `00-${TRACE}-${PARENT}-01` })).status).toBe(200)
  await vi.waitFor(() => expect(deliveries).toHaveLength(1), 10_000)
  expect(await server.stop()).toBe(0)
  const child = spans().find(({ parentSpanId }) => parentSpanId === PARENT)
  expect(deliveries).toEqual([`00-${TRACE}-${child!.spanId}-01`])
  receiver.close()
})

test('a caller that is not sampled is not traced, and a collector that fails is reported once', {
  timeout: 60_000,
}, async () => {
  const get = await serve({})
  await get('/api/v1/affiliates', { traceparent: `00-${TRACE}-${PARENT}-00` })
  collector.closeAllConnections()
  await new Promise((done) => collector.close(done))
  await get('/api/v1/affiliates')
  expect(await server.stop()).toBe(0)
  expect(received).toEqual([])
  expect(server.log().split('traces cannot be sent')).toHaveLength(2)
  collector.listen(0)
})

describe('settings', () => {
  const tracing = (more: Record<string, string>) => readConfig({ REFERRAL_DATA_DIR: folder.path, ...more }).tracing
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://collector:4318/'

  test('traces are off without an endpoint and when the SDK or the exporter is disabled', () => {
    expect(tracing({})).toBeUndefined()
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' })).toBeUndefined()
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: 'none' })).toBeUndefined()
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT })).toMatchObject({
      endpoint: 'http://collector:4318/v1/traces',
      ratio: 1,
    })
  })

  test.each<[Record<string, string>, number]>([
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, 0],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' }, 0.25],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_on', OTEL_TRACES_SAMPLER_ARG: '0.25' }, 1],
  ])('%j samples the part %d', (more, ratio) => {
    expect(tracing({ OTEL_EXPORTER_OTLP_ENDPOINT, ...more })?.ratio).toBe(ratio)
  })

  test.each<[Record<string, string>, RegExp]>([
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /^OTEL_EXPORTER_OTLP_PROTOCOL must .*"grpc"/],
    [{ OTEL_TRACES_SAMPLER_ARG: '2' }, /^OTEL_TRACES_SAMPLER_ARG must .*"2"/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret' }, /^OTEL_EXPORTER_OTLP_HEADERS must(?!.*secret)/],
  ])('%j prevents startup: %s', (more, message) => {
    expect(() => tracing({ OTEL_EXPORTER_OTLP_ENDPOINT, ...more })).toThrow(message)
  })
})
