// Full: it starts other processes.
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningServer, run, startServer } from '../support/process.ts'
import { sendRaw } from '../support/raw-http.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folder = temporaryFolder()
const env = { REFERRAL_DATA_DIR: folder.path, REFERRAL_DEMO: '0', METRICS_TOKEN: 'a-token-of-the-operator' }
let server: RunningServer
let key: string
let ownerToken: string
beforeAll(async () => {
  server = await startServer(env)
  const shop = JSON.parse((await run(['shop', 'create', '--name', 'S', '--json'], env)).stdout)
  ownerToken = shop.ownerToken
  const made = await run(['key', 'create', '--shop', shop.shopId, '--label', 'K', '--scope', 'all', '--json'], env)
  key = JSON.parse(made.stdout).secret
})
afterAll(async () => {
  await server.stop('SIGKILL')
  folder.remove()
})

const read = (headers: Record<string, string> = {}) => fetch(`${server.url}/metrics`, { headers })
async function value(name: string): Promise<number> {
  const lines = (await (await read()).text()).split('\n')
  const line = lines.find((one) => one.startsWith(`${name} `))
  return line ? Number(line.slice(name.length + 1)) : 0
}
const call = (method: string, path: string, body?: object) =>
  fetch(`${server.url}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${path.startsWith('/admin') ? ownerToken : key}`,
      'Idempotency-Key': crypto.randomUUID(),
    },
    body: body && JSON.stringify(body),
  })

test('the first scrape includes the database', async () => {
  expect(await value('referral_database_up')).toBe(1)
})

test('requests are counted by operation and status, with their durations', async () => {
  for (let i = 0; i < 3; i++) await call('GET', '/api/v1/affiliates')
  await call('GET', '/api/v1/affiliates?limit=1000')
  await call('GET', '/api/v1/none')
  expect(await value('referral_http_requests_total{operation="listAffiliates",status="200"}')).toBe(3)
  expect(await value('referral_http_requests_total{operation="listAffiliates",status="400"}')).toBe(1)
  expect(await value('referral_http_requests_total{operation="other",status="404"}')).toBe(1)
  expect(await value('referral_http_request_seconds_count{operation="listAffiliates"}')).toBe(4)
})

test('changes, the outbox and the database are reported', async () => {
  const before = await value('referral_commit_group_size_count')
  await call('POST', '/api/v1/programs', { name: 'P' })
  expect(await value('referral_commit_group_size_count')).toBeGreaterThan(before)
  expect([await value('referral_outbox_pending'), await value('referral_database_up')]).toEqual([0, 1])
  expect(await value('process_resident_memory_bytes')).toBeGreaterThan(1e6)
})

test('returned and blocked payments are counted', async () => {
  const data = async (method: string, path: string, body?: object) => {
    const response = await call(method, path, body)
    expect(response.status, path).toBeLessThan(300)
    return (await response.json()).data
  }
  const { id: campaignId } = await data('POST', '/api/v1/programs', { name: 'Payments', autoApproveOrder: true })
  for (const name of ['paid', 'blocked']) {
    const { id, slug } = await data('POST', '/api/v1/affiliates', { email: `${name}@x.example`, name, campaignId })
    await data('PATCH', `/api/v1/affiliates?id=${id}`, { status: 'APPROVED' })
    await data('POST', '/api/v1/events', { externalOrderId: name, amountCents: 10_000, ref: slug })
    const payee = { method: 'PAYPAL', email: 'p@x.example' }
    if (name === 'paid') await data('PUT', `/admin/v1/affiliates/${id}/payee`, payee)
  }
  const period = { periodStart: '2000-01-01', periodEnd: '2099-01-01' }
  const { id: batchId } = await data('POST', '/api/v1/payouts', period)
  expect(await value('referral_payments_total{result="blocked"}')).toBe(0)
  await data('PUT', '/admin/v1/payout-files/f', { batchId, format: 'paypal' })
  expect(await value('referral_payments_total{result="blocked"}')).toBe(1)
  const [{ paymentReference }] = await data('GET', '/admin/v1/payout-files/f/lines')
  const results = [
    { paymentReference, outcome: 'RETURNED' },
    { paymentReference: 'PLN', outcome: 'SETTLED' },
  ]
  await data('POST', '/admin/v1/payout-lines/reconcile', { results })
  for (const result of ['returned', 'unknown'])
    expect(await value(`referral_payments_total{result="${result}"}`)).toBe(1)
  expect(await value('referral_payments_total{result="settled"}')).toBe(0)
})

test('rate-limited requests are counted', async () => {
  for (let i = 0; i < 105; i++) await call('GET', '/api/v1/programs')
  expect(await value('referral_limit_hits_total')).toBeGreaterThan(0)
  expect(await value('referral_limit_store_failures_total')).toBe(0)
})

/** The exact request line and headers, for what `fetch` does not let a caller set. */
async function readRaw(lines: string[], version = '1.1'): Promise<number | undefined> {
  const port = Number(new URL(server.url).port)
  const [answer] = await sendRaw(port, `GET /metrics HTTP/${version}\r\n${lines.join('\r\n')}\r\n\r\n`, { ends: true })
  return answer?.status
}

test('200 for a local process, by any name of the machine', async () => {
  expect((await read()).status).toBe(200)
  for (const host of ['127.0.0.1', '127.0.0.1:8787', 'localhost:8787', 'LOCALHOST', '[::1]:8787'])
    expect(await readRaw([`Host: ${host}`, 'Connection: close']), host).toBe(200)
})

test('403 through a proxy on this machine, unless the token is sent', async () => {
  const elsewhere = { 'X-Forwarded-For': '127.0.0.1' }
  expect((await read(elsewhere)).status).toBe(403)
  expect((await read({ ...elsewhere, Authorization: 'Bearer wrong' })).status).toBe(403)
  expect((await read({ ...elsewhere, Authorization: `Bearer ${env.METRICS_TOKEN}` })).status).toBe(200)
})

const local = 'Host: 127.0.0.1:8787'
test.each<[proxy: string, lines: string[], version?: string]>([
  ['nginx with only proxy_pass', [local, 'Connection: close'], '1.0'],
  ['a named upstream', ['Host: referral', 'Connection: close'], '1.1'],
  ['a proxy that keeps the host', ['Host: shop.example'], '1.1'],
  ['a host that only begins like a loopback address', ['Host: 127.0.0.1.evil.example'], '1.1'],
  ['Forwarded', [local, 'Forwarded: for=127.0.0.1']],
  ['Via', [local, 'Via: 1.1 proxy']],
  ['X-Forwarded-Host', [local, 'X-Forwarded-Host: shop.example']],
  ['X-Forwarded-Proto', [local, 'x-forwarded-proto: https']],
  ['an empty X-Forwarded-For', [local, 'X-Forwarded-For:']],
  ['X-Real-IP', [local, 'X-Real-IP: 127.0.0.1']],
  ['a content delivery network', [local, 'CF-Connecting-IP: 203.0.113.9']],
])('403 behind %s', async (_proxy, lines, version) => {
  expect(await readRaw(lines, version)).toBe(403)
})

test('no key, token or address is in them', async () => {
  const text = await (await read()).text()
  expect(text).not.toContain(key.slice(0, 10))
  expect(text).not.toContain('a-token')
  expect(text).not.toContain('127.0.0.1')
})

test.each(['grafana-dashboard.json', 'alerts.yml'])('deploy/%s uses existing metrics', async (file) => {
  const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8')
  const asked = new Set(text.match(/\b(referral|nodejs|process)_[a-z0-9_]+/g))
  const exposed = await (await read()).text()
  const kinds = /_(bucket|sum|count)$/
  expect([...asked].filter((name) => !new RegExp(`^# TYPE ${name.replace(kinds, '')} `, 'm').test(exposed))).toEqual([])
  expect(asked.size).toBeGreaterThan(7)
})

test('a server with another encryption key does not start on this database', async () => {
  const other = { ...env, REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 9).toString('base64') }
  const { code, stderr } = await run(['serve'], other)
  expect([code, stderr.trim().split('\n').length]).toEqual([1, 1])
  expect(stderr).toContain('REFERRAL_ENCRYPTION_KEY does not match the encryption key of this database')
})
