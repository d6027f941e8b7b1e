import { afterAll, beforeAll, expect, test } from 'vitest'
import { StorageError } from '../../server/src/database/storage-error.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { testReport } from './test-report.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
})
afterAll(() => server.close())

const asked = (job: string, shopId = 'shp_1') => ({ job, shopId })
const run = (job: string, ms?: number) => server.db.runReport(testReport, asked(job), ms)
const failure = (job: string, ms?: number) =>
  run(job, ms).then(
    () => 'no failure',
    (error) => error,
  )

test('it reads what is committed, in the order it was asked', async () => {
  const before = await run('shops')
  await server.createShop()
  expect(await Promise.all([run('shops'), run('shops')])).toEqual([Number(before) + 1, Number(before) + 1])
})

test('it holds up nobody, is ended when it takes too long, and starts again', async () => {
  let isStuck = true
  const stuck = failure('hang', 700).finally(() => {
    isStuck = false
  })
  const waiting = run('shops')
  expect((await server.request('GET', '/api/v1/commissions')).status).toBe(200)
  expect(isStuck).toBe(true)
  expect(await stuck).toMatchObject({ code: 'report_timeout' })
  expect(await waiting).toBe(await run('shops'))
})

test('a thread that dies fails its own work alone', async () => {
  const [died, other] = [failure('exit'), run('shops')]
  expect(await died).toBeInstanceOf(StorageError)
  expect(await died).toMatchObject({ code: 'report_ended' })
  expect(await other).toBeGreaterThan(0)
})

test('what the database refuses is told from a bug, and nothing can be written', async () => {
  expect(await failure('storage')).toBeInstanceOf(StorageError)
  const bug = await failure('bug')
  expect([bug instanceof StorageError, bug.message]).toEqual([false, 'a bug'])
  expect(await failure('write')).toBeInstanceOf(Error)
  expect(await run('shops')).toBeGreaterThan(0)
})

test('a bug that cannot be copied is told as one, and so is such an answer; the thread goes on', async () => {
  const odd = await failure('odd bug')
  expect([odd instanceof StorageError, odd.name, odd.message]).toEqual([false, 'TypeError', 'odd'])
  expect(odd.stack).toContain('test-report')
  expect(await failure('odd answer')).toMatchObject({ name: 'DataCloneError' })
  expect(await run('shops')).toBeGreaterThan(0)
})

test('shops take turns, and one that has too much waiting takes nothing from the others', async () => {
  const order: string[] = []
  const ask = (shopId: string, job = 'shops') =>
    server.db.runReport(testReport, asked(job, shopId)).then(
      () => void order.push(shopId),
      (error) => void order.push(error.code),
    )
  const many = Array.from({ length: 40 }, () => ask('shp_many', 'rest'))
  await Promise.all([ask('shp_other'), ask('shp_third')])
  expect(order.filter((one) => one === 'too_much_waiting')).toHaveLength(7)
  expect(order.filter((one) => one === 'shp_many').length).toBeLessThanOrEqual(3)
  await Promise.all(many)
})

test('503 with a sentence of its own for the shop whose reports wait', async () => {
  const waiting = Array.from({ length: 33 }, () => server.db.runReport(testReport, asked('rest', server.shop.shopId)))
  const { status, headers, body } = await server.request('GET', '/api/v1/analytics')
  expect([status, headers.get('X-Error-Code'), headers.get('Retry-After')]).toEqual([503, 'storage_unavailable', '1'])
  expect(body.error).toBe('Too many reports are queued for your shop. Retry in a moment.')
  const other = await server.createShop()
  expect((await server.request('GET', '/api/v1/analytics', { key: other.key })).status).toBe(200)
  await Promise.all(waiting)
})

test('503 for analytics whose thread ended, and the next call answers', async () => {
  const ended = failure('hang', 300)
  const { runReport } = server.db
  server.db.runReport = () => runReport(testReport, asked('exit')) as never
  const refused = await server.request('GET', '/api/v1/analytics')
  server.db.runReport = runReport
  expect([refused.status, refused.headers.get('X-Error-Code')]).toEqual([503, 'storage_unavailable'])
  await ended
  expect((await server.request('GET', '/api/v1/analytics')).status).toBe(200)
})

test('closing the database ends it, and what waits', async () => {
  const other = await testServer()
  const stuck = other.db.runReport(testReport, asked('hang')).catch((error) => error)
  const waiting = other.db.runReport(testReport, asked('shops')).catch((error) => error)
  await new Promise((done) => setTimeout(done, 100))
  await other.close()
  expect([await stuck, await waiting]).toMatchObject([{ code: 'report_closed' }, { code: 'report_closed' }])
})
