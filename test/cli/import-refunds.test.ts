// SQLite only: these tests cover the client. Refunds are tested with both databases.
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { admin } from '../support/owner.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli } from './support.ts'

let server: TestServer
let http: Server
let env: Record<string, string>
const folder = temporaryFolder()

beforeAll(async () => {
  server = await testServer()
  server.clock.ms = Date.now()
  await withAffiliate(server)
  http = createServer(getRequestListener((request) => server.app.fetch(request))).listen(0, '127.0.0.1')
  await once(http, 'listening')
  const { port } = http.address() as { port: number }
  env = { REFERRAL_BASE_URL: `http://127.0.0.1:${port}`, REFERRAL_API_KEY: server.shop.key }
})
afterAll(async () => {
  http.closeAllConnections()
  http.close()
  await server.close()
  folder.remove()
})

let files = 0

/** Imports a file that no run has seen, so that the service alone detects what is known. */
async function importRows(command: string, rows: readonly string[], ...args: string[]) {
  const path = join(folder.path, `file-${++files}.csv`)
  writeFileSync(path, rows.map((row) => `${row}\n`).join(''))
  const run = async () => {
    const { code, stdout, stderr } = await cli(['events', command, path, ...args, '--json'], { env })
    const report = JSON.parse(stdout || 'null')
    const reasons = report?.failedFile
      ? readFileSync(report.failedFile, 'utf8').trim().split('\n').slice(1).map(reasonOf)
      : []
    if (report?.failedFile) rmSync(report.failedFile)
    return { code, stderr, report, reasons }
  }
  return { ...(await run()), run }
}

/** The last cell of a row of failed.csv. */
const reasonOf = (row: string) => /(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))$/.exec(row)?.slice(1).find(Boolean) ?? ''

const importOrders = (rows: readonly string[], ...args: string[]) =>
  importRows('import', rows, '--from', 'csv', ...args)
const importRefunds = (rows: readonly string[], ...args: string[]) => importRows('import-refunds', rows, ...args)

/** Status and current commission of the orders whose id starts with a prefix. */
const ledger = async (prefix: string) =>
  Object.fromEntries(
    (await server.client.commissions.list().toArray())
      .filter(({ externalOrderId }) => externalOrderId?.startsWith(prefix))
      .map((row) => [row.externalOrderId, `${row.orderStatus} ${row.commissionAmountCents} ${row.orderCurrency}`]),
  )

const HEADER = 'Order ID,Name,Status,Subtotal,Shipping,Tax,Total,Refunded Amount,Cancelled at,Currency,Coupon,Date'
const BY_ID = ['--map', 'externalOrderId=Order ID', '--map', 'orderName=Name', '--map', 'amountCents=Subtotal']

test('orders with a refunded amount are reported with their refunds, and canceled ones as canceled', async () => {
  await expectOk(convert(server, { externalOrderId: 'A-4', amountCents: 10_000, couponCode: 'NISA16' }))
  const rows = [
    HEADER,
    'A-1,Zoë,paid,100.00,10.00,10.00,120.00,0,,USD,NISA16,2026-10-01',
    'A-2,José,partially_refunded,100.00,10.00,10.00,120.00,30.00,,EUR,NISA16,2026-10-01',
    'A-3,Anna,refunded,100.00,10.00,10.00,120.00,0,,USD,NISA16,2026-10-01',
    'A-4,Max,paid,,,,,,2026-10-03,USD,NISA16,2026-10-01',
    'A-5,Eva,voided,100.00,10.00,10.00,120.00,0,2026-10-03,USD,NISA16,2026-10-01',
    'A-é6,Éva,refunded,100.00,10.00,10.00,120.00,-120.00,,USD,NISA16,2026-10-01',
  ]
  const args = [...BY_ID, '--refunds', 'total']
  const first = await importOrders(rows, ...args)
  expect(first).toMatchObject({ code: 0, report: { sent: 4, attributed: 4, refunds: 3, canceled: 2, failed: 0 } })
  expect(first.stderr).toContain('3 orders refunded in full or in part, 2 canceled')
  const expected = {
    'A-1': 'APPROVED 1600 USD',
    // 30 of 120 are 25 of 100.
    'A-2': 'APPROVED 1200 EUR',
    'A-3': 'REFUNDED 0 USD',
    'A-4': 'CANCELED 1600 USD',
    'A-é6': 'REFUNDED 0 USD',
  }
  expect(await ledger('A-')).toEqual(expected)
  expect((await first.run()).report).toMatchObject({ sent: 0, refunds: 0, canceled: 0, knownBefore: 6 })
  expect((await importOrders(rows, ...args)).report).toMatchObject({ sent: 0, refunds: 0, canceled: 0, knownBefore: 6 })
  // A later export contains the sum of all refunds.
  const later = rows.map((row) => row.replace('30.00,,EUR', '60.00,,EUR'))
  expect((await importOrders(later, ...args)).report).toMatchObject({ sent: 0, refunds: 1, knownBefore: 6 })
  expect(await ledger('A-')).toEqual({ ...expected, 'A-2': 'APPROVED 800 EUR' })
  expect((await importOrders(rows, ...args)).report).toMatchObject({ refunds: 0, failed: 0 })
  expect(await ledger('A-')).toEqual({ ...expected, 'A-2': 'APPROVED 800 EUR' })
  // An order that was canceled before it was reported is not paid.
  await expectOk(convert(server, { externalOrderId: 'A-5', amountCents: 10_000, couponCode: 'NISA16' }))
  expect(await ledger('A-5')).toEqual({ 'A-5': 'CANCELED 1600 USD' })
})

test('refunded goods are read as they are, and prices that include tax lose it', async () => {
  const rows = [
    HEADER.replace('Subtotal', 'Amount'),
    'B-1,X,paid,110.00,0.00,10.00,110.00,55.00,,USD,NISA16,2026-10-01',
  ]
  const { report } = await importOrders(rows, '--refunds', 'goods')
  expect(report).toMatchObject({ sent: 1, refunds: 1 })
  // 100.00 without the tax, half of them refunded.
  expect(await ledger('B-')).toEqual({ 'B-1': 'APPROVED 800 USD' })
})

test('a refund whose amount is unknown, or more than the order, fails with what to do', async () => {
  const rows = [
    `${HEADER},Refund note`,
    'C-1,X,partially_refunded,100.00,10.00,10.00,120.00,0,,USD,NISA16,2026-10-01,',
    'C-2,X,paid,100.00,10.00,10.00,120.00,,,USD,NISA16,2026-10-01,Damaged',
    'C-3,X,paid,100.00,10.00,10.00,120.00,110.00,,USD,NISA16,2026-10-01,Damaged',
    'C-4,X,paid,100.00,10.00,10.00,120.00,ten,,USD,NISA16,2026-10-01,Damaged',
    'C-5,X,pending,100.00,10.00,10.00,120.00,0,,USD,NISA16,2026-10-01,',
  ]
  const { code, report, reasons } = await importOrders(rows, ...BY_ID, '--refunds', 'goods')
  expect([code, report.sent, reasons]).toEqual([
    8,
    0,
    [
      'this order is partially_refunded, but Refunded Amount is empty',
      'Refund note is Damaged, but Refunded Amount is empty',
      '110.00 was refunded, but the goods are less; use --refunds total if refunds include shipping or tax',
      'ten is not an amount',
      'this order is pending',
    ],
  ])
})

test.each([
  ['PERCENT_OF_SALE', 'CASTP', 1600 + 1200 + 5 + 1280 - 480 - 1600],
  ['FLAT_PER_ORDER', 'CASTF', 1600 + 1600 + 1600 + 1600 - 1600],
])(
  'a dry run of orders forecasts what the import changes, with refunds and repeated rows (%s)',
  async (type, code, expected) => {
    await withAffiliate(server, { code, program: { commissionType: type, commissionPercent: 16 } })
    const report = (externalOrderId: string) =>
      expectOk(convert(server, { externalOrderId, amountCents: 10_000, couponCode: code }))
    for (const id of ['known', 'refunded', 'canceled']) await report(`${type}-${id}`)
    const kept = { externalOrderId: `${type}-kept`, externalRefundId: 're-1', amountCents: 2000 }
    await server.client.refunds.create(kept)
    const rows = [
      HEADER,
      ...[
        'new,X,paid,100.00,0,0,100.00,0,,USD',
        'new,X,paid,100.00,0,0,100.00,0,,USD',
        'part,X,paid,100.00,0,0,100.00,25.00,,USD',
        'odd,X,paid,0.99,0,0,0.99,0.66,,USD',
        'all,X,refunded,100.00,0,0,100.00,100.00,,USD',
        'kept,X,paid,100.00,0,0,100.00,0,,USD',
        'known,X,paid,100.00,0,0,100.00,0,,USD',
        'refunded,X,paid,100.00,0,0,100.00,30.00,,USD',
        'canceled,X,paid,100.00,0,0,100.00,0,2026-10-03,USD',
      ].map((row) => `${type}-${row},${code},2026-10-01`),
    ]
    const args = [...BY_ID, '--refunds', 'total']
    const total = async () =>
      (await server.client.commissions.list().toArray())
        .filter(({ orderStatus }) => orderStatus !== 'CANCELED')
        .reduce((sum, row) => sum + row.commissionAmountCents, 0)
    const before = await total()
    const { report: preview, stderr } = await importOrders(rows, ...args, '--dry-run')
    expect(await total()).toBe(before)
    expect([preview.forecast, stderr]).toEqual([
      { orders: 8, attributed: 5, commissionCents: { USD: expected } },
      expect.stringContaining('skipped 1 row repeating'),
    ])
    await importOrders(rows, ...args)
    expect((await total()) - before).toBe(expected)
  },
)

test('a dry run of refunds forecasts what the import changes, with several of one order', async () => {
  await expectOk(convert(server, { externalOrderId: 'G-1', amountCents: 10_000, couponCode: 'NISA16' }))
  const rows = ['Refund ID,Order ID,Amount', ...['60.00', '30.00', '25.00'].map((amount, i) => `r-${i},G-1,${amount}`)]
  const { report } = await importRefunds(rows, '--dry-run')
  expect(report.forecast).toEqual({ refunds: 3, applied: 3, commissionCents: { USD: -1600 } })
  await importRefunds(rows)
  expect(await ledger('G-')).toEqual({ 'G-1': 'REFUNDED 0 USD' })
})

test('what a backend has refunded before is not refunded again', async () => {
  await expectOk(convert(server, { externalOrderId: 'D-1', amountCents: 10_000, couponCode: 'NISA16' }))
  await server.client.refunds.create({ externalOrderId: 'D-1', externalRefundId: 're-1', amountCents: 2000 })
  const rows = (cents: string) => [
    'Order ID,Amount,Refunded Amount,Coupon,Date',
    `D-1,100.00,${cents},NISA16,2026-10-01`,
  ]
  expect((await importOrders(rows('20.00'), '--refunds', 'goods')).report).toMatchObject({ refunds: 0, knownBefore: 1 })
  expect(await ledger('D-')).toEqual({ 'D-1': 'APPROVED 1280 USD' })
  expect((await importOrders(rows('50.00'), '--refunds', 'goods')).report).toMatchObject({ refunds: 1, knownBefore: 1 })
  expect(await ledger('D-')).toEqual({ 'D-1': 'APPROVED 800 USD' })
  // Without an affiliate, refunds are kept, and add up as well.
  const nobody = (cents: string) => rows(cents).map((row) => row.replace('D-1', 'D-2').replace('NISA16', ''))
  expect((await importOrders(nobody('20.00'), '--refunds', 'goods')).report).toMatchObject({ sent: 1, refunds: 1 })
  expect((await importOrders(nobody('50.00'), '--refunds', 'goods')).report).toMatchObject({ sent: 0, refunds: 1 })
  await expectOk(convert(server, { externalOrderId: 'D-2', amountCents: 10_000, couponCode: 'NISA16' }))
  expect(await ledger('D-2')).toEqual({ 'D-2': 'APPROVED 800 USD' })
})

test('a file of refunds is imported before or after the orders, and each refund counts once', async () => {
  await expectOk(
    convert(server, { externalOrderId: 'E-café', amountCents: 10_000, currency: 'EUR', couponCode: 'NISA16' }),
  )
  const header = 'Refund ID,Order ID,Amount,Currency,Status,Reason'
  const rows = [
    header,
    // The same id with a combining accent.
    'r-1,E-cafe\u0301,-30.00,EUR,succeeded,Größe',
    'r-2,E-2,20.00,USD,succeeded,',
    'r-3,E-2,20.00,USD,pending,',
    'r-4,E-café,20.00,USD,succeeded,',
    'r-5,E-2,20.00,USD,succeeded,',
    'r-5,E-2,21.00,USD,succeeded,',
    ',E-2,21.00,USD,succeeded,',
  ]
  const preview = await importRefunds(rows, '--dry-run')
  expect(preview).toMatchObject({
    code: 8,
    report: { recorded: 0, kept: 0, forecast: { refunds: 2, applied: 1, commissionCents: { EUR: -480 } } },
  })
  const first = await importRefunds(rows)
  expect(first).toMatchObject({ code: 8, report: { recorded: 1, kept: 1, knownBefore: 0, failed: 5 } })
  expect(first.reasons).toEqual([
    'this refund is pending; use --any-status if it was paid out',
    expect.stringContaining('EUR'),
    ...Array(2).fill(
      'refund r-5 is in several rows that differ; add --map externalRefundId=Column for a column with unique ids',
    ),
    'no refund id',
  ])
  expect(first.stderr).toContain('1 refund kept until an affiliate is credited for the order')
  const kept = await importRefunds([header, 'r-2,E-2,24.00,USD,succeeded,'])
  expect([kept.code, kept.reasons]).toEqual([8, [expect.stringContaining('another amount')]])
  await expectOk(convert(server, { externalOrderId: 'E-2', amountCents: 10_000, couponCode: 'NISA16' }))
  const expected = { 'E-café': 'APPROVED 1120 EUR', 'E-2': 'APPROVED 1280 USD' }
  expect(await ledger('E-')).toEqual(expected)
  expect((await first.run()).report).toMatchObject({ recorded: 0, kept: 0, knownBefore: 2 })
  const other = await importRefunds([header, 'r-2,E-2,25.00,USD,succeeded,', 'r-1,E-café,30.00,EUR,succeeded,Größe'])
  expect(other.reasons).toEqual(['refund r-2 is already recorded with 20.00 USD; a refund counts once'])
  expect(other.report).toMatchObject({ recorded: 0, knownBefore: 1 })
  expect(await ledger('E-')).toEqual(expected)
})

test('refunds have the date of their row', async () => {
  await expectOk(convert(server, { externalOrderId: 'F-1', amountCents: 10_000, couponCode: 'NISA16' }))
  const utc = ['Refund ID,Order ID,Amount,Created date (UTC)', 'r-1,F-1,10.00,2026-10-28 09:30', 'r-2,F-1,10.00,']
  expect((await importRefunds(utc)).report).toMatchObject({ recorded: 2, failed: 0 })
  const local = ['Refund ID,Order ID,Amount,Date', 'r-3,F-1,10.00,2026-10-28 09:30']
  expect((await importRefunds(local)).reasons).toEqual([
    '2026-10-28 09:30 is not a time with an offset, such as 2026-10-31T14:00:00Z; use --time-zone for times without one',
  ])
  expect((await importRefunds(local, '--time-zone', 'Asia/Tokyo')).report).toMatchObject({ recorded: 1 })
  const { refunds } = await expectOk(admin(server, 'GET', '/orders/F-1/explanation'))
  const now = new Date(server.clock.ms).toISOString()
  expect(refunds.map(({ occurredAt }: { occurredAt: string }) => occurredAt)).toEqual([
    '2026-10-28T09:30:00.000Z',
    now,
    '2026-10-28T00:30:00.000Z',
  ])
})

const RUNS = Number(process.env.PERMUTATIONS ?? 8)

test('files of orders, refunds and refunded amounts in any order, repeated, end in one ledger', async () => {
  const cents = fc.integer({ min: 0, max: 4000 })
  const order = fc.record({ cents: fc.integer({ min: 100, max: 10_000 }), refunds: fc.array(cents, { maxLength: 3 }) })
  const schedule = fc.array(fc.nat({ max: 3 }), { minLength: 2, maxLength: 5 })
  let scenarios = 0
  const text = (amount: number) => (amount / 100).toFixed(2)
  await fc.assert(
    fc.asyncProperty(
      fc.array(order, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      schedule,
      async (orders, isSplit, repeats) => {
        const name = `P${++scenarios}-`
        const idOf = (index: number) => `${name}${index}`
        const columns = 'Order ID,Amount,Refunded Amount,Coupon,Date'
        /** An export after the first refunds. */
        const orderFile = (after: number) =>
          orders.map(({ cents, refunds }, i) => {
            const sum = refunds.slice(0, after).reduce((a, b) => a + b, 0)
            return `${idOf(i)},${text(cents)},${text(Math.min(cents, sum))},NISA16,2026-10-01`
          })
        const refundFile = orders.flatMap(({ refunds }, i) =>
          refunds.map((amount, n) => `r-${n},${idOf(i)},${text(amount)}`),
        )
        /** Exports at different times, or an export of the orders and one of their refunds. */
        const steps = isSplit
          ? [
              () => importOrders([columns, ...orderFile(0)], '--refunds', 'goods'),
              () => importRefunds(['refund id,order id,amount', ...refundFile]),
            ]
          : [1, 2, 3].map((after) => () => importOrders([columns, ...orderFile(after)], '--refunds', 'goods'))
        // Every step at least once.
        for (const step of [...repeats, ...steps.keys()]) {
          const { code } = await steps[step % steps.length]!()
          expect([0, 3]).toContain(code)
        }
        const left = orders.map(({ cents, refunds }) => Math.max(0, cents - refunds.reduce((a, b) => a + b, 0)))
        expect(await ledger(name)).toEqual(
          Object.fromEntries(
            left.map((goods, i) => [
              idOf(i),
              `${goods === 0 ? 'REFUNDED' : 'APPROVED'} ${Math.floor((goods * 16 + 50) / 100)} USD`,
            ]),
          ),
        )
      },
    ),
    { numRuns: RUNS, endOnFailure: true },
  )
}, 120_000)
