// Exports of Shopify, WooCommerce and Stripe: payment status, time, amount and coupon.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { SHOPIFY_COLUMNS, shopifyOrder } from './shopify-export.ts'
import { cli, cliProcess, openShop, type Shop, withAffiliate, wrongWith } from './support.ts'

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

const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
/** Renders rows as CSV; missing columns are empty. */
const csvOf = (columns: string[], rows: Record<string, string>[]) =>
  [columns, ...rows.map((row) => columns.map((column) => row[column] ?? ''))]
    .map((cells) => `${cells.map(quoted).join(',')}\n`)
    .join('')

async function importCsv(name: string, text: string, ...args: string[]) {
  const file = join(folder.path, name)
  writeFileSync(file, text)
  const { code, stdout, stderr } = await cli(['events', 'import', file, ...args, '--json'], { env: shop.env })
  const report = JSON.parse(stdout || 'null')
  if (report) expect(wrongWith('ImportReport', report)).toEqual([])
  return { code, stderr, report, reasons: () => reasonsIn(report.failedFile) }
}
const reasonsIn = (file: string) => {
  const [, ...lines] = readFileSync(file, 'utf8').trim().split('\n')
  return lines.map((line) => /(?:^|,)("(?:[^"]|"")*"|[^,]*)$/.exec(line)?.[1]?.replace(/^"|"$/g, ''))
}
const recorded = async (prefix: string) =>
  Object.fromEntries(
    (await shop.client.commissions.list().toArray())
      .filter(({ externalOrderId }) => externalOrderId?.startsWith(prefix))
      .map((row) => [row.externalOrderId, row]),
  )

const WOO = [
  'order_id',
  'order_number',
  'order_date',
  'status',
  'shipping_total',
  'tax_total',
  'discount_total',
  'order_total',
  'order_subtotal',
  'order_currency',
  'billing_email',
  'coupon_items',
]
const woo = (id: string, change: Record<string, string> = {}) => ({
  order_id: id,
  order_number: id,
  order_date: '2026-10-25 02:30:00',
  status: 'completed',
  shipping_total: '5.00',
  tax_total: '0.00',
  discount_total: '10.00',
  order_total: '95.00',
  order_subtotal: '100.00',
  order_currency: 'EUR',
  billing_email: 'ada@example.com',
  coupon_items: 'code:nisa16|amount:10.00',
  ...change,
})

test('WooCommerce: only paid orders are imported, in the time zone of the shop', async () => {
  const states = ['cancelled', 'on-hold', 'failed', 'pending', 'wc-refunded', 'checkout-draft', 'mystery', '']
  const rows = [
    woo('W1'),
    woo('W2', { status: 'wc-processing', order_date: '2026-07-01 00:30:00' }),
    ...states.map((status, i) => woo(`W9${i}`, { status })),
  ]
  const { code, report, stderr, reasons } = await importCsv('woo.csv', csvOf(WOO, rows), '--time-zone', 'Europe/Berlin')
  expect(stderr).toContain('format: WooCommerce')
  expect({ code, ...report }).toMatchObject({ code: 8, sent: 2, attributed: 2, failed: states.length })
  expect(reasons()).toEqual([
    ...['cancelled', 'on-hold', 'failed', 'pending', 'wc-refunded', 'checkout-draft'].map(
      (state) => `this order is ${state}`,
    ),
    expect.stringContaining('--paid-status'),
    'status is empty, so the payment status is unknown',
  ])
  const made = await recorded('W')
  // 02:30 occurs twice on that day; the first one counts.
  expect(made.W1).toMatchObject({
    happenedAt: '2026-10-25T00:30:00.000Z',
    commissionAmountCents: 1440,
    orderCurrency: 'EUR',
  })
  expect(made.W2).toMatchObject({ happenedAt: '2026-06-30T22:30:00.000Z' })
}, 30_000)

test('WooCommerce: an export with display names, one row per item, and dates with the day first', async () => {
  const order = {
    'Order Number': 'X1',
    'Order Status': 'Completed',
    'Order Date': '31/10/2026 09:30',
    'Email (Billing)': 'ada@example.com',
    'Country Code (Shipping)': 'DE',
    'Cart Discount Amount': '10.00',
    'Order Subtotal Amount': '100.00',
    'Order Shipping Amount': '5.00',
    'Order Refund Amount': '0.00',
    'Order Total Amount': '95.00',
    'Order Total Tax Amount': '0.00',
    'Coupon Code': 'nisa16',
  }
  const columns = Object.keys(order)
  const text = csvOf(
    [...columns, 'Item Name'],
    [order, order].map((row, i) => ({ ...row, 'Item Name': `Hat ${i}` })),
  )
  const args = ['--time-zone', 'Europe/Berlin']
  const { code, report, stderr } = await importCsv('aoe.csv', text, ...args)
  expect([code, report.sent, stderr]).toEqual([0, 1, expect.stringContaining('format: WooCommerce')])
  expect(stderr).not.toContain('No email column')
  expect((await recorded('X1')).X1).toMatchObject({
    happenedAt: '2026-10-31T08:30:00.000Z',
    orderDiscountCents: 1000,
    commissionAmountCents: 1440,
  })
  const anonymous = columns.filter((column) => column !== 'Email (Billing)')
  expect((await importCsv('aoe.csv', csvOf(anonymous, [order]), ...args, '--dry-run')).stderr).toContain(
    'warning: No email column',
  )
  const american = { ...order, 'Order Number': 'X2', 'Order Date': '10/31/2026' }
  await importCsv('us.csv', csvOf(columns, [american]), '--time-zone', 'UTC')
  expect((await recorded('X2')).X2).toMatchObject({ happenedAt: '2026-10-31T00:00:00.000Z' })
}, 30_000)

test('WooCommerce in German: columns and statuses are named, and no other status is imported', async () => {
  const header = [
    'Bestellnummer',
    'Bestellstatus',
    'Bestelldatum',
    'Zwischensumme',
    'Währung',
    'Gutscheincode',
    'Erstattet',
  ]
  const row = (id: string, status: string, refunded = '0') =>
    `${[id, status, '31.10.2026 14:00', '1.234,50', 'EUR', 'NISA16', refunded].join(';')}\n`
  const text = `${header.join(';')}\n${row('D1', 'Abgeschlossen')}${row('D2', 'In Bearbeitung')}${row('D3', 'Storniert')}${row('D4', 'Abgeschlossen', '617,25')}`
  const fields = ['externalOrderId', '', 'occurredAt', 'amountCents', 'currency', 'couponCode', 'refundedCents']
  const maps = fields.flatMap((field, i) => (field ? ['--map', `${field}=${header[i]}`] : []))
  const options = ['--time-zone', 'Europe/Berlin', '--date-format', 'day-first', ...maps]
  const blind = await importCsv('de-blind.csv', text, ...options, '--dry-run')
  expect(blind.stderr).toContain('--map status=Column')
  const paid = ['--paid-status', 'Abgeschlossen', '--paid-status', 'in bearbeitung']
  const { code, report, reasons } = await importCsv(
    'de.csv',
    text,
    ...options,
    '--map',
    'status=Bestellstatus',
    ...paid,
  )
  expect({ code, ...report }).toMatchObject({ code: 8, sent: 2, failed: 2 })
  expect(reasons()).toEqual([expect.stringContaining('Storniert'), expect.stringContaining('617,25')])
  const refunded = [...options, '--map', 'status=Bestellstatus', ...paid, '--refunds', 'goods']
  expect((await importCsv('de.csv', text, ...refunded)).report).toMatchObject({ sent: 1, refunds: 1, failed: 1 })
  const made = await recorded('D')
  expect(made.D1).toMatchObject({ happenedAt: '2026-10-31T13:00:00.000Z', orderSubtotalCents: 123_450 })
})

test('WooCommerce: a refund in any column fails the order, even with --any-status', async () => {
  const cases: [column: string, value: string, none: string][] = [
    ['refund_items', 'Hat', ''],
    ['Order Refund Amount', '20.00', '0.00'],
    ['_order_refund', '-20.00', '0'],
    ['refunded', 'true', 'false'],
    ['total_refunded', '20', '$0.00'],
    ['Refund total by a plugin', '20.00', '0.00'],
  ]
  for (const [i, [column, value, none]] of cases.entries()) {
    const text = csvOf(
      [...WOO, column],
      [
        { ...woo(`R${i}1`), [column]: value },
        { ...woo(`R${i}2`), [column]: none },
      ],
    )
    for (const args of [[], ['--any-status']]) {
      const { code, report, stderr, reasons } = await importCsv(`r${i}.csv`, text, '--time-zone', 'UTC', ...args)
      expect({ column, code, failed: report.failed }).toEqual({ column, code: 8, failed: 1 })
      expect(reasons()[0]).toMatch(/of this order was refunded|this order was refunded: /)
      expect(stderr).not.toMatch(new RegExp(`unused columns:.*${column}`))
    }
  }
  expect(Object.keys(await recorded('R')).sort()).toEqual(['R02', 'R12', 'R22', 'R32', 'R42', 'R52'])
  // A refunded line item applies to all rows of its order.
  const rows = [woo('R91'), { ...woo('R91'), item_refund: '5.00' }]
  const lines = await importCsv('r9.csv', csvOf([...WOO, 'item_refund'], rows), '--time-zone', 'UTC')
  expect(lines).toMatchObject({ code: 8, report: { sent: 0, failed: 2 } })
}, 60_000)

test('display names of unpaid states are known', async () => {
  const states = ['On hold', 'Pending payment', 'Checkout draft']
  const rows = states.map((status, i) => woo(`D${i}`, { status }))
  for (const from of ['woocommerce', 'csv']) {
    const args = ['--from', from, '--map', 'amountCents=order_subtotal', '--time-zone', 'UTC', '--dry-run']
    const { reasons } = await importCsv('display.csv', csvOf(WOO, rows), ...args)
    expect(reasons().slice(0, 2)).toEqual(['this order is On hold', 'this order is Pending payment'])
  }
})

test('an order without a payment date is dated by its creation, and fails without either', async () => {
  const made = async (id: string) => (await recorded(id))[id]?.happenedAt
  const wooRows = [
    { ...woo('P1'), paid_date: '' },
    { ...woo('P2', { order_date: '' }), paid_date: '', date_created: '2026-09-02 10:00:00' },
    { ...woo('P3', { order_date: '' }), paid_date: '' },
  ]
  const paid = await importCsv('paid.csv', csvOf([...WOO, 'paid_date', 'date_created'], wooRows), '--time-zone', 'UTC')
  expect(paid).toMatchObject({ code: 8, report: { sent: 2, failed: 1 } })
  expect(paid.reasons()).toEqual(['no date: paid_date and order_date and date_created are empty'])
  expect(paid.stderr).toContain('orders without paid_date are dated by order_date or date_created')
  expect([await made('P1'), await made('P2')]).toEqual(['2026-10-25T02:30:00.000Z', '2026-09-02T10:00:00.000Z'])

  const shopifyRows = [
    { ...shopifyOrder('8001', { 'Paid at': '' }), 'Created at': '2026-09-01 10:00:00 +0200' },
    shopifyOrder('8002', { 'Paid at': '' }),
  ]
  const created = await importCsv('created.csv', csvOf([...SHOPIFY_COLUMNS, 'Created at'], shopifyRows))
  expect(created).toMatchObject({ code: 8, report: { sent: 1, failed: 1 } })
  expect(created.reasons()).toEqual(['no date: Paid at and Created at are empty'])
  expect(await made('558001')).toBe('2026-09-01T08:00:00.000Z')

  const stripeText = csvOf(STRIPE, [stripe('pd_1', { 'Created date (UTC)': '' })])
  const charges = await importCsv('charges.csv', stripeText)
  expect(charges).toMatchObject({ code: 8, report: { sent: 0, failed: 1 } })
  expect(charges.reasons()).toEqual(['no date: Created date (UTC) is empty'])
  expect(charges.stderr).not.toMatch(/unused columns:.*(Captured|Dispute|Refunded)/)
}, 30_000)

test('times without an offset require a valid time zone', async () => {
  const rows = csvOf(WOO, [woo('Z1')])
  const none = await importCsv('zone.csv', rows)
  expect(none).toMatchObject({ code: 8, report: { sent: 0, failed: 1 } })
  expect(none.reasons()[0]).toContain('--time-zone')
  const wrong = await importCsv('zone.csv', rows, '--time-zone', 'Europe/Atlantis')
  expect({ code: wrong.code, message: JSON.parse(wrong.stderr.trim().split('\n').at(-1) ?? '').message }).toEqual({
    code: 2,
    message: expect.stringContaining('Europe/Atlantis'),
  })
}, 30_000)

const STRIPE = [
  'id',
  'Created date (UTC)',
  'Amount',
  'Amount Refunded',
  'Currency',
  'Captured',
  'Status',
  'Customer Email',
  'Disputed Amount',
  'Dispute Status',
  'coupon (metadata)',
]
const stripe = (id: string, change: Record<string, string> = {}) => ({
  id,
  'Created date (UTC)': '2026-10-03 08:00:00',
  Amount: '90.00',
  'Amount Refunded': '0.00',
  Currency: 'usd',
  Captured: 'true',
  Status: 'Paid',
  'Customer Email': 'ada@example.com',
  'coupon (metadata)': 'NISA16',
  ...change,
})

test('Stripe: failed payments are skipped; uncaptured, disputed and refunded ones fail', async () => {
  const rows = [
    stripe('ch_1'),
    stripe('ch_2', { Status: 'Failed' }),
    stripe('ch_3', { Captured: 'false' }),
    stripe('ch_4', { 'Disputed Amount': '90.00', 'Dispute Status': 'needs_response' }),
    stripe('ch_5', { 'Disputed Amount': '90.00', 'Dispute Status': 'won' }),
    stripe('ch_6', { 'Amount Refunded': '40.00' }),
    stripe('ch_7', { Status: 'Refunded', 'Amount Refunded': '90.00' }),
    stripe('ch_8', { Status: 'requires_capture' }),
  ]
  const { code, report, stderr, reasons } = await importCsv('stripe.csv', csvOf(STRIPE, rows))
  expect({ code, ...report }).toMatchObject({ code: 8, sent: 2, failed: 5 })
  expect(stderr).toContain('skipped 1 failed payment')
  expect(reasons()).toEqual([
    'this payment is not captured',
    'this payment is disputed',
    '40.00 of this order was refunded',
    '90.00 of this order was refunded',
    'this order is requires_capture',
  ])
  const made = await recorded('ch_')
  expect(Object.keys(made).sort()).toEqual(['ch_1', 'ch_5'])
  expect(made.ch_1).toMatchObject({ happenedAt: '2026-10-03T08:00:00.000Z', commissionAmountCents: 1440 })
}, 30_000)

test('Shopify: the subtotal is after the discount, and the order name is kept', async () => {
  const { code, report } = await importCsv('shopify.csv', csvOf(SHOPIFY_COLUMNS, [shopifyOrder('1001')]))
  expect({ code, ...report }).toMatchObject({ code: 0, sent: 1, failed: 0 })
  expect((await recorded('551001'))['551001']).toMatchObject({
    orderName: '#1001',
    orderSubtotalCents: 9000,
    orderDiscountCents: 0,
    commissionAmountCents: 1440,
  })
}, 30_000)

test('prices that include tax are reduced by it, and mixed files are rejected', async () => {
  // 119.00 for goods and 5.95 for shipping include 19% tax: 19.95 in total, 19.00 of it for the goods.
  const gross = { Subtotal: '119.00', Shipping: '5.95', Taxes: '19.95', Total: '124.95' }
  const { report } = await importCsv('gross.csv', csvOf(SHOPIFY_COLUMNS, [shopifyOrder('2001', gross)]))
  expect(report).toMatchObject({ sent: 1 })
  expect((await recorded('552001'))['552001']).toMatchObject({
    orderSubtotalCents: 10_000,
    commissionAmountCents: 1600,
  })
  const mixed = csvOf(SHOPIFY_COLUMNS, [shopifyOrder('2002', gross), shopifyOrder('2003')])
  const refused = await importCsv('mixed.csv', mixed)
  expect({ code: refused.code, stderr: refused.stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Prices include tax in 1 rows and exclude it in 1 rows.'),
  })
  expect((await importCsv('mixed.csv', mixed, '--prices', 'without-tax')).report).toMatchObject({ sent: 2 })
}, 30_000)

test('with several coupons, the first that belongs to an affiliate wins', async () => {
  const rows = [
    shopifyOrder('3001', { 'Discount Code': 'SUMMER, NISA16' }),
    shopifyOrder('3002', { 'Discount Code': 'LENA12, NISA16' }),
    shopifyOrder('3003', { 'Discount Code': 'SUMMER, WINTER' }),
    shopifyOrder('3004', { 'Discount Code': 'Buy 2 get 1, NISA16' }),
  ]
  const { code, report, stderr } = await importCsv('coupons.csv', csvOf(SHOPIFY_COLUMNS, rows))
  expect({ code, ...report }).toMatchObject({ code: 0, sent: 4, attributed: 3 })
  expect(stderr).toContain('line 3: LENA12, NISA16 belong to several affiliates; LENA12 counts')
  const made = await recorded('553')
  const affiliateOf = async (code: string) => (await shop.client.coupons.list({ code })).data[0]?.affiliateId
  expect(made['553001']?.affiliateId).toBe(await affiliateOf('NISA16'))
  expect(made['553002']?.affiliateId).toBe(await affiliateOf('LENA12'))
  expect(made['553004']?.affiliateId).toBe(await affiliateOf('NISA16'))
  expect(await importCsv('coupons.csv', csvOf(SHOPIFY_COLUMNS, rows))).toMatchObject({
    report: { sent: 0, knownBefore: 4 },
  })
}, 30_000)

test('a dry run lists every failed row, writes failed.csv and prints a forecast', async () => {
  const rows = [
    ...Array.from({ length: 7 }, (_, i) => shopifyOrder(`40${i}`, { 'Financial Status': 'pending' })),
    shopifyOrder('4100'),
    shopifyOrder('4101', { 'Discount Code': '' }),
  ]
  const { code, report, stderr, reasons } = await importCsv('dry.csv', csvOf(SHOPIFY_COLUMNS, rows), '--dry-run')
  expect({ code, ...report }).toMatchObject({
    code: 8,
    sent: 0,
    failed: 7,
    dryRun: true,
    forecast: { orders: 2, attributed: 1, commissionCents: { USD: 1440 } },
  })
  for (let line = 2; line <= 8; line++) expect(stderr).toContain(`line ${line}: this order is pending`)
  expect(reasons()).toHaveLength(7)
  expect(await recorded('554')).toEqual({})
  expect(
    (await importCsv('dry.csv', csvOf(SHOPIFY_COLUMNS, rows), '--dry-run', '--forecast', '0')).report.forecast,
  ).toBeNull()
}, 30_000)

test('standard input, and --from instead of the detected format', async () => {
  const input = csvOf(SHOPIFY_COLUMNS, [shopifyOrder('5001')])
  const piped = await cliProcess(['events', 'import', '-', '--json'], { env: shop.env, input, cwd: folder.path })
  expect({ code: piped.code, report: JSON.parse(piped.stdout) }).toMatchObject({
    code: 0,
    report: { file: '-', sent: 1 },
  })
  const again = await cliProcess(['events', 'import', '-', '--json'], { env: shop.env, input, cwd: folder.path })
  expect(JSON.parse(again.stdout)).toMatchObject({ sent: 0, knownBefore: 1 })
  const plain = await importCsv('plain.csv', csvOf(SHOPIFY_COLUMNS, [shopifyOrder('5002')]), '--from', 'csv')
  expect({ code: plain.code, stderr: plain.stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('would be deducted twice'),
  })
}, 30_000)
