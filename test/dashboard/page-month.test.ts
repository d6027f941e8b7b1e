// SQLite only: the pages call the use cases that are tested on both databases
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { admin } from '../support/owner.ts'
import { expectOk } from '../support/shop.ts'
import { codeOf, openPageShop, type PageShop, selectable } from './fixture.ts'
import { type Fields, noticeOf, wordsOf } from './visitor.ts'

let shop: PageShop
let owner: PageShop['owner']
let order: PageShop['order']
let done: PageShop['done']
let words: PageShop['words']
let api: PageShop['api']
beforeAll(async () => {
  shop = await openPageShop()
  ;({ owner, order, done, words, api } = shop)
})
afterAll(() => shop.server.close())

/** The fields of the form that approves all that match, as its page sends them. */
const approvalIn = (text: string): Fields => {
  const [, form = ''] = /action="\/admin\/commissions\/all"[^>]*>(.*?)<\/form>/s.exec(text) ?? []
  const fields = [...form.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)]
  return [...fields.map(([, name = '', value = '']): [string, string] => [name, value]), ['action', 'approve']]
}
const approvalOf = async (query: string) => approvalIn((await owner.open(`/admin/commissions/all?${query}`)).text)

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
    const long = await owner.submit('/admin/commissions/all', [
      ['affiliate', 'x'.repeat(50_000)],
      ['action', 'approve'],
    ])
    expect(codeOf(long)).toEqual([400, 'invalid_parameter'])
    const payee = await owner.submit(`/admin/affiliates/${shop.affiliateId}/payee`, [['method', '__proto__']])
    expect(payee.status).toBe(400)
    for (const query of ['min=lots', 'min=10,50', 'min=1&currency=(', `min=${'A'.repeat(26)}!&currency=(A%2B)%2BB`])
      expect(codeOf(await owner.open(`/admin/commissions?${query}`)), query).toEqual([400, 'invalid_parameter'])
  })

  test('a search by amount continues after its last commission', async () => {
    for (let n = 0; n < 26; n++) await order({ amountCents: 70_000 + n })
    const first = await owner.open('/admin/commissions?status=PENDING&min=112')
    const next = /rel="next" href="([^"]+)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    const second = await owner.open(next)
    expect([selectable(first.text).length, second.text.includes('rel="next"')]).toEqual([25, false])
    expect(selectable(second.text).filter((id) => selectable(first.text).includes(id))).toEqual([])
  })

  test('all that match a filter are approved at once, with count and sums before and after', async () => {
    await order({ amountCents: 10_000, currency: 'EUR' })
    const query = 'status=PENDING&min=112&max=113&currency=USD'
    const preview = await words(`/commissions/all?${query}`)
    expect(preview).toContain('Approve 26 commissions')
    expect(preview).toMatch(/USD 26 2,91[\d.]+ USD/)
    const { notice } = await done('/commissions/all', await approvalOf(query))
    expect(notice).toMatch(
      /^26 commissions approved\. Pending before: 26 commissions \(2,91[\d.]+ USD\); pending now: none\.$/,
    )
    expect(await words('/commissions/all?status=PENDING&currency=EUR')).toMatch(/EUR 1 16\.00 EUR/)
    const byOrder = await owner.submit('/admin/commissions/all', [
      ['order', '2001'],
      ['action', 'approve'],
    ])
    expect(codeOf(byOrder)).toEqual([400, 'invalid_body'])
  })

  test('none of those that match is approved when others match than were shown, and the new sums are shown', async () => {
    const query = 'status=PENDING&affiliate=NISA16&min=10&max=10.99&currency=USD'
    await order({ amountCents: 6_300 })
    const fields = await approvalOf(query)
    expect(fields).toContainEqual(['affiliate', shop.affiliateId])
    await order({ amountCents: 6_400 })
    const rejected = await owner.submit('/admin/commissions/all', fields)
    expect(codeOf(rejected)).toEqual([409, 'concurrent_change'])
    expect(noticeOf(rejected)).toMatch(/changed after this page was shown/)
    expect(wordsOf(rejected.text)).toMatch(/USD 2 20\.32 USD .*Exactly these are changed/)
    // As with a form of an earlier version, which has no sums.
    const unseen = fields.filter(([name]) => name !== 'shown')
    expect(codeOf(await owner.submit('/admin/commissions/all', unseen))).toEqual([409, 'concurrent_change'])
    const { notice } = await done('/commissions/all', approvalIn(rejected.text))
    expect(notice).toBe('2 commissions approved. Pending before: 2 commissions (20.32 USD); pending now: none.')
  })

  test('a button that is pressed twice has done its work, and the API rejects the second request', async () => {
    const [first, second] = [await order(), await order()]
    const twice = async (path: string, fields: Fields = []) => {
      const sent = await Promise.all([owner.submit(`/admin${path}`, fields), owner.submit(`/admin${path}`, fields)])
      expect([path, ...sent.map(({ status }) => status)]).toEqual([path, 303, 303])
      return Promise.all(sent.map(async (one) => noticeOf(await owner.open(one.headers.get('Location') ?? ''))))
    }
    await twice(`/commissions/${first}/approve`)
    await done(`/commissions/${first}/approve`, [])
    const late = await owner.submit(`/admin/commissions/${first}/reject`)
    expect(late.status).toBe(303)
    const wrong = await owner.submit(`/admin/commissions/${first}/approve`)
    expect(codeOf(wrong)).toEqual([409, 'commission_move_not_allowed'])
    const selected: Fields = [
      ['move', 'approve'],
      ['ids', second],
    ]
    for (let n = 0; n < 2; n++)
      expect((await done('/commissions/moderate', selected)).notice).toBe('1 commission approved.')
    const { status } = await admin(shop.server, 'POST', `/commissions/${second}/approve`)
    expect(status).toBe(409)
    await twice(`/affiliates/${shop.affiliateId}/status`, [['status', 'REJECTED']])
    await twice(`/affiliates/${shop.affiliateId}/status`, [['status', 'APPROVED']])
  })

  test('a search by order respects the other filters, in the list and in its file', async () => {
    await order({ externalOrderId: '45095', orderName: '#2015', amountCents: 10_000 })
    const found = async (query: string) => {
      const asked = `status=ALL&order=2015&${query}`
      const { text } = await owner.open(`/admin/commissions.csv?${asked}`)
      return [(await words(`/commissions?${asked}`)).includes('#2015 '), text.includes('#2015')]
    }
    const [past, now] = ['2001-01-01', '2001-01-02']
    for (const query of ['', 'min=16&max=16', 'currency=USD', `from=${now}`, 'affiliate=NISA16'])
      expect(await found(query), query).toEqual([true, true])
    for (const query of ['min=16.01', 'max=15.99', 'currency=EUR', `from=${past}&to=${now}`])
      expect(await found(query), query).toEqual([false, false])
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
    expect((await done('/orders/refund', fields)).notice).toContain('−4.00 USD')
    const shown = await words('/orders?id=45090')
    expect(shown).toMatch(/Refunds .*r-1 .*25\.00 USD −4\.00 USD/)
    expect(shown).toMatch(/Commission after refunds 12\.00 USD To pay What the affiliate receives 12\.00 USD/)
    const again = await owner.submit('/admin/orders/refund', [
      ...fields.slice(0, 3),
      ['externalRefundId', 'r-2'],
      ['amount', '500.00'],
    ])
    expect(codeOf(again)).toEqual([409, 'refund_exceeds_order'])
    expect(noticeOf(again)).not.toMatch(/\d cents/)
    expect(again.text).toContain('Order #2010')
  })

  test('the calculation of an order ends with the tax on what remains, and what is paid', async () => {
    const setTax = (bps: number) => expectOk(admin(shop.server, 'PATCH', '/settings', { taxWithholdingBps: bps }))
    await setTax(1500)
    const id = await order({ externalOrderId: '45092' })
    await setTax(0)
    await done('/orders/refund', [
      ['id', id],
      ['orderId', 'api:45092'],
      ['currency', 'USD'],
      ['externalRefundId', 't-1'],
      ['amount', '21.00'],
    ])
    expect(await words('/orders?id=45092')).toMatch(
      /Commission after refunds 12\.64 USD Tax Withheld from the current commission −1\.90 USD To pay .* 10\.74 USD/,
    )
  })

  test('many refunds and lines of an order are shown a page at a time, the line that won first', async () => {
    const lineItems = Array.from({ length: 30 }, (_, n) => ({ productId: `p${n}`, quantity: 1, priceCents: 1000 }))
    await order({ externalOrderId: '45091', amountCents: undefined, lineItems })
    for (let n = 1; n <= 27; n++) {
      const body = { externalOrderId: '45091', externalRefundId: `m-${n}`, amountCents: 100 }
      await expectOk(shop.server.request('POST', '/api/v1/refunds', { body }))
    }
    const first = await words('/orders?id=45091')
    expect(first).toMatch(/Refund 27 refunds, listed below −4\.32 USD/)
    expect([first.match(/ m-\d+ /g)?.length, first.match(/ p\d+ /g)?.length]).toEqual([25, 25])
    expect((await words('/orders?id=45091&refunds=2')).match(/ m-\d+ /g)?.length).toBe(2)
    expect((await words('/orders?id=45091&CONNECTED_PRODUCT=2')).match(/ p\d+ /g)?.length).toBe(5)
  })
})

test('the audit log is filtered by action, user and day, and names users', async () => {
  const all = await words('/audit?action=commission.approved')
  expect(all).toContain('owner@shop.example')
  expect(all).not.toContain('affiliate.created')
  expect(await words('/audit?from=2031-01-01')).toContain('No records match')
})

test('payouts show the unpaid commissions, and why they are not in a batch', async () => {
  const text = await words('/payouts')
  expect(text).toMatch(/Awaiting payout .*Not in a batch .*USD – [\d,.]+ USD 1 affiliate .*After tax\./)
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
  // The blocked ones are gone through one after another.
  const blocked = `${to}?state=BLOCKED`
  expect((await owner.open(blocked)).text).toContain(`href="/admin${payee}?${new URLSearchParams({ back: blocked })}"`)
  for (const [back, next] of [
    ['https://evil.example/', `/admin/affiliates/${shop.affiliateId}`],
    ['/admin/payouts//evil.example', `/admin/affiliates/${shop.affiliateId}`],
    [blocked, blocked],
  ] as const) {
    const saved = await done(payee, [
      ['method', 'PAYPAL'],
      ['email', 'mira@pay.example'],
      ['back', back],
    ])
    expect(saved).toEqual({ to: next, notice: 'Payee details saved.' })
  }
  const shown = await owner.open(`/admin${payee}`)
  expect([shown.text.includes('mira@pay.example'), wordsOf(shown.text).includes('PayPal')]).toEqual([false, true])
  expect(await words(`${path}?state=READY`)).toMatch(/Ready PayPal/)
  const rename = (name: string) =>
    expectOk(shop.server.request('PATCH', `/api/v1/affiliates?id=${shop.affiliateId}`, { body: { name } }))
  const [{ name }] = await api(`/affiliates?id=${shop.affiliateId}`)
  const send = (id: string) =>
    expectOk(shop.server.owner('PUT', `/payout-files/${id}`, { batchId: to.split('/').at(-1), format: 'paypal' }))
  await send('file-1')
  expect(await words(path)).toMatch(/Record what was paid 1 sent: [\d,.]+ USD.* Files 1 /)
  expect(await words(`${path}?view=files`)).toMatch(/file-1 PayPal Sent/)
  expect(await words(`${path}?view=commissions`)).toMatch(/Commissions \d+ Order Affiliate/)
  expect(await words('/payout-files/file-1/discard')).toContain('only if it was never uploaded')
  await done('/payout-files/file-1/discard', [])
  expect(await words(`${path}?view=files`)).toMatch(/file-1 PayPal Discarded/)
  expect(await words(`${path}?state=READY`)).toMatch(/Ready PayPal/)
  await send('file-2')
  await rename('\uff1dHYPERLINK(A1)')
  const csv = await owner.open(`${to}/lines.csv`)
  await rename(name)
  expect(csv.text.split('\r\n')[1]).toMatch(/^'\uff1dHYPERLINK/)
  expect([csv.headers.get('Content-Type'), csv.headers.get('Content-Disposition')?.slice(0, 10)]).toEqual([
    'text/csv; charset=utf-8',
    'attachment',
  ])
  const heading = 'name,email,amount,currency,state,method,paymentReference,reference,date'
  expect(csv.text.split('\r\n')[0]).toBe(heading)
  // The download of a large batch begins before its payments are added up.
  const { db } = shop.server
  const { runReport } = db
  const gate = Promise.withResolvers<void>()
  db.runReport = (...report) => gate.promise.then(() => runReport(...report))
  const Cookie = [...owner.jar].map((pair) => pair.join('=')).join('; ')
  const { body } = await shop.server.fetch(`http://test${to}/lines.csv`, { headers: { Cookie } })
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader.read()).value).toBe(`${heading}\r\n`)
  gate.resolve()
  expect((await reader.read()).value).toMatch(/,USD,SENT,PAYPAL,/)
  db.runReport = runReport
  expect(csv.text).toContain('SENT')
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
