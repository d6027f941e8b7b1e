// Full: needs large tables, other processes, or failures of the database.
import { expect } from 'vitest'
import { StorageError } from '../../server/src/database/storage-error.ts'
import { engine } from '../support/database.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { sharedReport, testReport } from './test-report.ts'

const asked = (job: string, shopId = 'shp_1') => ({ job, shopId })
const run = (server: TestServer, job: string, ms?: number) => server.db.runReport(testReport, asked(job), ms)
const failure = (server: TestServer, job: string, ms?: number) =>
  run(server, job, ms).then(
    () => 'no failure',
    (error) => error,
  )

test('reports read committed data, in the order of their requests', async ({ server }) => {
  const before = await run(server, 'shops')
  await server.createShop()
  expect(await Promise.all([run(server, 'shops'), run(server, 'shops')])).toEqual([
    Number(before) + 1,
    Number(before) + 1,
  ])
})

test('a report blocks no request, is terminated on timeout, and the worker restarts', async ({ server }) => {
  let isStuck = true
  const stuck = failure(server, 'hang', 700).finally(() => {
    isStuck = false
  })
  const waiting = run(server, 'shops')
  expect((await server.request('GET', '/api/v1/commissions')).status).toBe(200)
  expect(isStuck).toBe(true)
  expect(await stuck).toMatchObject({ code: 'report_timeout' })
  expect(await waiting).toBe(await run(server, 'shops'))
})

test('a short report does not wait for a long one', async ({ server }) => {
  let isRunning = true
  const long = server.db.runReport(testReport, asked('long'), undefined, true).finally(() => {
    isRunning = false
  })
  await run(server, 'shops')
  expect(isRunning).toBe(true)
  await long
})

test('a thread that exits fails only its own report', async ({ server }) => {
  const [died, other] = [failure(server, 'exit'), run(server, 'shops')]
  expect(await died).toBeInstanceOf(StorageError)
  expect(await died).toMatchObject({ code: 'report_ended' })
  expect(await other).toBeGreaterThan(0)
})

test('database errors are distinguished from bugs, and nothing can be written', async ({ server }) => {
  expect(await failure(server, 'storage')).toBeInstanceOf(StorageError)
  const bug = await failure(server, 'bug')
  expect([bug instanceof StorageError, bug.message]).toEqual([false, 'a bug'])
  expect(await failure(server, 'write')).toBeInstanceOf(Error)
  expect(await run(server, 'shops')).toBeGreaterThan(0)
})

test('errors and results that cannot be cloned are reported as bugs; the thread continues', async ({ server }) => {
  const odd = await failure(server, 'odd bug')
  expect([odd instanceof StorageError, odd.name, odd.message]).toEqual([false, 'TypeError', 'odd'])
  expect(odd.stack).toContain('test-report')
  expect(await failure(server, 'odd answer')).toMatchObject({ name: 'DataCloneError' })
  expect(await run(server, 'shops')).toBeGreaterThan(0)
})

test('shops alternate, and a shop with too many queued reports does not affect others', async ({ server }) => {
  const order: string[] = []
  const ask = (shopId: string, job = 'shops') =>
    server.db.runReport(testReport, asked(job, shopId)).then(
      () => void order.push(shopId),
      (error) => void order.push(error.code),
    )
  const many = Array.from({ length: 40 }, () => ask('shp_many', 'rest'))
  await Promise.all([ask('shp_other'), ask('shp_third')])
  expect(order.filter((one) => one === 'queue_full')).toHaveLength(7)
  expect(order.filter((one) => one === 'shp_many').length).toBeLessThanOrEqual(3)
  await Promise.all(many)
})

/** Queues the analytics of shops in this order while the thread is busy, and returns the order of the responses. */
async function orderOf(server: TestServer, asked: [name: string, key: string][]): Promise<string[]> {
  const { runReport } = server.db
  const release = new Int32Array(new SharedArrayBuffer(4))
  const busy = runReport(testReport, { job: 'wait', shopId: 'shp_busy', release })
  let queued = 0
  server.db.runReport = (...report) => {
    queued++
    return runReport(...report)
  }
  const order: string[] = []
  const all = []
  for (const [index, [name, key]] of asked.entries()) {
    const response = server.request('GET', '/api/v1/analytics', { key })
    all.push(response.then(({ status }) => void order.push(status === 200 ? name : `${name} ${status}`)))
    while (queued <= index) await new Promise((done) => setTimeout(done, 1))
  }
  server.db.runReport = runReport
  Atomics.store(release, 0, 1)
  Atomics.notify(release, 0)
  await Promise.all([busy, ...all])
  return order
}

test('test shops share the turns of their shop', async ({ server }) => {
  const live = await server.createShop()
  const { owner } = server.asShop(live)
  const keys = [live.key]
  for (let n = 0; n < 3; n++) keys.push((await expectOk(owner('POST', '/test-shops', {}))).apiKey)
  const other = await server.createShop()
  const own = [...keys, ...keys].map((key): [string, string] => ['own', key])
  const order = await orderOf(server, [...own, ['other', other.key]])
  expect(order.indexOf('other')).toBeLessThanOrEqual(1)
  expect(order.filter((name) => name === 'own')).toHaveLength(8)
})

test('equal reports that wait share one run; one that has begun is not shared', async ({ server }) => {
  const ask = (shopId: string) => server.db.runReport(sharedReport, { shopId })
  const first = await ask('shp_1')
  const busy = run(server, 'long')
  const shared = await Promise.all([ask('shp_1'), ask('shp_1'), ask('shp_1')])
  expect(shared).toEqual([first + 1, first + 1, first + 1])
  expect(await Promise.all([ask('shp_1'), ask('shp_2')])).toEqual([first + 2, first + 3])
  await busy
})

test('503 and a retry after a minute for a report that took too long', async ({ server }) => {
  const { runReport } = server.db
  server.db.runReport = () => runReport(testReport, asked('hang'), 200) as never
  const { status, headers } = await server.request('GET', '/api/v1/analytics')
  server.db.runReport = runReport
  expect([status, headers.get('X-Error-Code'), headers.get('Retry-After')]).toEqual([503, 'server_busy', '60'])
})

test('503 and a retry after a second for the shop whose reports are queued', async ({ server }) => {
  const waiting = Array.from({ length: 33 }, () => server.db.runReport(testReport, asked('rest', server.shop.shopId)))
  const { status, headers } = await server.request('GET', '/api/v1/analytics')
  expect([status, headers.get('X-Error-Code'), headers.get('Retry-After')]).toEqual([503, 'server_busy', '1'])
  const other = await server.createShop()
  expect((await server.request('GET', '/api/v1/analytics', { key: other.key })).status).toBe(200)
  await Promise.all(waiting)
})

test('503 for analytics whose thread exited, and the next call succeeds', async ({ server }) => {
  const ended = failure(server, 'hang', 300)
  const { runReport } = server.db
  server.db.runReport = () => runReport(testReport, asked('exit')) as never
  const refused = await server.request('GET', '/api/v1/analytics')
  server.db.runReport = runReport
  expect([refused.status, refused.headers.get('X-Error-Code')]).toEqual([503, 'storage_unavailable'])
  await ended
  expect((await server.request('GET', '/api/v1/analytics')).status).toBe(200)
})

test.runIf(engine === 'postgres')(
  'a report keeps one process of PostgreSQL busy, not all processors',
  async ({ server }) => {
    const plan = JSON.stringify(await run(server, 'plan'))
    expect(plan).toContain('Scan')
    expect(plan).not.toContain('Gather')
  },
)

test('the sign-in page starts the report thread, so that the next page does not wait for it', async () => {
  const server = await testServer()
  let threads = 0
  const count = () => threads++
  process.on('worker', count)
  await server.fetch('http://test/admin/sign-in')
  await expect.poll(() => threads).toBe(1)
  await run(server, 'shops')
  process.off('worker', count)
  expect(threads).toBe(1)
  await server.close()
})

test('closing the database terminates the worker and rejects queued reports', async () => {
  const other = await testServer()
  const stuck = other.db.runReport(testReport, asked('hang')).catch((error) => error)
  const waiting = other.db.runReport(testReport, asked('shops')).catch((error) => error)
  await new Promise((done) => setTimeout(done, 100))
  await other.close()
  expect([await stuck, await waiting]).toMatchObject([{ code: 'report_closed' }, { code: 'report_closed' }])
})
