// SQLite only: the pages call the use cases that are tested on both databases
import { expect } from 'vitest'
import { addAffiliate, addDebt, commissionRow } from '../payouts/rows.ts'
import { insertRows } from '../support/inspect.ts'
import { convert, expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { type Opened, visitorOf } from './visitor.ts'

type Server = Parameters<typeof addAffiliate>[0]

async function ownerOf(server: Server) {
  const owner = visitorOf(server)
  await owner.signIn(server.shop.ownerToken)
  return owner
}

/** The rows of a CSV file without line breaks in its cells. */
function rowsIn({ text, status, headers }: Opened): string[][] {
  expect(status).toBe(200)
  expect(headers.get('Content-Type')).toBe('text/csv; charset=utf-8')
  expect(headers.get('Content-Disposition')).toMatch(/^attachment; filename="[a-z]+-\d{4}-\d\d-\d\d\.csv"$/)
  return text
    .trimEnd()
    .split('\r\n')
    .map((line) =>
      [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(,|$)/g)]
        .slice(0, line.endsWith(',') ? undefined : -1)
        .map(([, cell = '']) => cell.replace(/^"|"$/g, '').replaceAll('""', '"')),
    )
}

test('a list is downloaded as filtered, with formulas as text, money with currency, and times of the shop', async ({
  server,
  owner,
}) => {
  await expectOk(owner('PATCH', '/settings', { timeZone: 'Asia/Tokyo' }))
  const formula = addAffiliate(server, { name: '=HYPERLINK("https://evil.example")', email: '+1@example.com' })
  const zoe = addAffiliate(server, { name: 'Zoë Müller' })
  const given = { affiliateId: formula, happenedAt: '2026-10-20T16:30:00.000Z', orderName: '@1001' }
  insertRows(server, 'commissions', [
    commissionRow(server, { ...given, commissionAmountCents: 1618, orderStatus: 'PENDING' }),
    commissionRow(server, { affiliateId: zoe, currency: 'JPY', orderCurrency: 'JPY' }),
  ])
  addDebt(server, zoe, 300)
  const page = await ownerOf(server)

  const [heading, ...all] = rowsIn(await page.open('/admin/commissions.csv?status=ALL'))
  expect(heading?.slice(0, 9)).toEqual([
    'Order',
    'Adjustment',
    'Affiliate',
    'Date (Asia/Tokyo)',
    'Goods',
    'Goods currency',
    'Commission',
    'Tax withheld',
    'Currency',
  ])
  expect(all).toHaveLength(3)
  expect(all.every((row) => row.length === heading?.length)).toBe(true)
  const amounts = all.map((row) => [row[2], row[4], row[5], row[6], row[8]])
  // A negative amount is a number; text that starts like a formula is not one.
  expect(amounts).toContainEqual(['Zoë Müller', '', '', '-3.00', 'USD'])
  expect(amounts).toContainEqual(['Zoë Müller', '10000', 'JPY', '1000', 'JPY'])
  const [pending, ...others] = rowsIn(await page.open('/admin/commissions.csv?status=PENDING')).slice(1)
  expect(others).toEqual([])
  expect(pending?.slice(0, 4)).toEqual(["'@1001", '', `'=HYPERLINK("https://evil.example")`, '2026-10-21 01:30:00'])
  const byAmount = await page.open('/admin/commissions.csv?status=ALL&min=16.18&max=16.18')
  expect(rowsIn(byAmount)).toEqual([heading, pending])
  expect(rowsIn(await page.open('/admin/commissions.csv?status=ALL&order=@1001'))).toEqual([heading, pending])

  const [, ...affiliates] = rowsIn(await page.open('/admin/affiliates.csv?status=APPROVED'))
  expect(affiliates.map(([name, email]) => [name, email])).toContainEqual([
    `'=HYPERLINK("https://evil.example")`,
    "'+1@example.com",
  ])
  const links = (await page.open('/admin/commissions?status=PENDING&affiliate=&page=1')).text
  expect(/href="([^"]+\.csv[^"]*)"/.exec(links)?.[1]).toBe('/admin/commissions.csv?status=PENDING')
  // An invalid filter is an error of the page, not a file that ends early.
  expect((await page.open('/admin/commissions.csv?min=abc')).status).toBe(400)
})

test('a file begins with a byte order mark, and no cell of it starts a row or a formula', async ({ server }) => {
  addAffiliate(server, { name: 'Maëlle;=1+1;x\n=2+2;\t-3' })
  const page = await ownerOf(server)
  const Cookie = [...page.jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const response = await server.fetch('http://test/admin/affiliates.csv', { headers: { Cookie } })
  const text = Buffer.from(await response.arrayBuffer()).toString('utf8')
  expect(text.startsWith('\ufeffName,Email,')).toBe(true)
  expect(text).toContain(`\r\n"Maëlle;'=1+1;x =2+2;' -3",`)
})

test('the cells of every file stand under their heading', async ({ server, owner, client }) => {
  await expectOk(owner('PATCH', '/settings', { taxWithholdingBps: 1000, timeZone: 'Europe/Berlin' }))
  const program = await client.programs.create({ name: 'Friends', autoApproveOrder: true, autoApproveAffiliate: true })
  const email = 'nisa@example.com'
  const { id: affiliateId, slug } = await client.affiliates.create({ name: 'Nisa', email, campaignId: program.id })
  await client.affiliates.update(affiliateId, { phone: '030 1', website: 'https://n.example', homeCountry: 'DE' })
  const [{ code = '' } = {}] = (await client.coupons.list().page(1)).data
  await client.events.click({ ref: slug })
  const order = { externalOrderId: '1001', orderName: '#A', amountCents: 10_000, discountCents: 1000, couponCode: code }
  const { commission } = await client.events.conversion({ ...order, occurredAt: '2026-10-20T10:00:00Z' })
  const { id: batchId } = await client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-10-31' })
  const page = await ownerOf(server)
  const first = async (path: string) => {
    const { text } = await page.open(`/admin/${path}`)
    const [heading, row] = text
      .replace('\ufeff', '')
      .split('\r\n')
      .map((line) => line.split(','))
    return Object.fromEntries(heading!.map((name, at) => [name, row?.[at]]))
  }
  const now = '2026-11-02 13:00:00'
  const ids = { 'Affiliate ID': affiliateId, 'Order ID': 'api:1001' }
  const shared = { Order: '#A', 'Date (Europe/Berlin)': '2026-10-20 12:00:00', Goods: '90.00', 'Goods currency': 'USD' }
  const earned = { Affiliate: 'Nisa', Commission: '14.40', Currency: 'USD' }
  expect(await first('affiliates.csv')).toEqual({
    Name: 'Nisa',
    Email: email,
    Status: 'APPROVED',
    Code: code,
    Link: expect.stringContaining(slug),
    Program: 'Friends',
    Phone: '030 1',
    Website: 'https://n.example',
    Country: 'DE',
    'Joined (Europe/Berlin)': now,
    'Affiliate ID': affiliateId,
    Clicks: '1',
    Orders: '1',
    'Revenue (USD)': '100.00',
    'Commission (USD)': '14.40',
    'Other currencies': '',
  })
  expect(await first('commissions.csv?status=ALL')).toEqual({
    ...{ ...shared, ...earned, ...ids },
    Adjustment: '',
    'Tax withheld': '1.44',
    Status: 'PAYABLE',
    Restriction: '',
    Payout: batchId,
    'Commission ID': commission.id,
  })
  expect(await first('orders.csv')).toEqual({ ...shared, ...earned, ...ids, Outcome: 'PAYABLE' })
  expect(await first('payouts.csv')).toEqual({
    'First day (Europe/Berlin)': '2026-10-01',
    'Last day (Europe/Berlin)': '2026-10-31',
    Status: 'OPEN',
    Affiliates: '1',
    Commissions: '1',
    Commission: '14.40',
    'Tax withheld': '1.44',
    'To pay': '12.96',
    Currency: 'USD',
    'Created (Europe/Berlin)': now,
    'Paid (Europe/Berlin)': '',
    'Payout ID': batchId,
  })
  expect(await first(`payouts/${batchId}/lines.csv`)).toEqual({
    name: 'Nisa',
    email,
    amount: '12.96',
    currency: 'USD',
    state: 'BLOCKED',
    method: '',
    paymentReference: '',
    reference: '',
    date: '',
  })
  expect(await first('audit.csv?action=payout.created')).toEqual({
    Number: expect.stringMatching(/^\d+$/),
    'Time (Europe/Berlin)': now,
    Action: 'payout.created',
    By: `key:${server.shop.keyId}`,
    Subject: batchId,
    Details: expect.stringMatching(/^"\{/),
    'Request ID': expect.any(String),
  })
})

test('orders, payouts, and the audit log have CSV downloads', async ({ server, owner, client }) => {
  const program = await client.programs.create({ name: 'P', autoApproveOrder: true, autoApproveAffiliate: true })
  const { id, discountCode } = await client.affiliates.create({
    name: 'Nisa',
    email: 'nisa@example.com',
    campaignId: program.id,
  })
  await expectOk(
    convert(server, { externalOrderId: '1001', orderName: '#1001', amountCents: 10_000, couponCode: discountCode }),
  )
  await expectOk(convert(server, { externalOrderId: '1002', amountCents: 5000 }))
  const canceled = { externalOrderId: '1003', amountCents: 10_000, couponCode: discountCode }
  const { commission } = await expectOk(convert(server, canceled))
  await expectOk(owner('POST', `/commissions/${commission.id}/cancel`))
  await client.payouts.create({ periodStart: '2020-01-01', periodEnd: '2030-01-01' })
  const page = await ownerOf(server)

  const orders = rowsIn(await page.open('/admin/orders.csv')).slice(1)
  expect(orders.map(([order, , , , outcome, affiliate, cents]) => [order, outcome, affiliate, cents])).toEqual([
    ['1003', 'CANCELED', 'Nisa', '0.00'],
    ['1002', 'NOBODY', '', ''],
    ['#1001', 'PAYABLE', 'Nisa', '16.00'],
  ])
  expect(orders[2]?.at(-2)).toBe(id)
  const [batch, ...more] = rowsIn(await page.open('/admin/payouts.csv')).slice(1)
  expect(more).toEqual([])
  expect(batch?.slice(0, 5)).toEqual(['2020-01-01', '2030-01-01', 'OPEN', '1', '1'])
  const records = rowsIn(await page.open('/admin/audit.csv?action=payout.created')).slice(1)
  expect(records.map((row) => row[2])).toEqual(['payout.created'])
  const all = rowsIn(await page.open('/admin/audit.csv?view=all')).slice(1)
  const numbers = all.map(([number]) => Number(number))
  expect(numbers).toEqual(numbers.map((_, index) => numbers.length - index))
  const written = await expectOk(owner('GET', '/audit?limit=100'))
  expect(written.map(({ action }: { action: string }) => action)).toEqual(
    expect.arrayContaining(['orders.exported', 'audit.exported', 'payouts.listed']),
  )
})

test('a long list is written as it is read, and ends when the session does', async ({ server }) => {
  const affiliateId = addAffiliate(server)
  const MANY = 2600
  insertRows(
    server,
    'commissions',
    Array.from({ length: MANY }, (_, n) =>
      commissionRow(server, { affiliateId, happenedAt: new Date(Date.UTC(2026, 9, 1) + n * 1000).toISOString() }),
    ),
  )
  const page = await ownerOf(server)
  const path = '/admin/commissions.csv?status=ALL'
  const rows = rowsIn(await page.open(path)).slice(1)
  expect(new Set(rows.map((row) => row[12])).size).toBe(MANY)
  expect(rows.map((row) => row[3])).toEqual(
    rows
      .map((row) => row[3])
      .toSorted()
      .reverse(),
  )

  const Cookie = [...page.jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const { body } = await server.fetch(`http://test${path}`, { headers: { Cookie } })
  const reader = body!.getReader()
  const first = await reader.read()
  expect(first.value!.length).toBeLessThan(200_000)
  await page.submit('/admin/sign-out')
  const rest = async () => {
    for (;;) if ((await reader.read()).done) return 'complete'
  }
  await expect(rest()).rejects.toThrow(/session/i)
})
