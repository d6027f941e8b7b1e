// Full: needs large tables, other processes, or failures of the database.
import { appendFileSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect } from 'vitest'
import { runArchive, verifyArchive } from '../../server/src/operator/archive.ts'
import type { ArchiveKind } from '../../server/src/operator/archive-kinds.ts'
import { check } from '../../server/src/operator/check.ts'
import { beforeTransaction, rejectWrites } from '../support/faults.ts'
import { countOf, rowsOf, updateRows } from '../support/inspect.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { test } from '../support/test.ts'

const DAY = 86_400_000
const folder = temporaryFolder()
test.afterAll(() => folder.remove())

/** An instant some days before the server's time. */
const daysAgo = ({ clock }: TestServer, days: number) => new Date(clock.ms - days * DAY).toISOString()
const archive = (server: TestServer, kind: ArchiveKind, days = 100) =>
  runArchive(server.deps, { kind, before: daysAgo(server, days), folder: join(folder.path, server.shop.shopId) })
const linesOf = (file: string | null) =>
  gunzipSync(readFileSync(file ?? ''))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
const isIntact = async (server: TestServer) =>
  expect(await check(server.deps)).toMatchObject({ ok: true, problems: [] })

const orderOf = (name: string, more: object = {}) => ({ externalOrderId: name, amountCents: 1000, ...more })
const report = (server: TestServer, name: string, more: object = {}) =>
  server.request('POST', '/api/v1/events', {
    body: { type: 'conversion', currency: 'USD', ...orderOf(name, more) },
    headers: { 'Idempotency-Key': name },
  })

/** A shop with a credited and an uncredited order and a click a year ago, and the same today. */
async function twoYears(): Promise<TestServer> {
  const server = await testServer()
  await withAffiliate(server)
  for (const year of ['old', 'new']) {
    await server.request('POST', '/api/v1/events', {
      body: { type: 'click', ref: 'nisa-karim', clickId: `${year}-click` },
    })
    expect((await report(server, `${year}-credited`, { couponCode: 'NISA16' })).status).toBe(201)
    expect((await report(server, `${year}-uncredited`)).status).toBe(201)
    if (year === 'old') server.clock.advance(365 * DAY)
  }
  return server
}

test('orders without a commission are archived; the others keep their facts', async () => {
  const server = await twoYears()
  const old = rowsOf(server, 'orders', { orderId: 'api:old-uncredited' })
  const { file, rows } = await archive(server, 'orders')
  expect(rows).toBe(2)
  expect(linesOf(file).filter(({ table }) => table === 'orders')).toEqual([{ table: 'orders', row: old[0] }])
  expect(rowsOf(server, 'orders').map(({ orderId }) => orderId)).toEqual([
    'api:new-credited',
    'api:new-uncredited',
    'api:old-credited',
  ])
  await isIntact(server)
  // Reported again, it is decided like a new order.
  const again = await server.request('POST', '/api/v1/events', {
    body: { type: 'conversion', currency: 'USD', ...orderOf('old-uncredited', { couponCode: 'NISA16' }) },
    headers: { 'Idempotency-Key': 'another key' },
  })
  expect([again.status, again.body.commission.amountCents]).toEqual([201, 160])
  const path = '/admin/v1/orders/old-credited/explanation'
  const explanation = await server.request('GET', path, { key: server.shop.ownerToken })
  expect(explanation.body.data.replay.identical).toBe(true)
  await server.close()
})

test('a retry whose stored response was archived creates no second commission', async () => {
  const server = await twoYears()
  const before = countOf(server, 'commissions')
  expect((await archive(server, 'responses')).rows).toBe(2)
  expect(rowsOf(server, 'idempotencyKeys').map(({ key }) => key)).toEqual(['new-credited', 'new-uncredited'])
  const retry = await report(server, 'old-credited', { couponCode: 'NISA16' })
  expect([retry.status, retry.headers.get('X-Order-Already-Recorded')]).toEqual([201, 'true'])
  expect(countOf(server, 'commissions')).toBe(before)
  await isIntact(server)
  await server.close()
})

test('clicks and finished deliveries are archived, pending ones are kept', async () => {
  const server = await testServer()
  await server.request('POST', '/api/v1/webhooks', { body: { url: 'https://example.com/hook' } })
  await withAffiliate(server)
  await server.request('POST', '/api/v1/events', { body: { type: 'click', ref: 'nisa-karim' } })
  await convert(server, { externalOrderId: '1', amountCents: 100, couponCode: 'NISA16' })
  const [first, ...pending] = rowsOf(server, 'deliveries')
  const sent = { status: 'SENT', code: 'ok', finishedAt: daysAgo(server, 0) } as const
  updateRows(server, 'deliveries', sent, { id: first!.id })
  server.clock.advance(200 * DAY)
  await convert(server, { externalOrderId: '2', amountCents: 100, couponCode: 'NISA16' })
  const { file } = await archive(server, 'deliveries')
  expect(linesOf(file).map(({ table, row }) => [table, row.id])).toEqual([
    ['deliveries', first!.id],
    ['webhookEvents', first!.eventId],
  ])
  expect(rowsOf(server, 'deliveries')).toEqual(expect.arrayContaining(pending))
  expect((await archive(server, 'journey')).rows).toBe(2)
  expect(countOf(server, 'journey')).toBe(1)
  await isIntact(server)
  await server.close()
})

test('the audit chain continues after a cut that it vouches for', async () => {
  const server = await twoYears()
  const total = countOf(server, 'audits')
  const all = rowsOf(server, 'audits').toSorted((a, b) => a.seq - b.seq)
  const first = await archive(server, 'audits')
  expect(linesOf(first.file).map(({ row }) => row)).toEqual(all.slice(0, first.rows))
  const list = async () => (await server.owner('GET', '/audit?limit=1')).body
  expect((await list()).pagination.total).toBe(total - first.rows + 1)
  const [stated] = rowsOf(server, 'audits', { action: 'audit.archived' })
  expect([stated?.seq, JSON.parse(stated?.data ?? '')]).toEqual([
    total + 1,
    { throughSeq: first.rows, throughHash: all[first.rows - 1]!.hash, sha256: first.sha256 },
  ])
  await isIntact(server)
  const { cuts } = (await check(server.deps)).audit
  expect(cuts).toEqual([{ shopId: server.shop.shopId, seq: first.rows, hash: all[first.rows - 1]!.hash }])

  server.clock.advance(365 * DAY)
  const second = await archive(server, 'audits')
  const chains = await Promise.all([first, second].map(async ({ file }) => (await verifyArchive(file!)).audits[0]!))
  expect(chains.map(({ from, through }) => [from, through])).toEqual([
    [1, first.rows],
    [first.rows + 1, first.rows + second.rows],
  ])
  expect(linesOf(second.file)[0].row.previousHash).toBe(chains[0]!.hash)
  await isIntact(server)

  for (const [breakIt, problem] of [
    [`update "auditCuts" set hash = 'x' || hash`, /was cut at row \d+, but its archive record is missing/],
    [`update "auditCuts" set seq = seq + 1`, /was cut at row \d+, but its archive record is missing/],
    [`delete from "auditCuts"`, /is broken at row 1: the row is missing/],
    [`delete from audits where seq = (select min(seq) from audits)`, /the row is missing/],
  ] as const) {
    const [cut] = rowsOf(server, 'auditCuts')
    server.sql.exec(breakIt)
    const { problems } = await check(server.deps)
    expect(problems.some((line) => problem.test(line))).toBe(true)
    server.sql.exec('delete from "auditCuts"')
    server.sql
      .prepare('insert into "auditCuts" ("shopId", seq, hash) values (?, ?, ?)')
      .run(cut!.shopId, cut!.seq, cut!.hash)
  }
  await server.close()
})

test('a shop keeps its last audit row, and rows that are still needed are rejected', async () => {
  const server = await testServer()
  server.clock.advance(365 * DAY)
  await archive(server, 'audits')
  server.clock.advance(365 * DAY)
  await archive(server, 'audits')
  await isIntact(server)
  expect(countOf(server, 'audits')).toBeGreaterThan(0)
  await withAffiliate(server, { program: { cookieDurationDays: 120 } })
  await expect(archive(server, 'journey', 119)).rejects.toThrow('at least 120 days ago for journey')
  await expect(archive(server, 'orders', 29)).rejects.toThrow('at least 30 days ago')
  await server.close()
})

test('after an interruption, every row is in an archive or in the database', async () => {
  const server = await twoYears()
  const keys = () => rowsOf(server, 'idempotencyKeys').map(({ key }) => key)
  const before = keys()
  const allowWrites = rejectWrites(server, 'delete', 'idempotencyKeys')
  await expect(archive(server, 'responses')).rejects.toThrow()
  expect(keys()).toEqual(before)
  allowWrites()
  server.clock.advance(1)
  const { file } = await archive(server, 'responses')
  expect([...linesOf(file).map(({ row }) => row.key), ...keys()].sort()).toEqual(before.toSorted())
  await server.close()
})

test('rows whose texts contain line separators of Unicode are archived', async () => {
  const server = await testServer()
  await expectOk(server.owner('POST', '/keys', { label: 'A\u2028B\u2029C', scopes: ['events:write'] }))
  server.clock.advance(365 * DAY)
  await expectOk(server.owner('POST', '/keys', { label: 'B', scopes: ['events:write'] }))
  const { file, rows } = await archive(server, 'audits')
  expect(linesOf(file).some(({ row }) => row.data.includes('A\u2028B\u2029C'))).toBe(true)
  expect(await verifyArchive(file!)).toMatchObject({ rows, problems: [] })
  await isIntact(server)
  await server.close()
})

test('an event is kept while a delivery of it waits for its next attempt', async () => {
  const server = await testServer()
  await server.request('POST', '/api/v1/webhooks', {
    body: { url: 'https://example.com/hook', retryPolicy: 'standard' },
  })
  await withAffiliate(server)
  await convert(server, { externalOrderId: '1', amountCents: 100, couponCode: 'NISA16' })
  const { shopId } = server.shop
  const nextAttemptAt = daysAgo(server, -1)
  updateRows(server, 'deliveries', { status: 'RETRYING', code: 'timeout', attempts: 1, nextAttemptAt }, { shopId })
  const events = countOf(server, 'webhookEvents')
  server.clock.advance(2 * DAY)
  expect((await archive(server, 'deliveries', 1)).rows).toBe(0)
  expect([countOf(server, 'webhookEvents'), countOf(server, 'deliveries')]).toEqual([events, events])
  await server.close()
})

test('runs at the same time never move the cut of an audit back', async () => {
  const server = await testServer()
  for (const label of ['A', 'B', 'C']) {
    await expectOk(server.owner('POST', '/keys', { label, scopes: ['events:write'] }))
    server.clock.advance(365 * DAY)
  }
  const options = (days: number, name: string) => ({
    kind: 'audits' as const,
    before: daysAgo(server, days),
    folder: join(folder.path, `${server.shop.shopId}-${name}`),
  })
  // The run with fewer rows has written its archive when the other one runs from start to end.
  let isFirst = true
  const end = beforeTransaction(server, async () => {
    if (!isFirst) return
    isFirst = false
    await runArchive(server.deps, options(100, 'more'))
  })
  const { rows } = await runArchive(server.deps, options(800, 'fewer')).finally(end)
  expect([rows > 0, isFirst]).toEqual([true, false])
  await isIntact(server)
  const fewer = await runArchive(server.deps, options(800, 'again'))
  expect(fewer.rows).toBe(0)
  await server.close()
})

test('an archive is private, and a changed one is recognized', async () => {
  const server = await twoYears()
  const file = (await archive(server, 'audits')).file!
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect((await verifyArchive(file)).problems).toEqual([])
  appendFileSync(file, 'x')
  expect((await verifyArchive(file)).problems[0]).toBe('its SHA-256 differs')
  expect(readdirSync(dirname(file)).filter((name) => name.endsWith('.part'))).toEqual([])
  expect(readFileSync(`${file}.sha256`, 'utf8')).toContain(basename(file))
  await server.close()
})
