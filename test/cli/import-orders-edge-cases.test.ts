// Exports with deducted discounts, rows per line item, refunds and corrections.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { SHOPIFY_COLUMNS, shopifyOrder } from './shopify-export.ts'
import { cli, openShop, type Shop, withAffiliate } from './support.ts'

const folder = temporaryFolder()
let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  await withAffiliate(shop)
  await withAffiliate(shop, { code: 'LENA12', name: 'Lena Lang', email: 'lena@example.com' })
}, 60_000)
afterAll(async () => {
  await shop.close()
  folder.remove()
})

const file = (name: string) => join(folder.path, name)

async function importFile(name: string, rows: string[], ...args: string[]) {
  writeFileSync(file(name), rows.map((row) => `${row}\n`).join(''))
  const { code, stdout, stderr } = await cli(['events', 'import', file(name), '--from', 'csv', ...args, '--json'], {
    env: shop.env,
  })
  return { code, stderr, report: JSON.parse(stdout || 'null') }
}

const commissions = async (prefix: string) =>
  (await shop.client.commissions.list().toArray())
    .filter(({ externalOrderId }) => externalOrderId?.startsWith(prefix))
    .map(({ externalOrderId, commissionAmountCents }) => [externalOrderId, commissionAmountCents])
    .toSorted()

const HEADER = SHOPIFY_COLUMNS.join(',')
const BY_NAME = ['--map', 'externalOrderId=Name', '--map', 'amountCents=Subtotal']

const exported = (name: string, change: Record<string, string> = {}) => {
  const cells: Record<string, string> = shopifyOrder(name.slice(1), change)
  return SHOPIFY_COLUMNS.map((column) => cells[column] ?? '').join(',')
}
const lineItem = (name: string) =>
  HEADER.split(',')
    .map(
      (column) =>
        ({ Name: name, Email: 'ada@example.com', 'Lineitem quantity': '2', 'Lineitem name': 'Scarf' })[column] ?? '',
    )
    .join(',')

test('a discount that is already deducted is not deducted again', async () => {
  const rows = [HEADER, exported('#1001'), lineItem('#1001'), exported('#1002', { Taxes: '0.00', Total: '95.00' })]
  const refused = await importFile('shop.csv', rows, ...BY_NAME)
  expect({ code: refused.code, report: refused.report }).toEqual({ code: 2, report: null })
  const { message, hint } = JSON.parse(refused.stderr.trim().split('\n').at(-1) ?? '')
  expect(message).toMatch(/in 2 rows .*Discount Amount would be deducted twice/)
  expect(hint).toContain('--map discountCents=')
  expect(await commissions('#')).toEqual([])

  const taken = await importFile('shop.csv', rows, ...BY_NAME, '--map', 'discountCents=')
  expect(taken).toMatchObject({ code: 0, report: { rows: 3, sent: 2, failed: 0 } })
  expect(taken.stderr).toContain('skipped 1 row with only another line item')
  expect(await commissions('#')).toEqual([
    ['#1001', 1440],
    ['#1002', 1440],
  ])

  const insisted = [...BY_NAME, '--map', 'discountCents=Discount Amount', '--dry-run', '--forecast', '0']
  expect((await importFile('shop.csv', rows, ...insisted)).code).toBe(0)

  // The amount is before the discount, as the total shows, and the file is accepted.
  const gross = ['Order ID,Subtotal,Shipping,Total,Discount,Coupon', 'G-1,100.00,5.00,95.00,10.00,NISA16']
  expect(await importFile('gross.csv', gross)).toMatchObject({ code: 0, report: { sent: 1 } })
  expect(await commissions('G-')).toEqual([['G-1', 1440]])
}, 30_000)

test('rows of further line items are skipped, with or without an order id', async () => {
  const rows = [HEADER, exported('#2001'), lineItem('#2001'), lineItem('#2001'), exported('#2002')]
  const { code, report } = await importFile('lines.csv', rows, '--map', 'discountCents=')
  expect({ code, ...report }).toMatchObject({ code: 0, rows: 4, sent: 2, failed: 0 })
  expect(await commissions('552')).toEqual([
    ['552001', 1440],
    ['552002', 1440],
  ])
  const alone = await importFile('alone.csv', [HEADER, lineItem('#2003')], ...BY_NAME, '--map', 'discountCents=')
  expect(alone).toMatchObject({ code: 8, report: { sent: 0, failed: 1 } })
})

test('canceled and unpaid orders fail unless --any-status is set, and refunded orders always fail', async () => {
  const rows = [
    HEADER,
    exported('#3001', { 'Cancelled at': '2026-10-05 10:00:00 +0200' }),
    exported('#3002', { 'Refunded Amount': '113.00' }),
    ...['refunded', 'voided', 'partially_refunded', 'pending'].map((state, i) =>
      exported(`#310${i}`, { 'Financial Status': state }),
    ),
    exported('#3200'),
  ]
  const { code, report } = await importFile('states.csv', rows, ...BY_NAME, '--map', 'discountCents=')
  expect({ code, ...report }).toMatchObject({ code: 8, sent: 1, failed: 6 })
  const reasons = readFileSync(report.failedFile, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map((row) => row.split(',').at(-1))
  expect(reasons).toEqual([
    'this order was canceled at 2026-10-05 10:00:00 +0200',
    '113.00 of this order was refunded',
    'this order is refunded',
    'this order is voided',
    'this order is partially_refunded',
    'this order is pending',
  ])
  expect(await commissions('#3')).toEqual([['#3200', 1440]])
  const all = await importFile('states.csv', rows, ...BY_NAME, '--map', 'discountCents=', '--any-status')
  expect(all).toMatchObject({ code: 8, report: { sent: 3, knownBefore: 1, failed: 3 } })
  expect((await commissions('#3')).map(([id]) => id)).toEqual(['#3001', '#3101', '#3103', '#3200'])
}, 30_000)

test('an order that is recorded with other values fails every time', async () => {
  const rows = (amount: string, coupon = 'NISA16') => [
    'Order ID,Amount,Coupon,Date',
    `K-1,${amount},${coupon},2026-10-03`,
  ]
  expect(await importFile('known.csv', rows('400.00'))).toMatchObject({ code: 0, report: { sent: 1 } })
  for (const _ of ['first', 'second']) {
    const corrected = await importFile('known.csv', rows('450.00'))
    expect(corrected).toMatchObject({ code: 8, report: { sent: 0, knownBefore: 0, failed: 1 } })
    expect(readFileSync(corrected.report.failedFile, 'utf8')).toContain(
      'already recorded with 400.00 USD, not 450.00 USD',
    )
  }
  const other = await importFile('known.csv', rows('400.00', 'LENA12'))
  expect(other).toMatchObject({ code: 8, report: { failed: 1 } })
  expect(readFileSync(other.report.failedFile, 'utf8')).toMatch(/already recorded for aff_\w+, not aff_\w+/)
  // The same order, reported by the shop with more fields than the file contains.
  await shop.client.events.conversion({
    externalOrderId: 'K-2',
    amountCents: 5000,
    discountCents: 500,
    couponCode: 'NISA16',
    customerEmail: 'ada@example.com',
  })
  const same = ['Order ID,Amount,Coupon,Date', 'K-2,45.00,NISA16,2026-10-03']
  expect(await importFile('same.csv', same)).toMatchObject({ code: 0, report: { sent: 0, knownBefore: 1, failed: 0 } })
}, 30_000)

test('the failed rows of another file are kept; a file without dates prints a warning', async () => {
  const bad = (id: string) => ['Order ID,Amount,Coupon', `${id},ten,NISA16`, `${id}-ok,10.00,NISA16`]
  const names: string[] = []
  for (const [name, id] of [
    ['one.csv', 'N-1'],
    ['two.csv', 'N-2'],
    ['two.csv', 'N-2'],
  ] as const) {
    const { code, report, stderr } = await importFile(name, bad(id))
    expect(code).toBe(8)
    expect(stderr).toContain('No date column: every order is dated now')
    expect(stderr).toMatch(/occurredAt +\(none\)/)
    names.push(report.failedFile)
  }
  expect(new Set(names).size).toBe(2)
  expect(names[1]).toBe(names[2])
  for (const [name, id] of [
    [names[0], 'N-1'],
    [names[1], 'N-2'],
  ] as const)
    expect(readFileSync(name ?? '', 'utf8')).toContain(`${id},ten`)
  // Importing the first file again does not overwrite corrected rows.
  const corrected = readFileSync(names[0] ?? '', 'utf8').replace('ten', '10.00')
  writeFileSync(names[0] ?? '', corrected)
  const again = await importFile('one.csv', bad('N-1'))
  expect(again.report.failedFile).not.toBe(names[0])
  expect(readFileSync(names[0] ?? '', 'utf8')).toBe(corrected)
  expect(again.stderr).toContain('failed.csv contains other rows and was kept; the failed rows are in ')
  expect(existsSync(again.report.failedFile)).toBe(true)
}, 30_000)

test('a file without currencies names the currency, and columns that are read are not listed as unused', async () => {
  const plain = ['Order ID,Amount,Coupon,Date,Notes', 'U-1,10.00,NISA16,2026-10-03,Hi']
  const warning = 'No currency column: all amounts are in USD'
  for (const args of [['--dry-run'], []]) {
    const { stderr } = await importFile('plain.csv', plain, ...args)
    expect(stderr).toContain(warning)
    expect(stderr).toMatch(/currency +\(none\) +– +USD/)
  }
  const given = await importFile('given.csv', plain, '--currency', 'eur', '--dry-run')
  expect(given.stderr).not.toContain(warning)
  expect(given.stderr).toMatch(/currency +\(none\) +– +EUR/)
  const some = [
    'Order ID,Amount,Currency,Coupon,Date',
    'U-2,10.00,EUR,NISA16,2026-10-03',
    'U-3,10.00,,NISA16,2026-10-03',
  ]
  expect((await importFile('some.csv', some, '--dry-run')).stderr).toContain('Currency is empty in 1 orders')
  const { stderr } = await importFile('used.csv', [HEADER, exported('#4001')], '--map', 'discountCents=', '--dry-run')
  expect(/unused columns: (.*)/.exec(stderr)?.[1]).toBe('Name, Discount Amount, Lineitem quantity, Lineitem name')
}, 30_000)

test.each([
  [
    'day-first',
    'Created',
    ['03.10.2026', '31.10.2026 14:00'],
    ['2026-10-03T00:00:00.000Z', '2026-10-31T14:00:00.000Z'],
  ],
  ['month-first', 'Date', ['10/03/2026', '10/31/2026'], ['2026-10-03T00:00:00.000Z', '2026-10-31T00:00:00.000Z']],
  ['contradiction', 'Date', ['10/31/2026', '31/10/2026'], []],
  ['ambiguous', 'Date', ['10/03/2026', '10/04/2026'], []],
  ['no dates', 'Created', ['by Ada', '12'], ['2']],
])(
  'one day after the 12th settles the order of dates in a file: %s',
  async (name, column, dates, made) => {
    const rows = dates.map((date, i) => `${name}-${i},10.00,NISA16,${date}`)
    const text = [`Order ID,Amount,Coupon,${column}`, ...rows]
    const { code, stderr } = await importFile(`${name}.csv`, text, '--time-zone', 'UTC')
    const recorded = (await shop.client.commissions.list().toArray())
      .filter(({ externalOrderId }) => externalOrderId?.startsWith(name))
      .map(({ happenedAt }) => happenedAt)
      .toSorted()
    expect({ code, undated: stderr.includes('No date column') }).toEqual({
      code: made.length ? 0 : 8,
      undated: name === 'no dates',
    })
    if (name === 'no dates') expect(recorded).toHaveLength(2)
    else expect(recorded).toEqual(made)
  },
  30_000,
)

test('empty and missing files, and a missing argument, are reported in words', async () => {
  const messageOf = (stderr: string) => JSON.parse(stderr.trim().split('\n').at(-1) ?? '')
  const empty = await importFile('empty.csv', ['Order ID,Amount,Coupon,Date'])
  expect({ code: empty.code, ...messageOf(empty.stderr) }).toMatchObject({
    code: 'not_found',
    message: expect.stringContaining('no orders'),
  })
  expect(empty.code).toBe(3)
  const missing = await cli(['events', 'import', file('none.csv'), '--json'], { env: shop.env })
  expect(missing.code).toBe(3)
  expect(messageOf(missing.stderr).message).toBe(`${file('none.csv')} does not exist.`)
  const piped = await cli(['events', 'import', '--dry-run', '--json'], { env: shop.env, input: 'Order ID,Amount\n' })
  expect(piped.code).toBe(2)
  expect(messageOf(piped.stderr).hint).toContain('standard input')
})

test('a dry run names rows with an invalid date or coupon and evaluates the others', async () => {
  const rows = [
    'Order ID,Amount,Coupon,Date',
    'V-1,10.00,NISA16,2026-02-31',
    'V-2,10.00,NISA16,2026-10-03T25:00:00Z',
    `V-3,10.00,${'X'.repeat(300)},2026-10-03`,
    `V-4,10.00,"${'X'.repeat(300)},NISA16",2026-10-03`,
    'V-5,10.00,NISA16,2026-10-03',
  ]
  const { code, stderr, report } = await importFile('dates.csv', rows, '--dry-run')
  expect({ code, ...report }).toMatchObject({ code: 8, failed: 4, forecast: { orders: 1, attributed: 1 } })
  expect(stderr).toContain('line 2: 2026-02-31 is not a valid time')
  expect(stderr).toContain('line 3: 2026-10-03T25:00:00Z is not a valid time')
  expect(stderr).toMatch(/line 4: couponCode/)
  expect(stderr).toMatch(/line 5: couponCode/)
  expect(await importFile('dates.csv', rows)).toMatchObject({ code: 8, report: { sent: 1, failed: 4 } })
}, 30_000)
