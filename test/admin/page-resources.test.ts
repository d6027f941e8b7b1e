// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectOk } from '../support/shop.ts'
import { type Fields, noticeOf, wordsOf } from './page-fixture.ts'
import { codeOf, openPageShop, type PageShop } from './page-shop.ts'

let shop: PageShop
let owner: PageShop['owner']
let order: PageShop['order']
beforeAll(async () => {
  shop = await openPageShop()
  ;({ owner, order } = shop)
})
afterAll(() => shop.server.close())

/** Sends a form and returns where it leads and the message there. */
async function done(path: string, fields: Fields) {
  const sent = await owner.submit(`/admin${path}`, fields)
  expect([path, sent.status, noticeOf(sent)]).toEqual([path, 303, ''])
  const to = sent.headers.get('Location') ?? ''
  return { to, notice: noticeOf(await owner.open(to)) }
}
const words = async (path: string) => wordsOf((await owner.open(`/admin${path}`)).text)
const api = async (path: string) => expectOk(shop.server.request('GET', `/api/v1${path}`))
const list = (path: string) => [...path.matchAll(/name="ids" value="(\w+)"/g)].map(([, id]) => id ?? '')

describe('affiliates', () => {
  test('are created, found by name, email and code, approved together, edited and archived', async () => {
    const ids: string[] = []
    for (const name of ['Ada Lind', 'Bo Lind']) {
      const { to, notice } = await done('/affiliates/new', [
        ['name', name],
        ['email', `${name[0]}@lind.example`],
      ])
      expect(notice).toBe(`${name} is created and awaits approval.`)
      ids.push(to.split('/').at(-1) ?? '')
    }
    const [{ discountCode }] = await api(`/affiliates?id=${ids[0]}`)
    for (const q of ['ada lind', 'A@lind', discountCode.toLowerCase()])
      expect(await words(`/affiliates?q=${encodeURIComponent(q)}`), q).toContain('Ada Lind')
    const { text } = await owner.open('/admin/affiliates?q=lind&status=PENDING')
    expect(list(text).toSorted()).toEqual(ids.toSorted())
    const fields = list(text).map((id): [string, string] => ['ids', id])
    const moved = await done('/affiliates/status', [...fields, ['q', 'lind'], ['move', 'APPROVED']])
    expect(moved).toEqual({ to: '/admin/affiliates?q=lind', notice: '2 affiliates are approved.' })
    const edit: Fields = [
      ['name', 'Ada Lindqvist'],
      ['email', 'A@lind.example'],
      ['phone', '+1 555'],
      ['website', ''],
    ]
    await done(`/affiliates/${ids[0]}/edit`, edit)
    expect((await api(`/affiliates?id=${ids[0]}`))[0]).toMatchObject({
      name: 'Ada Lindqvist',
      phone: '+1 555',
      website: null,
    })
    await done(`/affiliates/${ids[0]}/archive`, [])
    expect(codeOf(await owner.open(`/admin/affiliates/${ids[0]}`))).toEqual([404, 'affiliate_not_found'])
  })

  test('have a page with balance, link, code and connections', async () => {
    const id = await order()
    await owner.submit(`/admin/commissions/${id}/approve`)
    await order({ amountCents: 25_000 })
    const path = `/affiliates/${shop.affiliateId}`
    expect(await words(path)).toMatch(/Awaiting approval 40\.00 USD .*Approved, not in a payout 16\.00 USD/)
    await done(`${path}/connections`, [
      ['kind', 'customerEmail'],
      ['value', 'ada@example.com'],
    ])
    const { text } = await owner.open(`/admin${path}`)
    expect(wordsOf(text)).toContain('ada@example.com')
    const remove = /action="\/admin(\S+connections\/\w+\/delete)"/.exec(text)?.[1] ?? ''
    expect((await done(remove, [])).notice).toBe('The connection is removed.')
  })

  test('keep codes and links of another system, which find them too', async () => {
    const path = `/affiliates/${shop.affiliateId}`
    const add = (kind: string, alias: string) =>
      done(`${path}/aliases`, [
        ['aliasKind', kind],
        ['alias', alias],
      ])
    expect((await add('CODE', ' SARAH10 ')).notice).toBe('Orders with SARAH10 are credited to the affiliate, too.')
    await add('LINK', 'sarah_old')
    expect(await words(path)).toMatch(/Link \?ref=sarah_old .*Code SARAH10/)
    expect(await words('/affiliates?q=sarah10')).toContain('NISA16')
    const wrong = await owner.submit(`/admin${path}/aliases`, [
      ['aliasKind', 'CODE'],
      ['alias', 'SARAH 10'],
    ])
    expect([...codeOf(wrong), noticeOf(wrong)]).toEqual([
      400,
      'alias_invalid',
      'Value must be 1 to 100 visible characters without spaces.',
    ])
    for (let left = 2; left > 0; left--) {
      const { text } = await owner.open(`/admin${path}`)
      const remove = /action="\/admin(\S+aliases\/\w+\/delete)"/.exec(text)?.[1] ?? ''
      expect((await done(remove, [])).notice).toBe('The alias is removed.')
    }
    expect(await words(path)).not.toContain('sarah_old')
  })
})

describe('codes', () => {
  test.each([
    ['SARAH10', 'SARAH1Q'],
    ['COFFEE-CODE', 'CQFFEE-CQ'],
    ['a b', 'ab'],
  ])('%s is rejected, and the nearest free code is %s', async (code, nearest) => {
    const sent = await owner.submit('/admin/coupons', [
      ['affiliate', 'NISA16'],
      ['code', code],
    ])
    expect(codeOf(sent)).toEqual([400, 'discount_code_invalid'])
    expect(noticeOf(sent)).toContain(`The nearest free code is ${nearest}.`)
    expect(sent.text).toContain(`name="code" value="${nearest}"`)
  })

  test('the proposed code is assigned with its button, and a taken one leads to the next', async () => {
    const fields: Fields = [
      ['affiliate', 'NISA16'],
      ['code', 'SARAH10'],
      ['code', 'SARAH1Q'],
    ]
    expect((await done('/coupons', fields)).to).toBe('/admin/coupons?code=SARAH1Q')
    const other = await done('/affiliates/new', [
      ['name', 'Sarah'],
      ['email', 'sarah@example.com'],
    ])
    const taken = await owner.submit(`${other.to}/code`, [['code', 'sarah1q']])
    expect(codeOf(taken)).toEqual([409, 'discount_code_taken'])
    expect(noticeOf(taken)).toContain('The nearest free code is sarah1q2.')
    await done('/coupons', [
      ['affiliate', 'SARAH1Q'],
      ['code', 'NISA16'],
    ])
  })
})

test('programs are created and edited, with product rates and places, and compared with other terms', async () => {
  const fields = (more: Fields): Fields => [
    ['commissionType', 'PERCENT_OF_SALE'],
    ['cookieDurationDays', '30'],
    ['status', 'PUBLISH'],
    ...more,
  ]
  const wrong = await owner.submit(
    '/admin/programs/new',
    fields([
      ['name', 'X'],
      ['commissionPercent', 'ten'],
    ]),
  )
  expect([...codeOf(wrong), noticeOf(wrong)]).toEqual([400, 'invalid_body', 'Rate must be a number, such as 12.5.'])
  const { to } = await done(
    '/programs/new',
    fields([
      ['name', 'Creators'],
      ['commissionPercent', '12.5'],
    ]),
  )
  const path = to.replace('/admin', '')
  await done(
    `${path}/edit`,
    fields([
      ['name', 'Creators'],
      ['commissionPercent', '14'],
      ['discountType', 'PERCENT'],
      ['discountValue', '10'],
      ['discountEnabled', '1'],
    ]),
  )
  await done(`${path}/rules`, [
    ['kind', 'product'],
    ['value', '77'],
    ['commissionType', 'FLAT_PER_ITEM'],
    ['commissionPercent', '2.5'],
  ])
  await done(`${path}/places`, [
    ['countries', 'US\nDE'],
    ['states', ''],
    ['cities', ''],
    ['postalPrefixes', ''],
  ])
  const shown = await words(path)
  for (const text of ['14% of goods', '2.50 USD per item', 'US, DE', '10%']) expect(shown).toContain(text)
  await done(`${path}/places`, [['countries', '']])
  expect(await words(path)).toContain('orders from everywhere earn')
  const [{ campaignId }] = await api(`/affiliates?id=${shop.affiliateId}`)
  await order()
  const compared = await words(
    `/programs/${campaignId}/backtest?commissionType=PERCENT_OF_SALE&commissionPercent=32&cookieDurationDays=30&from=2026-01-01`,
  )
  expect(compared).toMatch(/Orders compared \d+/)
  expect(compared).toMatch(/\+[\d.]+ USD/)
})

describe('commissions', () => {
  test('are found by the name of their order, by amount and by affiliate', async () => {
    await order({ externalOrderId: '45078', orderName: '#2001', amountCents: 99_900 })
    await order({ externalOrderId: '45079', orderName: '#2002', amountCents: 500 })
    const found = async (query: string) => [
      ...new Set((await words(`/commissions?status=ALL&${query}`)).match(/#20\d\d/g)),
    ]
    for (const name of ['2001', '%232001', '45078', 'api:45078'])
      expect(await found(`order=${name}`), name).toEqual(['#2001'])
    expect(await words('/orders?id=%232001')).toContain('Order #2001')
    expect(await found('min=100&max=200&currency=USD')).toEqual(['#2001'])
    expect(await found('min=0.01&max=1')).toEqual(['#2002'])
    expect(await found('affiliate=NISA16&min=100')).toEqual(['#2001'])
    expect(await words('/commissions?status=ALL&affiliate=unknown')).toContain('No affiliate matches')
    expect(codeOf(await owner.open('/admin/commissions?min=lots'))).toEqual([400, 'invalid_parameter'])
  })

  test('a search by amount continues after its last commission', async () => {
    for (let n = 0; n < 26; n++) await order({ amountCents: 70_000 + n })
    const first = await owner.open('/admin/commissions?status=PENDING&min=112')
    const next = /rel="next" href="([^"]+)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const second = await owner.open(next)
    expect([list(first.text).length, second.text.includes('rel="next"')]).toEqual([25, false])
    expect(list(second.text).filter((id) => list(first.text).includes(id))).toEqual([])
  })

  test('all that match a filter are approved at once, with count and sums before and after', async () => {
    await order({ amountCents: 10_000, currency: 'EUR' })
    const query = 'status=PENDING&min=112&max=113&currency=USD'
    const preview = await words(`/commissions/all?${query}`)
    expect(preview).toContain('Apply to 26 commissions')
    expect(preview).toMatch(/USD 26 2,91[\d.]+ USD/)
    const fields = [...new URLSearchParams(query)] as Fields
    const { notice } = await done('/commissions/all', [...fields, ['action', 'approve']])
    expect(notice).toMatch(
      /^26 commissions are approved\. Pending before: 26 commissions \(2,91[\d.]+ USD\); pending now: none\.$/,
    )
    expect(await words('/commissions/all?status=PENDING&currency=EUR')).toMatch(/EUR 1 16\.00 EUR/)
    const byOrder = await owner.submit('/admin/commissions/all', [
      ['order', '2001'],
      ['action', 'approve'],
    ])
    expect(codeOf(byOrder)).toEqual([400, 'invalid_body'])
  })

  test('a refund is recorded from the order, and its adjustment names the order', async () => {
    const id = await order({ externalOrderId: '45090', orderName: '#2010' })
    const fields: Fields = [
      ['id', id],
      ['orderId', 'api:45090'],
      ['currency', 'USD'],
      ['externalRefundId', 'r-1'],
      ['amount', '25.00'],
    ]
    expect((await done('/orders/refund', fields)).notice).toBe('The refund is recorded: −4.00 USD of commission.')
    expect(await words('/orders?id=45090')).toMatch(/Refunds .*r-1 .*25\.00 USD −4\.00 USD/)
    const again = await owner.submit('/admin/orders/refund', [
      ...fields.slice(0, 3),
      ['externalRefundId', 'r-2'],
      ['amount', '500.00'],
    ])
    expect(codeOf(again)).toEqual([409, 'refund_exceeds_order'])
    expect(noticeOf(again)).not.toMatch(/\d cents/)
    expect(again.text).toContain('Order #2010')
  })
})

test('settings are shown as they are typed, and saved', async () => {
  const fields: Fields = [
    ['currency', 'USD'],
    ['minimumPayout', '50.00'],
    ['otherMinimums', 'EUR 40.00'],
    ['affiliateMinimums', 'USD 25.00'],
    ['timeZone', 'America/New_York'],
    ['tax', '2.5'],
    ['precedence', 'link-first'],
    ['clickTouch', 'FIRST'],
    ['storeDomain', ''],
    ['apiEnabled', '1'],
  ]
  await done('/settings', fields)
  const { text } = await owner.open('/admin/settings')
  for (const value of ['50.00', 'EUR 40.00', 'USD 25.00', '2.5', 'America/New_York'])
    expect(text).toContain(`value="${value}"`)
  expect(text).toContain('<option value="link-first" selected>')
  const wrong = await owner.submit('/admin/settings', [
    ...fields.slice(0, 1),
    ['minimumPayout', 'much'],
    ...fields.slice(2),
  ])
  expect(noticeOf(wrong)).toBe('Minimum payout must be an amount, such as 50.00.')
  await done('/settings', [
    ['currency', 'USD'],
    ['minimumPayout', ''],
    ['tax', '0'],
    ['precedence', 'default'],
    ['clickTouch', 'LAST'],
    ['apiEnabled', '1'],
  ])
})

test('users are added with a token that is shown once, sign in with a link, and are revoked; not by themselves', async () => {
  const added = await owner.submit('/admin/team', [
    ['email', 'new@shop.example'],
    ['role', 'STAFF'],
  ])
  const page = await owner.open(added.headers.get('Location') ?? '')
  expect(page.text).toMatch(/ro_\w{20}/)
  expect((await owner.open('/admin/team')).text).not.toMatch(/ro_\w{20}/)
  const id = /team\/(usr_\w+)\/revoke"[^>]*>Revoke<span[^>]*> new@shop/.exec(page.text)?.[1] ?? ''
  const linked = await owner.submit(`/admin/team/${id}/link`)
  expect((await owner.open(linked.headers.get('Location') ?? '')).text).toContain('/admin/sign-in?token=rl_')
  expect((await done(`/team/${id}/revoke`, [])).notice).toBe('The user is revoked and signed out.')
  const own = (await expectOk(shop.server.request('GET', '/admin/v1/session', { key: shop.server.shop.ownerToken })))
    .user.id
  expect(codeOf(await owner.submit(`/admin/team/${own}/revoke`))).toEqual([400, 'invalid_body'])
})

test('the audit log is filtered by action, user and day, and names users', async () => {
  const all = await words('/audit?action=commission.approved')
  expect(all).toContain('owner@shop.example')
  expect(all).not.toContain('affiliate.created')
  expect(await words('/audit?from=2031-01-01')).toContain('No records match')
})

test('payouts show the unpaid commissions, and why they are not in a batch', async () => {
  const text = await words('/payouts')
  expect(text).toMatch(/Waiting for payout .*USD \d+ \d+ [\d,.]+ USD In no batch yet\./)
})

test('a batch shows its payments with their states; details of the payee unblock one, and a report settles it', async () => {
  const period: Fields = [
    ['from', '2026-01-01'],
    ['until', '2026-12-31'],
    ['currency', 'USD'],
  ]
  const { to } = await done('/payouts', period)
  const path = to.replace('/admin', '')
  expect(await words(path)).toMatch(/Blocked No payee details Enter details/)
  const payee = `/affiliates/${shop.affiliateId}/payee`
  const wrong = await owner.submit(`/admin${payee}`, [
    ['method', 'SEPA'],
    ['name', 'Mira'],
    ['iban', 'DE00 1234'],
    ['townName', 'Berlin'],
    ['country', 'DE'],
  ])
  expect(codeOf(wrong)).toEqual([400, 'payee_invalid'])
  await done(payee, [
    ['method', 'PAYPAL'],
    ['email', 'mira@pay.example'],
  ])
  const shown = await owner.open(`/admin${payee}`)
  expect([shown.text.includes('mira@pay.example'), wordsOf(shown.text).includes('PayPal')]).toEqual([false, true])
  expect(await words(`${path}?state=READY`)).toMatch(/Ready PAYPAL/)
  const rename = (name: string) =>
    expectOk(shop.server.request('PATCH', `/api/v1/affiliates?id=${shop.affiliateId}`, { body: { name } }))
  const [{ name }] = await api(`/affiliates?id=${shop.affiliateId}`)
  const send = (id: string) =>
    expectOk(shop.server.owner('PUT', `/payout-files/${id}`, { batchId: to.split('/').at(-1), format: 'paypal' }))
  await send('file-1')
  expect(await words(path)).toMatch(/Payment files .*file-1 paypal Sent/)
  expect(await words('/payout-files/file-1/discard')).toContain('only if it was never uploaded')
  await done('/payout-files/file-1/discard', [])
  expect(await words(path)).toMatch(/file-1 paypal Discarded/)
  expect(await words(`${path}?state=READY`)).toMatch(/Ready PAYPAL/)
  await send('file-2')
  await rename('\uff1dHYPERLINK(A1)')
  const csv = await owner.open(`${to}/lines.csv`)
  await rename(name)
  expect(csv.text.split('\r\n')[1]).toMatch(/^'\uff1dHYPERLINK/)
  expect([csv.headers.get('Content-Type'), csv.headers.get('Content-Disposition')?.slice(0, 10)]).toEqual([
    'text/csv; charset=utf-8',
    'attachment',
  ])
  expect(csv.text.split('\r\n')[0]).toBe('name,email,amount,currency,state,method,paymentReference,reference,date')
  expect(csv.text).toContain('SENT')
  const report = await done('/payouts/reconcile', [
    ['report', 'reference,outcome,amount,currency\nlin_unknown,settled,1.00,USD'],
  ])
  expect(report.notice).toBe('0 settled, 0 returned. 1 payment unchanged (lin_unknown: unknown).')
  const bad = await owner.submit('/admin/payouts/reconcile', [['report', 'lin_1,perhaps']])
  expect(noticeOf(bad)).toBe('Payment 1 must have a reference, and settled or returned.')
})

test('a payment that PayPal cannot send in this currency names the reason, not its size', async () => {
  const commission = await order({ amountCents: 1005, currency: 'HUF' })
  const approve = `/admin/v1/commissions/${commission}/approve`
  await expectOk(shop.server.request('POST', approve, { key: shop.server.shop.ownerToken }))
  const period: Fields = [
    ['from', '2026-01-01'],
    ['until', '2026-12-31'],
    ['currency', 'HUF'],
  ]
  const { to } = await done('/payouts', period)
  expect(await words(to.replace('/admin', ''))).toMatch(
    /1 payment is blocked\. Enter or change the payee details, or pay manually\..*Blocked PayPal pays HUF in whole units only Change details/,
  )
})

test('the overview compares with the period before, in every currency, and names what needs attention', async () => {
  await order({ amountCents: 1000, occurredAt: new Date(shop.server.deps.now() - 40 * 86_400_000).toISOString() })
  const text = await words('')
  expect(text).toMatch(/commissions? awaits? approval/)
  expect(text).toMatch(/By currency .*USD \d+ [▲▼].*EUR 1 ▲ new/)
  expect(text).toContain('First steps')
})
