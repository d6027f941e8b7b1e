// Full: it compares a clock with a bound.
// SQLite only: these tests cover the client. Repeated orders on the server are tested with both databases.
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { rowsOf } from '../support/inspect.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { withAffiliate } from '../support/shop.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli, ended, noTerminal, onTerminal, start } from './support.ts'

let server: TestServer
let http: Server
let folder: ReturnType<typeof temporaryFolder>
let env: Record<string, string>
/** Handles a request before the server, like a proxy. */
let before: ((request: Request) => Promise<Response | undefined>) | undefined

beforeEach(async () => {
  server = await testServer()
  server.clock.ms = Date.now()
  await withAffiliate(server)
  folder = temporaryFolder()
  before = undefined
  http = createServer(
    getRequestListener(async (request) => (await before?.(request)) ?? server.app.fetch(request)),
  ).listen(0, '127.0.0.1')
  await once(http, 'listening')
  const { port } = http.address() as { port: number }
  env = { REFERRAL_BASE_URL: `http://127.0.0.1:${port}`, REFERRAL_API_KEY: server.shop.key }
})
afterEach(async () => {
  http.closeAllConnections()
  http.close()
  await server.close()
  folder.remove()
})

const file = (name: string) => join(folder.path, name)
const total = async () => (await server.request('GET', '/api/v1/commissions?limit=1')).body.pagination.total

function writeOrders(name: string, count: number): string {
  const rows = Array.from({ length: count }, (_, i) => `bulk-${i},${(i % 500) + 1}.50,NISA16`)
  writeFileSync(file(name), `Order ID,Amount,Coupon\n${rows.join('\n')}\n`)
  return file(name)
}

interface Report {
  sent: number
  knownBefore: number
  failed: number
  attributed: number
  failedFile: string | null
}

async function importFile(path: string, ...args: string[]) {
  const { code, stdout, stderr } = await cli(['events', 'import', path, ...args, '--json'], { env })
  return { code, stderr, report: JSON.parse(stdout || 'null') as Report }
}

/** `test:long` sends 5,000. */
const ORDERS = Number(process.env.IMPORT_ORDERS ?? 1000)

test('many orders, killed midway and run again, are each recorded once', async () => {
  const path = writeOrders('orders.csv', ORDERS)
  const child = start(['events', 'import', path, '--parallel', '16'], { env })
  const end = ended(child)
  let seen = 0
  before = async () => {
    seen += 1
    if (seen === ORDERS / 2) child.kill('SIGKILL')
    return undefined
  }
  const killed = await end
  expect(killed.code).toBeNull()
  expect(killed.stdout).toBe('')
  expect(killed.stderr).toMatch(new RegExp(`\\d+ of ${ORDERS}`))
  before = undefined
  const half = await total()
  expect(half).toBeGreaterThan(ORDERS * 0.4)
  expect(half).toBeLessThan(ORDERS * 0.6)

  const { code, report, stderr } = await importFile(path, '--parallel', '16')
  expect(code).toBe(0)
  expect(stderr).toMatch(/\d+ of \d+/)
  // Orders sent before the kill are detected by the journal or by the service, even those that it recorded after `half`.
  const known = report.knownBefore
  expect(report).toMatchObject({ sent: ORDERS - known, failed: 0, attributed: ORDERS - known })
  expect([known >= half, known <= half + 16]).toEqual([true, true])
  expect(await total()).toBe(ORDERS)
  const sum = rowsOf(server, 'commissions').reduce((total, row) => total + row.orderSubtotalCents, 0)
  expect(sum).toBe(Array.from({ length: ORDERS }, (_, i) => ((i % 500) + 1) * 100 + 50).reduce((a, b) => a + b))

  let requests = 0
  before = async () => {
    requests += 1
    return undefined
  }
  const third = await importFile(path)
  expect(third).toMatchObject({ code: 0, report: { sent: 0, knownBefore: ORDERS } })
  expect(third.stderr).toContain(`${ORDERS} orders were already sent`)
  expect(requests).toBe(0)
  const [journal] = readdirSync(folder.path).filter((name) => name.endsWith('.sent'))
  expect(third.stderr).toMatch(new RegExp(`${journal} .*delete that file`))
}, 120_000)

test('without a journal, the service detects repeated orders', async () => {
  const path = writeOrders('orders.csv', 20)
  await importFile(path)
  const copy = file('copy.csv')
  writeFileSync(copy, readFileSync(path))
  expect((await importFile(copy)).report).toMatchObject({ sent: 0, knownBefore: 20 })
  expect(await total()).toBe(20)
})

test('invalid rows are written to failed.csv with a reason, and can be corrected and imported', async () => {
  writeFileSync(
    file('orders.csv'),
    'Order ID,Amount,Coupon,Date\nA,10.00,NISA16,2026-10-01\nB,ten,NISA16,2026-10-01\nC,10.00,NISA16,2026-10-01 10:00\nD,10.00\nE,10.00,NISA16,2026-10-02 10:00:00 +0200\nF,5.00,NISA16,2026-10-01\nF,6.00,NISA16,2026-10-01\nG,7.00,NISA16,03/10/2026 10:00\n',
  )
  const { code, report, stderr } = await importFile(file('orders.csv'))
  expect(code).toBe(8)
  expect(report).toMatchObject({ sent: 2, failed: 6, failedFile: file('failed.csv') })
  expect(stderr).toContain('line 3: ten is not an amount')
  const failed = readFileSync(file('failed.csv'), 'utf8').trim().split('\n')
  expect(failed[0]).toBe('Order ID,Amount,Coupon,Date,error')
  expect(failed[1]).toBe('B,ten,NISA16,2026-10-01,ten is not an amount')
  expect(failed[2]).toMatch(/^C,10.00,NISA16,2026-10-01 10:00,.*offset/)
  expect(failed).toHaveLength(7)
  expect(failed[6]).toMatch(/--date-format.*--time-zone/)
  writeFileSync(file('failed.csv'), `${failed[0]}\n${failed[1]?.replace('ten', '12.00')}\n`)
  expect(await importFile(file('failed.csv'))).toMatchObject({ code: 0, report: { sent: 1, failed: 0 } })
  expect(await total()).toBe(3)
})

test('an ambiguous file is rejected before anything is sent', async () => {
  writeFileSync(file('orders.csv'), 'Order ID,Amount,Coupon\nA,100,NISA16\n')
  const { code, report } = await importFile(file('orders.csv'))
  expect({ code, report }).toEqual({ code: 2, report: null })
  expect((await importFile(file('orders.csv'), '--money', 'units')).report.sent).toBe(1)
  const { body } = await server.request('GET', '/api/v1/commissions')
  expect(body.data[0].orderSubtotalCents).toBe(10_000)
  writeFileSync(file('other.csv'), 'Order ID,Total\nA,100.00\n')
  expect((await importFile(file('other.csv'))).code).toBe(2)
  expect((await importFile(file('missing.csv'))).code).toBe(3)
  writeFileSync(file('latin.csv'), Buffer.from('Order ID,Amount\nA,1.00\n\xe9', 'latin1'))
  expect((await importFile(file('latin.csv'))).code).toBe(2)
})

test('requests follow the rate limit headers, so that none is rejected', async () => {
  const WINDOW_MS = 1000
  const LIMIT = 20
  let [opened, used, refused] = [0, 0, 0]
  before = async (request) => {
    if (Date.now() - opened >= WINDOW_MS) [opened, used] = [Date.now(), 0]
    used += 1
    const headers = {
      'X-RateLimit-Limit': String(LIMIT),
      'X-RateLimit-Remaining': String(Math.max(0, LIMIT - used)),
      'X-RateLimit-Reset': String(Math.ceil((opened + WINDOW_MS - Date.now()) / 1000)),
    }
    if (used > LIMIT) {
      refused += 1
      return Response.json(
        { error: 'Too many requests.' },
        { status: 429, headers: { ...headers, 'X-Error-Code': 'rate_limited' } },
      )
    }
    const answer = await server.app.fetch(request)
    for (const [name, value] of Object.entries(headers)) answer.headers.set(name, value)
    return answer
  }
  const { code, report } = await importFile(writeOrders('orders.csv', 70), '--parallel', '8')
  expect({ code, sent: report.sent, refused }).toEqual({ code: 0, sent: 70, refused: 0 })
}, 30_000)

test.each([
  [50, false],
  [51, true],
])('an import of more than five minutes hints at a key of its own: %i orders', async (count, isHinted) => {
  before = async (request) => {
    const answer = await server.app.fetch(request)
    answer.headers.set('X-RateLimit-Limit', '10')
    return answer
  }
  const { code, stderr } = await importFile(writeOrders('orders.csv', count), '--parallel', '8')
  expect([code, stderr.split('key of its own').length - 1]).toEqual([0, isHinted ? 1 : 0])
})

test('Ctrl-C stops between two orders and prints how to continue', async () => {
  const path = writeOrders('orders.csv', 300)
  const child = start(['events', 'import', path], { env })
  const end = ended(child)
  let seen = 0
  before = async () => {
    seen += 1
    if (seen === 30) child.kill('SIGINT')
    return undefined
  }
  const { code, stdout, stderr } = await end
  expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
  expect(stderr).toContain('Run the same command again')
  before = undefined
  expect((await importFile(path)).report).toMatchObject({ failed: 0 })
  expect(await total()).toBe(300)
})

test('an error of the service ends the import, and the next run sends the rest', async () => {
  const path = writeOrders('orders.csv', 30)
  let seen = 0
  before = async () => {
    seen += 1
    return seen > 10
      ? Response.json(
          { error: 'This API key was revoked. Create a new key.' },
          { status: 403, headers: { 'X-Error-Code': 'key_revoked' } },
        )
      : undefined
  }
  const { code, report } = await importFile(path)
  expect({ code, report }).toEqual({ code: 4, report: null })
  expect(existsSync(file('failed.csv'))).toBe(false)
  before = undefined
  expect((await importFile(path)).report).toMatchObject({ sent: 20, knownBefore: 10 })
})

test.skipIf(noTerminal)('on a terminal, the columns are shown and confirmation is required', async () => {
  const path = writeOrders('orders.csv', 3)
  const no = await onTerminal(['events', 'import', path], { env, answers: [[/\[y\/N\]/, 'n\n']] })
  expect(no.code).toBe(9)
  expect(no.output).toMatch(/externalOrderId\s+Order ID/)
  expect(await total()).toBe(0)
  const yes = await onTerminal(['events', 'import', path], { env, answers: [[/\[y\/N\]/, 'y\n']] })
  expect(yes.code).toBe(0)
  expect(yes.output).toMatch(/\[#+\] 3 of 3/)
  expect(await total()).toBe(3)
})
