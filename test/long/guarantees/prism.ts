import assert from 'node:assert/strict'
import { operations, ownerOperations } from '../../support/document.ts'
import { freePort } from '../../support/process.ts'
import type { LongTest, RunOptions } from '../guarantee.ts'
import { type NpmFolder, npmFolder } from '../npm-folder.ts'
import { createWorld } from '../world.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies are read as plain JSON
type Json = any

interface Call {
  /** The path, when it is not that of the operation. */
  path?: string
  query?: string
  body?: object
  headers?: Record<string, string>
}

interface Reply {
  status: number
  body: Json
  /** Where Prism found a violation of the document: `request…` or `response…`. */
  violations: string[]
}

/** Calls a documented operation through Prism. */
type Send = (id: string, call?: Call) => Promise<Reply>

const sender =
  (url: string, token: string): Send =>
  async (id, { path, query = '', body, headers = {} } = {}) => {
    const op = [...operations, ...ownerOperations].find((one) => one.id === id)
    assert.ok(op, id)
    const type: Record<string, string> = body ? { 'Content-Type': 'application/json' } : {}
    const response = await fetch(`${url}${path ?? op.path}${query}`, {
      method: op.method,
      headers: { Authorization: `Bearer ${token}`, ...type, ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    const isJson = response.headers.get('Content-Type')?.startsWith('application/json')
    const found: { location: string[]; message: string }[] = JSON.parse(response.headers.get('sl-violations') ?? '[]')
    return {
      status: response.status,
      body: isJson ? await response.json() : await response.text(),
      violations: found.map(({ location, message }) => `${location.join('.')}: ${message}`),
    }
  }

async function startPrism(folder: NpmFolder, command: string, ...upstream: string[]) {
  const port = await freePort()
  const args = [command, 'openapi.yaml', ...upstream, '--host', '127.0.0.1', '--port', String(port)]
  return { url: `http://127.0.0.1:${port}`, stop: await folder.start('prism', args, /Prism is listening/) }
}

const ORDER = { externalOrderId: '1001', amountCents: 10_000 }

async function checkMock(send: Send): Promise<void> {
  const conversion = await send('recordEvent', { body: ORDER, headers: { 'Idempotency-Key': '1001' } })
  assert.deepEqual([conversion.status, conversion.body.commission.status], [201, 'APPROVED'])
  const withoutId = await send('recordEvent', { body: { amountCents: 10_000 } })
  assert.deepEqual([withoutId.status, typeof withoutId.body.error], [400, 'string'])
  assert.equal((await send('listAffiliates')).body.data.length, 1)
}

/** Each public operation succeeds at least once, and Prism finds no violation. Returns the calls. */
async function succeed(send: Send): Promise<string[]> {
  const called: string[] = []
  const ok = async (id: string, call: Call = {}, status = 200) => {
    const reply = await send(id, call)
    assert.deepEqual([id, reply.status, reply.violations], [id, status, []], JSON.stringify(reply.body))
    called.push(id)
    return reply.body
  }
  const program = { name: 'Friends', autoApproveAffiliate: true, autoApproveOrder: true }
  const { data: friends } = await ok('createProgram', { body: program }, 201)
  const discount = { discountEnabled: true, discountType: 'PERCENT', discountValue: 10, description: null }
  await ok('updateProgram', { query: `?id=${friends.id}`, body: discount })
  const created = { email: 'ada@example.com', firstName: 'Ada', campaignId: friends.id }
  const { data: ada } = await ok('createAffiliate', { body: created }, 201)
  const { data: other } = await ok('createAffiliate', { body: { email: 'b@example.com', name: 'B' } }, 201)
  await ok('updateAffiliate', { query: `?id=${ada.id}`, body: { phone: null, status: 'ACTIVE' } })
  await ok('archiveAffiliate', { query: `?id=${other.id}` })
  await ok('assignCoupon', { body: { affiliateId: ada.id, code: 'ADA16' } })

  const hook = { target_url: 'https://hooks.example.com/referral', events: ['test', ''], secret: 'secret' }
  const { data: webhook } = await ok('createWebhook', { body: hook })
  await ok('createWebhook', { query: '?test=1', body: { url: 'https://hooks.example.com/referral' } })

  const click = { type: 'click', ref: ada.slug, sessionId: 's-1', country: null }
  const { id: clickId } = await ok('recordEvent', { body: click }, 202)
  await ok('recordEvent', { body: { type: 'page_view', url: 'https://shop.example/', sessionId: 's-1' } }, 202)
  await ok('recordEvent', { query: '?dryRun=1', body: { ...ORDER, couponCode: 'ADA16' } })
  const plain = { body: { ...ORDER, couponCode: 'ADA16' }, headers: { 'Idempotency-Key': '1001' } }
  const { commission } = await ok('recordEvent', plain, 201)
  assert.equal(commission.amountCents, 1600)
  await ok('recordEvent', plain, 201)
  const lines = {
    orderId: '1002',
    lineItems: [{ productId: '7001', quantity: 2, priceCents: 2500 }],
    shipping: { country: 'US' },
    noteAttributes: [{ name: 'referral_click_id', value: clickId }],
    extra: { tolerated: true },
  }
  await ok('recordEvent', { body: lines, headers: { 'Idempotency-Key': '1002' } }, 201)
  await ok('recordEvent', { body: { ...ORDER, externalOrderId: '1003' }, headers: { 'Idempotency-Key': '1003' } }, 201)

  const today = new Date().toISOString().slice(0, 10)
  const period = { periodStart: '2026-01-01', periodEnd: `${today}T23:59:59.999Z` }
  await ok('createPayout', { body: { ...period, dryRun: true } })
  const { data: batch } = await ok('createPayout', { body: period })
  const { data: page } = await ok('listPayouts', { query: `?id=${batch.id}&include=lines` })
  assert.equal(page[0].lines.length, 1)
  await ok('payPayout', { query: `?id=${batch.id}&action=pay` })

  await ok('listAffiliates', { query: '?q=ada&status=ACTIVE&limit=5' })
  await ok('listPrograms', { query: '?page=2' })
  const { data: rows } = await ok('listCommissions', { query: `?affiliateId=${ada.id}&from=2026-01-01` })
  assert.equal(rows.length, 2)
  await ok('listCoupons', { query: '?code=ada' })
  await ok('getAnalytics', { query: '?from=2026-01-01&page=1&limit=20' })
  await ok('getJourney', { query: '?sessionId=s-1' })
  await ok('listWebhooks')
  await ok('deleteWebhook', { query: `?id=${webhook.id}` })
  await ok('getDocs')
  const silent = operations.map(({ id }) => id).filter((id) => !called.includes(id))
  assert.deepEqual(silent, [], 'public operations that were not called')
  return called
}

/** Errors of well-formed requests pass; for malformed ones, Prism rejects only the request. Returns how many there were. */
async function fail(send: Send, url: string): Promise<number> {
  const id = 'aff_01KAH000000000000000000000'
  const wellFormed: [status: number, id: string, call: Call, through?: Send][] = [
    [404, 'updateAffiliate', { query: `?id=${id}`, body: { status: 'ACTIVE' } }],
    [404, 'assignCoupon', { body: { affiliateId: id } }],
    [404, 'createPayout', { body: { periodStart: '2020-01-01', periodEnd: '2020-01-31' } }],
    [409, 'createAffiliate', { body: { email: 'ADA@example.com', name: 'Ada' } }],
    [409, 'recordEvent', { body: { ...ORDER, amountCents: 1 }, headers: { 'Idempotency-Key': '1001' } }],
    [400, 'recordEvent', { body: ORDER }],
    [400, 'createWebhook', { body: { url: 'https://127.0.0.1/' } }],
    [403, 'listAffiliates', {}, sender(url, 'rk_nobody')],
  ]
  for (const [status, op, call, through = send] of wellFormed) {
    const reply = await through(op, call)
    assert.deepEqual([op, reply.status, reply.violations], [op, status, []], JSON.stringify(reply.body))
  }
  const malformed: [status: number, id: string, call: Call][] = [
    [400, 'recordEvent', { body: { amountCents: 1 } }],
    [400, 'recordEvent', { body: { type: 'click' } }],
    [400, 'createAffiliate', { body: { name: 'Ada' } }],
    [400, 'createAffiliate', { body: { email: 'c@example.com', name: 'C', nickname: 'C' } }],
    [400, 'createProgram', { body: { name: 'P', commissionPercent: 101 } }],
    [400, 'assignCoupon', { body: { affiliateId: id, code: 'ten-letters' } }],
    [400, 'listAffiliates', { query: '?limit=101' }],
    [400, 'listCommissions', { query: '?from=2026-10-01T00:00:00' }],
    [400, 'payPayout', { query: '?id=bat_1&action=cancel' }],
    [401, 'listAffiliates', { headers: { Authorization: 'Basic YTpi' } }],
  ]
  for (const [status, op, call] of malformed) {
    const reply = await send(op, call)
    assert.deepEqual([op, reply.status], [op, status], JSON.stringify(reply.body))
    assert.notDeepEqual(reply.violations, [], `${op} ${JSON.stringify(call)}: Prism accepts what the server refuses`)
    assert.deepEqual(
      reply.violations.filter((one) => one.startsWith('response')),
      [],
    )
  }
  return wellFormed.length + malformed.length
}

async function run(options: RunOptions): Promise<string> {
  const folder = await npmFolder('prism')
  const world = await createWorld(options)
  const server = await world.start()
  try {
    const mock = await startPrism(folder, 'mock')
    await checkMock(sender(mock.url, 'rk_any')).finally(mock.stop)
    const { keys, ownerToken } = await world.createShop(1)
    const proxy = await startPrism(folder, 'proxy', server.url)
    try {
      const send = sender(proxy.url, keys[0] ?? '')
      const called = await succeed(send)
      const errors = await fail(send, proxy.url)
      const owner = sender(proxy.url, ownerToken)
      const reads = ownerOperations.filter(({ method, path }) => method === 'GET' && !path.includes('{'))
      for (const { id } of reads) {
        const { status, body, violations } = await owner(id)
        assert.deepEqual([id, status, violations], [id, 200, []], JSON.stringify(body))
      }
      return `a plain conversion is mocked as 201; ${called.length} successes of ${operations.length} operations, ${errors} errors and ${reads.length} reads of the owner through the proxy, 0 violations`
    } finally {
      await proxy.stop()
    }
  } finally {
    await server.stop()
    await world.remove()
    folder.remove()
  }
}

export const guarantee: LongTest = {
  title: 'Prism reports no violation',
  minutes: 5,
  run,
}
