// Full: it waits for time to pass.
// SQLite only: the pages call the use cases that are tested on both databases
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { totalTooLarge } from '../../server/src/contract/errors.ts'
import { QueueFullError } from '../../server/src/database/storage-error.ts'
import { operatorContext } from '../../server/src/domains/accounts/shops.ts'
import { erasePersonCompletely } from '../../server/src/domains/privacy/erasure.ts'
import { addMany } from '../support/many-commissions.ts'
import { openOtherDeps } from '../support/open-deps.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { expectOk, newAffiliate } from '../support/shop.ts'
import { visitorOf, wordsOf } from './visitor.ts'

/** The first report starts its thread. */
const SOON = { timeout: 15_000 }

let server: TestServer
beforeAll(async () => {
  server = await testServer()
  addMany(server, 6000, 6000)
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
  expect(wordsOf(early)).toContain('Calculating this period…')
  expect(early).toContain('data-reload="1500"')
  expect(wordsOf(early)).toContain('approved commissions are unpaid')
  await open()
  // The figures of the period, and the sums of unpaid commissions.
  expect(reports).toBe(2)
  release()
  await expect.poll(async () => wordsOf(await open()), SOON).toContain('Figures of')
  expect(reports).toBe(2)
  await expect.poll(async () => wordsOf(await open()), SOON).toContain('approved commissions are not in a batch:')
  const text = wordsOf(await open())
  expect(text).toContain('Revenue')
  expect(text).not.toContain('Calculating')

  server.clock.advance(600_000)
  expect(wordsOf(await open())).toContain('Figures of Nov 2, 2026 12:00')
  await expect.poll(async () => wordsOf(await open()), SOON).toContain('Figures of Nov 2, 2026 12:10')
  expect(reports).toBe(4)
  db.runReport = runReport
})

test('pages that are opened one after another leave room for other reports of the shop', SOON, async () => {
  const visitor = visitorOf(server)
  await visitor.signIn()
  const { db } = server.deps
  const runReport = db.runReport
  const gate = Promise.withResolvers<void>()
  onTestFinished(() => {
    db.runReport = runReport
    gate.resolve()
  })
  let reports = 0
  db.runReport = async (...report) => {
    reports++
    await gate.promise
    return runReport(...report)
  }
  const open = async (month: number) => (await visitor.open(`/admin?from=2026-0${month}-01&to=2026-0${month}-28`)).text
  for (let month = 1; month <= 9; month++) expect(wordsOf(await open(month))).toContain('Calculating this period…')
  // Sums that an earlier test keeps may be read again, too.
  expect(reports).toBeGreaterThan(4)
  expect(reports).toBeLessThanOrEqual(8)
  gate.resolve()
  await expect.poll(async () => wordsOf(await open(9)), SOON).toContain('Figures of')
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

test('a request that is rejected while its figures are read says why, instead of reading again', async () => {
  const visitor = visitorOf(server)
  await visitor.signIn()
  const { db } = server.deps
  const runReport = db.runReport
  db.runReport = async () => {
    await sleep(50)
    throw totalTooLarge()
  }
  const open = () => visitor.open('/admin?from=2026-10-01&to=2026-10-02')
  expect(wordsOf((await open()).text)).toContain('Calculating')
  await sleep(100)
  const { status, text } = await open()
  expect([status, wordsOf(text)]).toEqual([409, expect.stringContaining('Choose a shorter period.')])
  db.runReport = runReport
})

/** Holds every report back until it is released. */
function holdReports({ deps: { db } }: TestServer): () => void {
  const { runReport } = db
  const held = Promise.withResolvers<void>()
  db.runReport = async (...request) => {
    await held.promise
    return runReport(...request)
  }
  return () => {
    db.runReport = runReport
    held.resolve()
  }
}

const PREVIEW = '/admin/payouts/new?from=2026-10-01&until=2026-10-31'

test.each([
  ['/admin/payouts', 'approved commissions, including those in open batches…', 'Payable now'],
  [PREVIEW, 'Calculating the approved commissions of this period…', 'Create batch of'],
  ['/admin/coupons?code=shp', 'Counting matching rows…', 'Affiliate 999'],
])('%s of a large shop opens while its reports wait, and shows their results afterwards', async (path, early, late) => {
  server.clock.advance(3_700_000)
  const visitor = visitorOf(server)
  await visitor.signIn()
  const release = holdReports(server)
  const opened = await visitor.open(path)
  expect(opened.status).toBe(200)
  expect(wordsOf(opened.text)).toContain(early)
  expect(wordsOf(opened.text)).not.toContain(late)
  release()
  await expect.poll(async () => wordsOf((await visitor.open(path)).text), SOON).toContain(late)
})

test('a page whose reports the queue rejects opens without them, and reads them later', async () => {
  server.clock.advance(3_700_000)
  const visitor = visitorOf(server)
  await visitor.signIn()
  const { db } = server.deps
  const { runReport } = db
  db.runReport = () => Promise.reject(new QueueFullError())
  const opened = await visitor.open(PREVIEW)
  expect([opened.status, wordsOf(opened.text).includes('Calculating')]).toEqual([200, true])
  db.runReport = runReport
  await expect.poll(async () => wordsOf((await visitor.open(PREVIEW)).text), SOON).toContain('Create batch of')
})

test('a user sees the own change at once in a list that was kept', async () => {
  const visitor = visitorOf(server)
  await visitor.signIn()
  const { id } = await newAffiliate(server, { name: 'Found by name' })
  const path = '/admin/affiliates?q=found%20by'
  const statusOf = async () =>
    /Found by name<[\s\S]*?badge [^>]*>([A-Za-z ]+)</.exec((await visitor.open(path)).text)?.[1]
  await expect.poll(statusOf, SOON).toBe('Approved')
  await visitor.submit(`/admin/affiliates/${id}/status`, [['status', 'REJECTED']])
  await expect.poll(statusOf, SOON).toBe('Rejected')
})

test('an erasure ends what was kept about the person at once, also in another process', async () => {
  const visitor = visitorOf(server)
  await visitor.signIn()
  const path = '/admin/affiliates?q=canary'
  const shown = async () => /Zoe (First|Second) Canary/.exec((await visitor.open(path)).text)?.[1]
  const other = await openOtherDeps(server)
  const erasures = {
    First: async (email: string) => expectOk(server.owner('POST', '/privacy/erasures', { email })),
    Second: async (email: string) =>
      erasePersonCompletely(await operatorContext(other.deps, server.shop.shopId), email),
  }
  for (const [name, erase] of Object.entries(erasures)) {
    const email = `zoe.${name}@canary.example`
    await newAffiliate(server, { name: `Zoe ${name} Canary`, email })
    server.clock.advance(3_700_000)
    await expect.poll(shown, SOON).toBe(name)
    expect((await erase(email)).status).toBe('DONE')
    expect([name, await shown()]).toEqual([name, undefined])
  }
  await other.close()
})
