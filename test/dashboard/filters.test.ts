// SQLite only: the pages call the use cases that are tested on both databases
import { expect } from 'vitest'
import { addAffiliate, commissionRow } from '../payouts/rows.ts'
import { insertRows } from '../support/inspect.ts'
import { convert, expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { type Opened, visitorOf, wordsOf } from './visitor.ts'

type Server = Parameters<typeof addAffiliate>[0]

async function ownerOf(server: Server) {
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  return page
}

/** The filters that are shown, and the address of the list without each. */
const chipsOn = ({ text }: Opened) =>
  [...text.matchAll(/<li><a href="([^"]*)">((?:(?!<\/li>).)*?)<span class="visually-hidden"> \(remove\)/g)].map(
    ([, to = '', name = '']) => [wordsOf(name).trim(), to.replaceAll('&amp;', '&')],
  )

/** The counts of the tabs by their text. */
const countsOn = ({ text }: Opened) => {
  const [tabs = ''] = /<nav class="tabs" aria-label="By status.*?<\/nav>/s.exec(text) ?? []
  return Object.fromEntries(
    [...tabs.matchAll(/<a [^>]*>([^<]*?)(?: <span class="count">([^<]*)<\/span>)?<\/a>/g)].map(([, name, count]) => [
      name,
      count,
    ]),
  )
}

test('payouts are filtered by status, currency, and period, with the total of what matches, and the file follows', async ({
  server,
  client,
}) => {
  const affiliateId = addAffiliate(server)
  const months = [
    ['2026-08', 'USD'],
    ['2026-09', 'USD'],
    ['2026-09', 'EUR'],
    ['2026-10', 'USD'],
  ] as const
  insertRows(
    server,
    'commissions',
    months.map(([month, currency]) =>
      commissionRow(server, {
        affiliateId,
        currency,
        orderCurrency: currency,
        happenedAt: `${month}-10T00:00:00.000Z`,
      }),
    ),
  )
  for (const [month, currency] of months) {
    const period = { periodStart: `${month}-01`, periodEnd: `${month}-28` }
    const { id } = await client.payouts.create({ ...period, currency })
    if (month === '2026-08') await client.payouts.pay(id)
  }
  const page = await ownerOf(server)
  const found = async (query: string) => {
    const opened = await page.open(`/admin/payouts?${query}`)
    const [, batches = ''] = opened.text.split('<h2>Batches</h2>')
    const shown = [...batches.matchAll(/href="\/admin\/payouts\/bat_/g)].length
    const file = (await page.open(`/admin/payouts.csv?${query}`)).text.trimEnd().split('\r\n').length - 1
    return [opened.status, shown, file]
  }
  expect(await found('')).toEqual([200, 4, 4])
  expect(await found('status=PAID')).toEqual([200, 1, 1])
  expect(await found('currency=eur')).toEqual([200, 1, 1])
  expect(await found('status=OPEN&currency=USD')).toEqual([200, 2, 2])
  // A batch matches if its period has one of the days.
  expect(await found('from=2026-09-28&to=2026-10-01')).toEqual([200, 3, 3])
  expect(await found('from=2026-09-29&to=2026-09-30')).toEqual([200, 0, 0])
  // The total is that of the filter: a page beyond its end leads back.
  const past = await page.open('/admin/payouts?currency=EUR&page=2')
  expect([past.status, past.headers.get('Location')]).toEqual([303, '/admin/payouts?currency=EUR&page=1'])
  expect((await page.open('/admin/payouts?from=2026-10-02&to=2026-10-01')).status).toBe(400)
  const all = await page.open('/admin/payouts')
  expect(countsOn(all)).toEqual({ All: '4', Open: '3', Processing: '0', Paid: '1', 'Failed or canceled': '0' })
  expect(chipsOn(await page.open('/admin/payouts?status=OPEN&currency=EUR&from=2026-09-01'))).toEqual([
    ['Currency EUR', '/admin/payouts?status=OPEN&from=2026-09-01'],
    ['From Sep 1, 2026', '/admin/payouts?status=OPEN&currency=EUR'],
  ])
  // The API has no such filter, and a read ignores unknown parameters.
  expect((await server.request('GET', '/api/v1/payouts?currency=EUR')).body.pagination.total).toBe(4)
})

test('a page has 25, 50, or 100 rows, as its address says', async ({ server }) => {
  for (let n = 0; n < 60; n++) addAffiliate(server, { name: `Person ${n}` })
  const affiliateId = addAffiliate(server)
  insertRows(
    server,
    'commissions',
    Array.from({ length: 60 }, () => commissionRow(server, { affiliateId, orderStatus: 'PENDING' })),
  )
  const page = await ownerOf(server)
  const linksIn = (text: string) =>
    Object.fromEntries(
      [...(/<span class="sizes">.*?<\/span>/s.exec(text)?.[0] ?? '').matchAll(/<a href="([^"]*)">(\d+)/g)].map(
        ([, to = '', size = '']) => [size, to.replaceAll('&amp;', '&')],
      ),
    )
  const opened = async (path: string) => {
    const { text } = await page.open(path)
    return { rows: [...text.matchAll(/name="ids"/g)].length, sizes: linksIn(text), text }
  }
  const second = await opened('/admin/affiliates?status=APPROVED&page=2')
  expect(second.rows).toBe(25)
  expect(second.sizes).toEqual({
    50: '/admin/affiliates?status=APPROVED&page=1&size=50',
    100: '/admin/affiliates?status=APPROVED&page=1&size=100',
  })
  const all = await opened(second.sizes[100]!)
  expect([all.rows, Object.keys(all.sizes)]).toEqual([61, ['25', '50']])
  // The filter keeps the size, and the file has every row anyway.
  expect(all.text).toContain('<input type="hidden" name="size" value="100">')
  expect(all.text).toContain('href="/admin/affiliates.csv?status=APPROVED"')
  for (const size of ['30', '1000', 'x']) expect((await opened(`/admin/affiliates?size=${size}`)).rows).toBe(25)
  for (const path of ['/admin/commissions?status=PENDING', '/admin/commissions?status=PENDING&min=0.01']) {
    const { rows, sizes } = await opened(path)
    expect([path, rows, (await opened(sizes[100]!)).rows]).toEqual([path, 25, 60])
  }
  const ids = [...all.text.matchAll(/name="ids" value="(\w+)"/g)].map(([, id = '']): [string, string] => ['ids', id])
  // Tabs, filters, and headings keep it.
  for (const to of ['sort=-orders&amp;size=100', 'status=REJECTED&amp;size=100']) expect(all.text).toContain(to)
  const moved = await page.submit('/admin/affiliates/status', [...ids, ['move', 'REJECTED'], ['size', '100']])
  expect(moved.headers.get('Location')).toBe('/admin/affiliates?size=100')
})

test('every filtered list shows its filters, each with a link that removes it, and counts its statuses', async ({
  server,
  client,
}) => {
  const program = await client.programs.create({ name: 'Friends' })
  const add = (name: string, campaignId: string) =>
    client.affiliates.create({ name, email: `${name}@example.com`, campaignId })
  const nisa = await add('Nisa', program.id)
  await add('Zoe', (await client.programs.create({ name: 'Others' })).id)
  await client.affiliates.update(nisa.id, { status: 'APPROVED' })
  for (const externalOrderId of ['1', '2'])
    await expectOk(convert(server, { externalOrderId, amountCents: 1000, couponCode: nisa.discountCode }))
  const webhook = await client.webhooks.create({ url: 'https://example.com/hook' })
  const page = await ownerOf(server)
  const chips = async (path: string) => {
    const opened = await page.open(`/admin/${path}`)
    expect([path, opened.status]).toEqual([path, 200])
    return chipsOn(opened)
  }
  expect(await chips(`affiliates?status=APPROVED&q=ni&campaignId=${program.id}`)).toEqual([
    ['Search ni', `/admin/affiliates?status=APPROVED&campaignId=${program.id}`],
    ['Program Friends', '/admin/affiliates?status=APPROVED&q=ni'],
  ])
  expect(await chips('coupons?code=abc&status=PENDING')).toEqual([['Search abc', '/admin/coupons?status=PENDING']])
  expect(await chips(`deliveries?status=FAILED&event=test&subscriptionId=${webhook.id}`)).toEqual([
    ['Status Failed', `/admin/deliveries?event=test&subscriptionId=${webhook.id}`],
    ['Event test', `/admin/deliveries?status=FAILED&subscriptionId=${webhook.id}`],
    ['Webhook https://example.com/hook', '/admin/deliveries?status=FAILED&event=test'],
  ])
  expect(await chips('audit?action=key.created&actor=operator&to=2026-11-30')).toEqual([
    ['Action key.created', '/admin/audit?actor=operator&to=2026-11-30&view=all'],
    ['By The operator', '/admin/audit?action=key.created&to=2026-11-30&view=all'],
    ['To Nov 30, 2026', '/admin/audit?action=key.created&actor=operator&view=all'],
  ])
  expect((await page.open('/admin/audit?from=yesterday')).status).toBe(400)

  const statuses = { Approved: '1', Active: '0', Rejected: '0' }
  expect(countsOn(await page.open('/admin/affiliates'))).toEqual({ All: '2', 'Awaiting approval': '1', ...statuses })
  expect(countsOn(await page.open(`/admin/affiliates?campaignId=${program.id}`))).toEqual({
    All: '1',
    'Awaiting approval': '0',
    ...statuses,
  })
  expect(countsOn(await page.open('/admin/coupons'))).toEqual({ All: '2', Pending: '1', ...statuses })
  // Nothing counts a search but reading its rows.
  expect(countsOn(await page.open('/admin/affiliates?q=nisa')).All).toBeUndefined()
  const counted = {
    'Awaiting approval': '2',
    Approved: '0',
    Payable: '0',
    Paid: '0',
    Rejected: '0',
    Refunded: '0',
    Canceled: '0',
    Reversed: '0',
  }
  expect(countsOn(await page.open('/admin/commissions'))).toEqual({ ...counted, All: '2' })
  expect(countsOn(await page.open('/admin/commissions?affiliate=zoe')).All).toBe('0')
  expect(countsOn(await page.open(`/admin/commissions?affiliate=nisa&programId=${program.id}`)).All).toBe('2')
  expect(countsOn(await page.open('/admin/commissions?from=2026-11-01')).All).toBeUndefined()
})

test('commissions open on those that await approval, and on all when none does', async ({ server, client }) => {
  const { id: campaignId } = await client.programs.create({ name: 'By hand', autoApproveAffiliate: true })
  const affiliate = await client.affiliates.create({ email: 'a@example.com', name: 'A', campaignId })
  const page = await ownerOf(server)
  const currentTab = async () =>
    /aria-current="true">([^<]*?) </.exec((await page.open('/admin/commissions')).text)?.[1]
  expect(await currentTab()).toBe('All')
  expect(wordsOf((await page.open(`/admin/affiliates/${affiliate.id}`)).text)).toContain('Unpaid 0.00 USD')
  const { commission } = await client.events.conversion({
    externalOrderId: '1',
    amountCents: 1000,
    ref: affiliate.slug,
  })
  expect(await currentTab()).toBe('Awaiting approval')
  await server.owner('POST', `/commissions/${commission.id}/approve`)
  expect(await currentTab()).toBe('All')
})

test('the overview says how many open batches it has not read for blocked payments', async ({ server, client }) => {
  const affiliateId = addAffiliate(server)
  const days = ['2026-10-01', '2026-10-02', '2026-10-03', '2026-10-04', '2026-10-05']
  insertRows(
    server,
    'commissions',
    days.map((day) => commissionRow(server, { affiliateId, happenedAt: `${day}T12:00:00.000Z` })),
  )
  for (const day of days) await client.payouts.create({ periodStart: day, periodEnd: `${day}T23:59:59Z` })
  const page = await ownerOf(server)
  const { text } = await page.open('/admin')
  const [, todo = ''] = text.split('aria-label="Needs attention"')
  expect(wordsOf(todo).match(/1 payment is blocked,/g)).toHaveLength(3)
  expect(wordsOf(todo)).toContain('2 more open batches may have blocked payments')
  expect(todo).toContain('href="/admin/payouts?status=OPEN"')
})
