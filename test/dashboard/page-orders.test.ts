// SQLite only: the pages call the use cases that are tested on both databases
import { expect } from 'vitest'
import { insertRows, rowsOf } from '../support/inspect.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { noticeOf, visitorOf, wordsOf } from './visitor.ts'

test('an order without an affiliate is shown and found by its own name, also after it is credited', async ({
  server,
  client,
}) => {
  const order = { externalOrderId: '5551000208', orderName: '#1001', amountCents: 10_000 }
  await expectOk(convert(server, order))
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const list = (await page.open('/admin/orders')).text
  expect(list).toContain('<bdi>#1001</bdi>')
  expect(wordsOf(list)).not.toContain('5551000208')
  for (const name of ['1001', '%231001', '5551000208']) {
    const { status, text } = await page.open(`/admin/orders?id=${name}`)
    expect([name, status, wordsOf(/<h1>.*?<\/h1>/.exec(text)?.[0] ?? '').trim()]).toEqual([name, 200, 'Order #1001'])
  }
  const { id } = await client.programs.create({ name: 'P', autoApproveAffiliate: true })
  const nisa = await client.affiliates.create({ name: 'Nisa', email: 'nisa@example.com', campaignId: id })
  await expectOk(convert(server, { ...order, couponCode: nisa.discountCode }))
  expect(wordsOf((await page.open('/admin/orders?id=%231001')).text)).toContain('Nisa')
})

/** The orders of a list in order. */
const namesOn = (text: string) =>
  [...text.matchAll(/<th scope="row"[^>]*><a href="\/admin\/orders[^"]*"><bdi>([^<]*)/g)].map(([, name]) => name)
const chipsOn = (text: string) =>
  [...text.matchAll(/<li><a href="([^"]*)">(.*?)<span class="visually-hidden"> \(remove\)/g)].map(([, to, name]) => [
    to?.replaceAll('&amp;', '&'),
    wordsOf(name ?? '').trim(),
  ])

test('orders are filtered by outcome, affiliate, currency, amount, and days of the shop, and the file follows', async ({
  server,
  client,
  owner,
}) => {
  await expectOk(owner('PATCH', '/settings', { timeZone: 'Asia/Tokyo' }))
  const { id } = await client.programs.create({ name: 'P', autoApproveAffiliate: true })
  const add = (name: string) => client.affiliates.create({ name, email: `${name}@example.com`, campaignId: id })
  const [nisa, zoe] = [await add('Nisa'), await add('Zoe')]
  const report = (orderName: string, more: object) =>
    expectOk(convert(server, { externalOrderId: orderName, orderName, amountCents: 10_000, ...more }))
  await report('A', { couponCode: nisa.discountCode, occurredAt: '2026-10-20T14:59:59Z' })
  await report('B', { couponCode: nisa.discountCode, occurredAt: '2026-10-20T15:00:00Z', amountCents: 2000 })
  await report('C', { couponCode: zoe.discountCode, occurredAt: '2026-10-22T00:00:00Z', currency: 'EUR' })
  await report('D', { occurredAt: '2026-10-23T00:00:00Z', discountCents: 9000 })
  const { data } = await client.commissions.list({ externalOrderId: 'A' })
  await expectOk(owner('POST', `/commissions/${data[0]!.id}/approve`, {}))

  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const found = async (query: string) => {
    const { status, text } = await page.open(`/admin/orders?${query}`)
    expect([query, status]).toEqual([query, 200])
    const file = await page.open(`/admin/orders.csv?${query}`)
    const inFile = file.text.trimEnd().split('\r\n').slice(1)
    expect([query, inFile.map((line) => line.split(',')[0])]).toEqual([query, namesOn(text)])
    return namesOn(text).join('')
  }
  expect(await found('')).toBe('DCBA')
  expect(await found('outcome=APPROVED')).toBe('A')
  expect(await found('outcome=PENDING')).toBe('CB')
  expect(await found('outcome=NOBODY')).toBe('D')
  expect(await found('outcome=PAID')).toBe('')
  expect(await found('affiliate=nisa')).toBe('BA')
  expect(await found('affiliate=nisa&outcome=PENDING')).toBe('B')
  expect(await found('affiliate=nisa&outcome=NOBODY')).toBe('')
  expect(await found('affiliate=stranger')).toBe('')
  expect(await found('currency=eur')).toBe('C')
  expect(await found('min=20.00')).toBe('BA')
  expect(await found('max=20')).toBe('DB')
  expect(await found('min=100&max=100&currency=EUR')).toBe('C')
  // Days of Tokyo begin at 15:00 UTC.
  expect(await found('from=2026-10-21&to=2026-10-21')).toBe('B')
  expect(await found('to=2026-10-20&affiliate=nisa&outcome=APPROVED&min=1')).toBe('A')

  const { text } = await page.open('/admin/orders?affiliate=nisa&outcome=PENDING&from=2026-10-21')
  expect(chipsOn(text)).toEqual([
    ['/admin/orders?outcome=PENDING&from=2026-10-21', 'Affiliate Nisa'],
    ['/admin/orders?affiliate=nisa&from=2026-10-21', 'Outcome Pending'],
    ['/admin/orders?affiliate=nisa&outcome=PENDING', 'From Oct 21, 2026'],
  ])
  expect(text).toMatch(/<a class="all" href="\/admin\/orders">Clear all/)
  expect(text).toContain('href="/admin/orders.csv?affiliate=nisa&amp;outcome=PENDING&amp;from=2026-10-21"')
})

/** The cells of a row in words, by the name of its order. */
const cellsOf = (text: string, name: string) =>
  (new RegExp(`<tr[^>]*><th[^>]*><a [^>]*><bdi>${name}<.*?</tr>`, 's').exec(text)?.[0] ?? '')
    .split(/<\/t[hd]>/)
    .map((cell) => [wordsOf(cell).trim(), ...(cell.includes('<s>') ? ['crossed out'] : [])].join(', '))

test('lists show what is left of refunded goods, and cross out what is not owed', async ({ server, client, owner }) => {
  const { id } = await client.programs.create({ name: 'P', autoApproveAffiliate: true, autoApproveOrder: true })
  const nisa = await client.affiliates.create({ name: 'Nisa', email: 'nisa@example.com', campaignId: id })
  const report = async (orderName: string) => {
    const order = { externalOrderId: orderName, orderName, amountCents: 10_000, discountCents: 1000 }
    await expectOk(convert(server, { ...order, couponCode: nisa.discountCode }))
    const { data } = await client.commissions.list({ externalOrderId: orderName })
    return `/commissions/${data[0]!.id}`
  }
  const [refunded, canceled] = [await report('R'), await report('C')]
  await expectOk(owner('POST', `${refunded}/refund`, { externalRefundId: 'r', amountCents: 4500 }))
  await expectOk(owner('POST', `${canceled}/cancel`, {}))
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const wordsIn = async (path: string) => {
    const { text } = await page.open(path)
    return ['R', 'C'].map((name) => cellsOf(text, name).filter((cell) => cell.includes('USD')))
  }
  const shown = [
    ['90.00 USD 45.00 USD after refunds', '7.20 USD'],
    ['90.00 USD', '14.40 USD (not owed), crossed out'],
  ]
  expect(await wordsIn('/admin/orders')).toEqual(shown)
  expect(await wordsIn('/admin/commissions?status=ALL')).toEqual(shown)
  // The figures count the same order before its discount and its refund, and say so.
  const { text } = await page.open('/admin')
  expect(wordsOf(text)).toContain('100.00 USD')
  expect(wordsOf(text)).toContain('Revenue is the value of goods before discounts and refunds;')
  expect(wordsOf((await page.open(`/admin/affiliates/${nisa.id}`)).text)).toContain(
    'Revenue is the value of goods before discounts',
  )
})

test('a refund needs no id, and is recorded once when its form is sent twice', async ({ server, client }) => {
  const { id } = await client.programs.create({ name: 'P', autoApproveAffiliate: true, autoApproveOrder: true })
  const nisa = await client.affiliates.create({ name: 'Nisa', email: 'nisa@example.com', campaignId: id })
  await expectOk(convert(server, { externalOrderId: 'R', amountCents: 9000, couponCode: nisa.discountCode }))
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const { text } = await page.open('/admin/orders?id=R')
  expect(wordsOf(text)).toMatch(/rest: 90\.00 USD, .*14\.40 USD/)
  const hidden = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? ''
  const fields = ['csrf', 'id', 'orderId', 'ownRefundId', 'currency'].map((name): [string, string] => [
    name,
    hidden(name),
  ])
  for (const [amount, notice] of [
    ['45.00', /^Refund recorded/],
    ['45.00', /45\.00 USD\. Nothing was changed/],
    ['30.00', /45\.00 USD\. Nothing was changed/],
  ] as const) {
    const sent = await page.send('/admin/orders/refund', [...fields, ['externalRefundId', ''], ['amount', amount]])
    expect(sent.status).toBe(303)
    expect(noticeOf(await page.open(sent.headers.get('Location') ?? ''))).toMatch(notice)
  }
  const [one] = (await client.commissions.list({ externalOrderId: 'R' })).data
  expect(one?.commissionAmountCents).toBe(720)
})

test('the tabs of commissions add up, and months of the shop are one link away', async ({ server, client, owner }) => {
  await expectOk(owner('PATCH', '/settings', { timeZone: 'Pacific/Kiritimati' }))
  const { id } = await client.programs.create({ name: 'P', autoApproveAffiliate: true })
  const nisa = await client.affiliates.create({ name: 'Nisa', email: 'nisa@example.com', campaignId: id })
  for (const [n, move] of ['approve', 'reject', 'cancel'].entries()) {
    await expectOk(convert(server, { externalOrderId: `${n}`, amountCents: 9000, couponCode: nisa.discountCode }))
    const { data } = await client.commissions.list({ externalOrderId: `${n}` })
    await expectOk(owner('POST', `/commissions/${data[0]!.id}/${move}`, {}))
  }
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const { text } = await page.open('/admin/commissions?status=ALL&min=20&affiliate=nisa')
  expect(chipsOn(text)).toContainEqual([
    '/admin/commissions?status=ALL&affiliate=nisa',
    'Commission at least 20.00 USD',
  ])
  const all = (await page.open('/admin/commissions?status=ALL')).text
  const tabsOf = /aria-label="By status".*?<\/nav>/s.exec(all)?.[0] ?? ''
  const counts = [...tabsOf.matchAll(/class="count">(\d+)</g)].map(([, n]) => Number(n))
  expect(counts.pop()).toBe(3)
  expect(counts.reduce((sum, n) => sum + n, 0)).toBe(3)
  expect(wordsOf(tabsOf)).toContain('Canceled 1')
  for (const path of ['/admin/commissions?status=ALL', '/admin/orders', '/admin/payouts']) {
    const list = (await page.open(path)).text
    const [, to = ''] = /<a href="([^"]*)">Last month/.exec(list) ?? []
    const { from, to: last } = Object.fromEntries(new URLSearchParams(to.replaceAll('&amp;', '&').split('?')[1]))
    expect([path, from, last]).toEqual([path, '2026-10-01', '2026-10-31'])
    expect([path, (await page.open(to.replaceAll('&amp;', '&'))).status]).toEqual([path, 200])
  }
})

test.for([
  ['/admin/orders', 'min=ten', 'Minimum goods value'],
  ['/admin/orders', 'max=1&min=2', 'Maximum goods value'],
  ['/admin/orders', 'currency=dollars', 'Currency'],
  ['/admin/orders', 'from=soon', 'From'],
  ['/admin/orders', 'from=2026-10-02&to=2026-10-01', 'To'],
  ['/admin/commissions', 'status=ALL&min=ten', 'Minimum commission'],
  ['/admin/orders', `affiliate=${'x'.repeat(321)}`, 'Affiliate'],
  ['/admin/commissions', 'to=2026-02-30', 'To'],
])('400 for %s?%s at the field %s', async ([path, query, label], { server }) => {
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const { status, text } = await page.open(`${path}?${query}`)
  const problem = wordsOf(/<p [^>]*id="problem">(.*?)<\/p>/.exec(text)?.[1] ?? '')
  expect([status, problem]).toEqual([400, expect.stringMatching(new RegExp(`^${label} must`))])
  // What was typed is kept, and the field refers to the reason.
  const rejected = /<input [^>]*aria-invalid="true"[^>]*>/.exec(text)?.[0] ?? ''
  const name = /name="(\w+)"/.exec(rejected)?.[1] ?? ''
  expect(rejected).toContain(`value="${new URLSearchParams(query).get(name)}"`)
  expect(rejected).toMatch(new RegExp(`aria-describedby="${name}-problem[" ]`))
  expect(text.match(/role="alert"/g)).toHaveLength(1)
})

/** The first report starts its thread. */
const SOON = { timeout: 15_000 }

test('a long list continues after the last order of a page, complete and without a total', async ({ server }) => {
  await expectOk(convert(server, { externalOrderId: 'one', amountCents: 1000 }))
  const LONG = 1010
  const [one] = rowsOf(server, 'orders', { orderId: 'api:one' })
  const copyOf = (n: number) => ({ ...one!, orderId: `api:${n}`, orderName: `#${n}`, goodsCents: n })
  insertRows(
    server,
    'orders',
    Array.from({ length: LONG }, (_, n) => copyOf(n + 1)),
  )
  const page = visitorOf(server)
  await page.signIn(server.shop.ownerToken)
  const first = (await page.open('/admin/orders')).text
  expect(first).not.toContain('in total')
  const names = new Set<string | undefined>()
  for (let text = first; ; ) {
    for (const name of namesOn(text)) names.add(name)
    const next = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&')
    if (!next) break
    text = (await page.open(next)).text
  }
  expect(names.size).toBe(LONG + 1)
  expect((await page.open('/admin/orders.csv')).text.trimEnd().split('\r\n')).toHaveLength(LONG + 2)
  expect((await page.open('/admin/orders?after=api:none')).status).toBe(400)

  // No index has amounts: the search is kept, and counts what it has read.
  const search = async () => wordsOf((await page.open('/admin/orders?min=0.31&max=0.60&page=2')).text)
  expect(await search()).toContain('Searching')
  await expect.poll(search, SOON).toContain('Page 2 of 2 (30 in total)')
})

test('a journey is found by an order, and by the name, the email or the code of an affiliate', async ({ server }) => {
  await withAffiliate(server, { program: { autoApproveOrder: false } })
  const owner = visitorOf(server)
  await owner.signIn(server.shop.ownerToken)
  let made = 7700
  const order = (body: object) =>
    expectOk(convert(server, { externalOrderId: `j-${++made}`, amountCents: 10_000, couponCode: 'NISA16', ...body }))
  const sent = { orderName: '#7701', customerEmail: 'journey@shop.example', sessionId: 'session-7701' }
  await order(sent)
  const shown = async (query: Record<string, string>) =>
    wordsOf((await owner.open(`/admin/journey?${new URLSearchParams(query)}`)).text)
  const queries: Record<string, string>[] = [
    { order: '#7701' },
    { order: '7701' },
    { customerEmail: sent.customerEmail },
    { affiliate: 'NISA16' },
  ]
  for (const who of queries)
    expect(await shown(who), JSON.stringify(who)).toMatch(
      /Order #7701 .*Goods 100\.00 USD .*Commission 16\.00 USD · Pending/,
    )
  expect(await shown({ affiliate: 'nisa kar' })).toContain('Order #7701')
  expect(await shown({ affiliate: 'nobody' })).toContain('No affiliate matches nobody')
  expect(await shown({ order: '#0' })).toContain('No order matches #0')
  await order({ orderName: '#7702' })
  expect(await shown({ order: '#7702' })).toContain('without an email address or a session')
})
