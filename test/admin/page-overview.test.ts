// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addMany } from '../support/many-commissions.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { visitorOf, wordsOf } from './page-fixture.ts'

/** The first report starts its thread. */
const SOON = { timeout: 15_000 }

let server: TestServer
beforeAll(async () => {
  server = await testServer()
  addMany(server, 6000)
})
afterAll(() => server.close())

test('the overview of a large shop opens before its figures are added up, reads them once, and shows them afterwards with their time', async () => {
  const visitor = visitorOf(server)
  await visitor.signIn()
  const { db } = server.deps
  const runReport = db.runReport
  let reports = 0
  let release = () => {}
  const held = new Promise<void>((done) => {
    release = done
  })
  db.runReport = async (report, input, timeoutMs) => {
    reports++
    await held
    return runReport(report, input, timeoutMs)
  }
  const open = async () => (await visitor.open('/admin')).text
  const early = await open()
  expect(wordsOf(early)).toContain('The figures of this period are being added up.')
  expect(early).toContain('data-reload="1500"')
  expect(wordsOf(early)).toContain('approved commissions are unpaid')
  await open()
  expect(reports).toBe(1)
  release()
  await expect.poll(async () => wordsOf(await open()), SOON).toContain('Figures of')
  expect(reports).toBe(1)
  const text = wordsOf(await open())
  expect(text).toContain('Revenue')
  expect(text).not.toContain('being added up')

  server.clock.advance(61_000)
  expect(wordsOf(await open())).toContain('Figures of Nov 2, 2026 12:00')
  await expect.poll(async () => wordsOf(await open()), SOON).toContain('Figures of Nov 2, 2026 12:01')
  expect(reports).toBe(2)
  db.runReport = runReport
})

test('figures that cannot be read are read again by the next request', async () => {
  const visitor = visitorOf(server)
  await visitor.signIn()
  const { db } = server.deps
  const runReport = db.runReport
  db.runReport = () => Promise.reject(new Error('broken'))
  expect((await visitor.open('/admin?days=7')).status).toBe(500)
  db.runReport = runReport
  await expect.poll(async () => wordsOf((await visitor.open('/admin?days=7')).text), SOON).toContain('Figures of')
})
