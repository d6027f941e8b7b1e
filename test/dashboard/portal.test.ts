// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operate } from '../support/operator.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'
import { codeOf, openPageShop, type PageShop } from './fixture.ts'
import { type Fields, visitorOf, wordsOf } from './visitor.ts'

let shop: PageShop
let path: string
let other: { id: string }
beforeAll(async () => {
  shop = await openPageShop()
  await shop.order({ externalOrderId: '7001', orderName: '#7001', customerEmail: 'buyer@example.com' })
  other = await newAffiliate(shop.server, { name: 'Other Person', code: 'ELSE1' })
  await shop.order({ externalOrderId: '7002', orderName: '#7002', couponCode: 'ELSE1' })
  path = await link(shop.affiliateId)
})
afterAll(() => shop.server.close())

/** Creates a link on the page of an affiliate, as an owner does. */
async function link(id: string, owner = shop.owner): Promise<string> {
  const sent = await owner.submit(`/admin/affiliates/${id}/link`, [['hours', '1']])
  const { text } = await owner.open(sent.headers.get('Location') ?? '')
  return /\/affiliate\?token=[\w.%-]+/.exec(text)?.[0] ?? ''
}
const open = (to: string) => visitorOf(shop.server).open(to)
const update = (id: string, body: object) =>
  expectOk(shop.server.request('PATCH', `/api/v1/affiliates?id=${id}`, { body }))

test('a link opens the page of one affiliate without a session: own code, orders and balance, nothing of others', async () => {
  expect(shop.lastAudit()).not.toBe('')
  const { status, headers, text } = await open(path)
  expect(status).toBe(200)
  expect([headers.get('Cache-Control'), headers.get('Set-Cookie')]).toEqual(['no-store', null])
  const words = wordsOf(text)
  for (const shown of ['NISA16', '#7001', 'Awaiting approval', 'not approved it yet']) expect(words).toContain(shown)
  expect(words).not.toMatch(/#7002|ELSE1|Other Person|buyer@example/)
  expect(text).not.toMatch(/<form|<a [^>]*href="\/admin/)
  expect(
    shop
      .audits()
      .some(({ action, subjectId }) => action === 'affiliate_link.created' && subjectId === shop.affiliateId),
  ).toBe(true)
  expect(shop.server.logs.join('')).not.toContain(path.split('token=')[1])
})

test('the page says in one sentence what the affiliate earns, and nothing of the rates of others', async () => {
  const { client } = shop.server
  const id = (await client.programs.list()).data[0]?.id ?? ''
  const rules = [
    { when: { affiliateIds: [other.id] }, commissionPercent: 44 },
    { when: { affiliateIds: [shop.affiliateId], customerMonth: { to: 11 } }, commissionPercent: 30 },
    { when: { customerMonth: { from: 12 } }, commissionPercent: null },
  ]
  await client.programs.setTerms(id, { holdDays: 30, rules })
  const words = wordsOf((await open(path)).text)
  await client.programs.setTerms(id, { rules: [] })
  expect(words).toContain(
    'Your terms Pays 30% for 12 months from a customer&#39;s first order, then nothing; payable after 30 days.',
  )
  expect(words).not.toContain('44%')
})

/** Every address of the pages of an affiliate, with a token. */
const addresses = (token: string): string[] =>
  [...new Set(shop.server.routes.filter(({ path }) => /^\/affiliate(\/|$)/.test(path)).map(({ path }) => path))]
    .map((path) => path.replace(':month', thisMonth()))
    .flatMap((path) =>
      path.endsWith('/file') ? ['csv', 'html'].map((format) => [path, { format }] as const) : [[path, {}] as const],
    )
    .map(([path, query]) => `${path}?${new URLSearchParams({ ...query, token })}`)
const tokenOf = (path: string) => new URL(`http://test${path}`).searchParams.get('token') ?? ''
const thisMonth = () => new Date(shop.server.deps.now()).toISOString().slice(0, 7)

test('the page says what is paid after tax, and how a refund and a cancellation changed a commission', async () => {
  const { server } = shop
  const setTax = (taxWithholdingBps: number) => expectOk(server.owner('PATCH', '/settings', { taxWithholdingBps }))
  await setTax(1000)
  const [refunded, canceled] = [
    await shop.order({ externalOrderId: '7011', orderName: '#7011' }),
    await shop.order({ externalOrderId: '7012', orderName: '#7012' }),
  ]
  await setTax(0)
  await expectOk(server.owner('POST', `/commissions/${refunded}/approve`))
  const refund: Fields = [
    ['id', refunded],
    ['orderId', 'api:7011'],
    ['currency', 'USD'],
    ['externalRefundId', 'r-1'],
    ['amount', '50.00'],
  ]
  await shop.done('/orders/refund', refund)
  await expectOk(server.owner('POST', `/commissions/${canceled}/cancel`))
  const words = wordsOf((await open(path)).text)
  expect(words).toMatch(/Approved 8\.00 USD Being paid 0\.00 USD Tax withheld −0\.80 USD You receive 7\.20 USD/)
  expect(words).toMatch(/#7011 .* 8\.00 USD Approved 16% of 100\.00 USD, of which 50\.00 USD was refunded\./)
  expect(words).toMatch(/#7012 .*It was canceled\./)
  expect(words).not.toContain('The order was canceled')
  // The statements of the next tests are without it.
  await expectOk(server.owner('POST', `/commissions/${refunded}/cancel`))
})

test('every page of a link shows only its affiliate’s data', async () => {
  const all = addresses(tokenOf(path))
  expect(all.length).toBe(5)
  for (const address of all) {
    const { status, text } = await open(address)
    expect([address, status]).toEqual([address, 200])
    expect(text).not.toMatch(/#7002|ELSE1|Other Person|buyer@example/)
    expect(text).not.toContain(other.id)
    // An id in the address changes nothing.
    expect((await open(`${address}&affiliateId=${other.id}&id=${other.id}`)).text).not.toMatch(/#7002|Other Person/)
  }
})

test('401 for a link that is invalid, of other sealed text, or expired', async () => {
  const flash = await shop.owner.submit('/admin/keys', [
    ['label', 'K'],
    ['access-programs', 'read'],
  ])
  const sealed = /referral_flash=([^;]+)/.exec(flash.headers.get('Set-Cookie') ?? '')?.[1] ?? ''
  for (const token of ['', 'x', sealed, `${decodeURIComponent(path.split('token=')[1] ?? '').slice(0, -2)}AA`])
    for (const address of addresses(token)) expect(codeOf(await open(address)), token).toEqual([401, 'session_expired'])
  const clock = shop.server.deps.now
  shop.server.deps.now = () => clock() + 3_600_001
  const before = shop.audits().length
  for (const address of addresses(tokenOf(path))) expect(codeOf(await open(address))).toEqual([401, 'session_expired'])
  expect(shop.audits().length).toBe(before)
  shop.server.deps.now = clock
  expect((await open(path)).status).toBe(200)
})

test('the statements of an affiliate are those of the merchant, and its file is byte-identical', async () => {
  const month = thisMonth()
  const pending = await shop.order({ externalOrderId: '7003', orderName: '#7003', currency: 'EUR' })
  for (const id of [pending, await shop.order({ externalOrderId: '7004', orderName: '#7004' })])
    await expectOk(shop.server.owner('POST', `/commissions/${id}/approve`))
  const token = tokenOf(path)
  const at = (end: string, query = {}) => `/affiliate/statements${end}?${new URLSearchParams({ token, ...query })}`
  const words = wordsOf((await open(at(''))).text)
  const statement = await shop.server.owner('GET', `/affiliates/${shop.affiliateId}/statement?month=${month}`)
  expect(statement.body.currencies).toHaveLength(2)
  expect(words).toContain('0.00 EUR 0.00 USD 16.00 EUR 16.00 USD 0.00 EUR 0.00 USD 16.00 EUR 16.00 USD')
  const one = wordsOf((await open(at(`/${month}`))).text)
  for (const shown of [
    'Order #7004: commission of 16% on 100.00 USD',
    'Order #7001: not approved yet',
    'Closing balance 16.00 EUR',
  ])
    expect(one).toContain(shown)
  for (const format of ['csv', 'html']) {
    const own = await open(at(`/${month}/file`, { format }))
    const file = await shop.server.owner(
      'GET',
      `/affiliates/${shop.affiliateId}/statement/file?month=${month}&format=${format}`,
    )
    expect(own.text).toBe(file.body)
  }
  for (const end of ['/2026-13', '/0000-01', '/x', '/2026-13/file']) {
    const { status } = await open(at(end, { format: 'csv' }))
    expect([end, status]).toEqual([end, 400])
  }
  expect((await open(at(`/${month}/file`, { format: 'exe' }))).status).toBe(404)
})

test('a link of a test shop opens pages of that test shop alone, which say that it is one', async () => {
  const { ownerToken, apiKey: key } = await expectOk(shop.server.owner('POST', '/test-shops', { name: 'Tests' }))
  const tester = await newAffiliate(shop.server, { name: 'Test Person', code: 'NISA16', key })
  await expectOk(
    convert(shop.server, { externalOrderId: 't-1', orderName: '#T1', amountCents: 100, couponCode: 'NISA16' }, { key }),
  )
  const owner = visitorOf(shop.server)
  await owner.signIn(ownerToken)
  const made = await link(tester.id, owner)
  for (const address of addresses(tokenOf(made))) {
    const { status, text } = await open(address)
    expect([address, status]).toEqual([address, 200])
    expect(text).not.toMatch(/#7001|Mira/)
    if (!address.includes('/file')) expect(text).toContain('here are not real')
  }
  for (const address of addresses(tokenOf(path))) expect((await open(address)).text).not.toMatch(/#T1|Test Person/)
})

test('a page past the last leads to the last one', async () => {
  for (const [address, last] of [
    [path, '1'],
    [path.replace('?', '/statements?'), '1'],
  ] as const) {
    const { status, headers } = await open(`${address}&page=1000`)
    const to = headers.get('Location') ?? ''
    expect([status, new URLSearchParams(to.split('?')[1]).get('page')]).toEqual([303, last])
    expect((await open(to)).text).toContain('role="table"')
  }
})

test('a link ends when the affiliate is rejected or archived, or the shop suspended', async () => {
  const own = await link(other.id)
  const expectEnded = async (link: string) => {
    for (const address of addresses(tokenOf(link)))
      expect([address, ...codeOf(await open(address))]).toEqual([address, 401, 'session_expired'])
    return wordsOf((await open(link)).text)
  }
  expect((await open(own)).status).toBe(200)
  await update(other.id, { status: 'REJECTED' })
  const { name } = await expectOk(shop.server.request('GET', '/api/v1/shop'))
  const ended = await expectEnded(own)
  for (const shown of [`open your page at ${name}`, `Ask ${name} for one`]) expect(ended).toContain(shown)
  await update(other.id, { status: 'APPROVED' })
  // If it leaked, it must not open again.
  await expectEnded(own)
  const revoked = await link(other.id)
  expect((await open(revoked)).status).toBe(200)
  await expectOk(shop.server.owner('DELETE', `/affiliates/${other.id}/tokens`))
  await expectEnded(revoked)
  await expectOk(shop.server.request('DELETE', `/api/v1/affiliates?id=${other.id}`))
  await expectEnded(own)
  await expectOk(operate(shop.server, 'POST', `/shops/${shop.server.shop.shopId}/suspend`))
  for (const text of [await expectEnded(path), wordsOf((await open('/affiliate?token=x')).text)])
    expect([text.includes(name), text]).toEqual([false, expect.stringContaining('This page cannot be opened')])
})

test('another shop cannot create a link', async () => {
  const stranger = visitorOf(shop.server)
  await stranger.signIn((await shop.server.createShop()).ownerToken)
  const sent = await stranger.submit(`/admin/affiliates/${shop.affiliateId}/link`, [['hours', '1']])
  expect(codeOf(sent)).toEqual([404, 'affiliate_not_found'])
})
