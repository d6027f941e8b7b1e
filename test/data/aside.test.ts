import { afterAll, beforeAll, expect, test } from 'vitest'
import { StorageError } from '../../server/src/db/storage-error.ts'
import { type TestServer, testServer } from '../support/server.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
})
afterAll(() => server.close())

const JOBS = new URL('./aside-jobs.ts', import.meta.url)
const run = (wish: string, ms?: number) => server.db.aside<unknown>(JOBS, wish, ms)
const failure = (wish: string, ms?: number) =>
  run(wish, ms).then(
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
  expect(await stuck).toMatchObject({ code: 'aside_timeout' })
  expect(await waiting).toBe(await run('shops'))
})

test('a thread that dies fails its own work alone', async () => {
  const [died, other] = [failure('exit'), run('shops')]
  expect(await died).toBeInstanceOf(StorageError)
  expect(await died).toMatchObject({ code: 'aside_ended' })
  expect(await other).toBeGreaterThan(0)
})

test('what the database refuses is told from a bug, and nothing can be written', async () => {
  expect(await failure('storage')).toBeInstanceOf(StorageError)
  const bug = await failure('bug')
  expect([bug instanceof StorageError, bug.message]).toEqual([false, 'a bug'])
  expect(await failure('write')).toBeInstanceOf(Error)
  expect(await run('shops')).toBeGreaterThan(0)
})

test('503 for analytics whose thread ended, and the next call answers', async () => {
  const ended = failure('hang', 300)
  const { aside } = server.db
  server.db.aside = (_module, _input) => aside(JOBS, 'exit')
  const refused = await server.request('GET', '/api/v1/analytics')
  server.db.aside = aside
  expect([refused.status, refused.headers.get('X-Error-Code')]).toEqual([503, 'storage_unavailable'])
  await ended
  expect((await server.request('GET', '/api/v1/analytics')).status).toBe(200)
})

test('closing the database ends it, and what waits', async () => {
  const other = await testServer()
  const stuck = other.db.aside(JOBS, 'hang').catch((error) => error)
  const waiting = other.db.aside(JOBS, 'shops').catch((error) => error)
  await new Promise((done) => setTimeout(done, 100))
  await other.close()
  expect([await stuck, await waiting]).toMatchObject([{ code: 'aside_closed' }, { code: 'aside_closed' }])
})
