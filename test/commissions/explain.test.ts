import { describe, expect } from 'vitest'
import { ENGINE_VERSION } from '../../server/src/engine/decide.ts'
import { visitorOf, wordsOf } from '../dashboard/visitor.ts'
import { admin, staffOf } from '../support/owner.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { Till } from './money.ts'

let till: Till
let nisa: { id: string; email: string; campaignId: string }
let ada: { id: string }
test.beforeAll(async ({ server, owner }) => {
  till = new Till(server)
  nisa = await till.affiliate('NISA16')
  ada = await till.affiliate('ADA16')
  const click = (given: object) =>
    expectOk(server.request('POST', '/api/v1/events', { body: { type: 'click', ...given } }))
  await click({ affiliateId: ada.id, clickId: 'fresh', sessionId: 's-1', occurredAt: '2026-10-10T00:00:00Z' })
  await click({ affiliateId: ada.id, clickId: 'old', occurredAt: '2026-08-01T00:00:00Z' })
  await click({ affiliateId: ada.id, clickId: 'later', occurredAt: '2026-10-25T00:00:00Z' })
  const connect = (kind: string, value: string) =>
    expectOk(owner('POST', '/connections', { kind, value, affiliateId: nisa.id }))
  await connect('customerId', 'c-1')
  await connect('customerEmail', 'known@example.com')
  await connect('product', '7001')
})

let orders = 0
const order = async (server: TestServer, given: object) => {
  const externalOrderId = `e-${++orders}`
  await expectOk(convert(server, { externalOrderId, amountCents: 9000, occurredAt: '2026-10-20T00:00:00Z', ...given }))
  return expectOk(server.owner('GET', `/orders/${externalOrderId}/explanation`))
}

type Candidate = { kind: string; source: string; reasonCode: string; outcome: string; because: string }
const candidatesOf = (explained: { evidence: { candidates: Candidate[] }[] }) =>
  explained.evidence.flatMap(({ candidates }) => candidates)

describe('every reason code is listed, with its outcome', () => {
  const items = [{ productId: '7001', quantity: 1, priceCents: 9000 }]
  test.for([
    ['COUPON_MATCH', { couponCode: 'nisa16' }],
    ['AFFILIATE_CODE_MATCH', { affiliateCode: 'NISA16' }],
    ['CLICK_MATCH', { clickId: 'fresh' }],
    ['CLICK_MATCH', { sessionId: 's-1' }],
    ['REF_MATCH', { ref: 'nisa-karim' }],
    ['CONNECTED_CUSTOMER_ID_MATCH', { customerId: 'c-1' }],
    ['CONNECTED_CUSTOMER_EMAIL_MATCH', { customerEmail: 'Known@Example.com' }],
    ['CONNECTED_PRODUCT_MATCH', { lineItems: items }],
  ])('%s', async ([reasonCode, given], { server }) => {
    const explained = await order(server, given)
    expect(explained).toMatchObject({
      outcome: 'CREDITED',
      restriction: null,
      commission: { attributionReasonCode: reasonCode },
    })
    const [winner] = candidatesOf(explained).filter(({ outcome }) => outcome === 'WON')
    expect(winner).toMatchObject({
      reasonCode,
      because: 'It identifies an affiliate and no earlier evidence is valid.',
    })
    expect(explained.replay).toMatchObject({
      identical: true,
      engineVersion: ENGINE_VERSION,
      recordedEngineVersion: ENGINE_VERSION,
    })
    expect(explained.evidence.map(({ rank }: { rank: number }) => rank)).toEqual([1, 2, 3, 4])
  })

  test.for([
    ['NO_EVIDENCE', {}, 'The order contains no such evidence.', 'The order contains no evidence.'],
    ['NO_MATCH', { couponCode: 'NOPE' }, 'This code belongs to no affiliate of your shop.'],
    ['NO_MATCH', { ref: 'nobody' }, 'This link belongs to no affiliate of your shop.'],
    ['NO_MATCH', { sessionId: 's-0' }, 'This session has no clicks.'],
    // The address of an affiliate: a match would need a connection.
    ['NO_MATCH', { customerEmail: 'nisa16@example.com' }, 'This customer is not connected to an affiliate.'],
    ['NO_MATCH', { lineItems: [{ ...items[0]!, productId: '7' }] }, 'This product is not connected to an affiliate.'],
    ['CLICK_NOT_FOUND', { clickId: 'none' }, 'No such click is stored.'],
    ['CLICK_EXPIRED', { clickId: 'old' }, "The click is older than the program's click window of 30 days."],
    ['CLICK_AFTER_ORDER', { clickId: 'later' }, 'The click came after the order.'],
  ] as const)('an order with reason code %s for %j', async ([reasonCode, given, because, reason], { server }) => {
    const explained = await order(server, given)
    expect(explained).toMatchObject({ outcome: 'NOBODY', commission: null, affiliate: null, restriction: null })
    expect(explained.decision.attribution.reasonCode).toBe(reasonCode)
    const [value] = Object.values(given)
    const named = because.replace(/^This (\w+)/, `The $1 ${typeof value === 'string' ? value : '7'}`)
    expect(explained.summary).toBe(`Nobody was credited. ${reason ?? named}`)
    const shown = reasonCode === 'NO_EVIDENCE' ? explained.evidence[0].because : candidatesOf(explained)[0]?.because
    expect(shown).toBe(because)
    expect(explained.replay.identical).toBe(true)
  })

  test('evidence that is not valid says whether the next kind was needed', async ({ server }) => {
    const reasons = async (given: object): Promise<string[]> =>
      (await order(server, given)).evidence.map(({ because }: { because: string }) => because)
    const missed = { customerEmail: 'stranger@example.com', lineItems: [{ ...items[0]!, productId: '7' }] }
    expect(await reasons({ couponCode: 'NISA16', clickId: 'fresh', ...missed })).toEqual([
      'This is the first kind with valid evidence, so it won.',
      'It is valid, but the coupon takes precedence in your shop.',
      'None of it is valid. It was not needed: the coupon takes precedence in your shop.',
      'None of it is valid. It was not needed: the coupon takes precedence in your shop.',
    ])
    expect(await reasons({ couponCode: 'NOPE', ...missed })).toEqual([
      'None of it is valid, so the next kind was evaluated.',
      'The order contains no such evidence.',
      'None of it is valid, so the next kind was evaluated.',
      'None of it is valid.',
    ])
  })
})

/** The words on the page of an order. */
async function pageOf(server: TestServer, externalOrderId: string): Promise<string> {
  const visitor = visitorOf(server)
  await visitor.signIn()
  const { text } = await visitor.open(`/admin/orders?id=${externalOrderId}`)
  return wordsOf(/<main.*<\/main>/s.exec(text)?.[0] ?? '')
}

describe('every restriction code is listed', () => {
  const update = (server: TestServer, path: string, body: object) => expectOk(server.request('PATCH', path, { body }))
  const cases: [string, (server: TestServer) => Promise<object>][] = [
    [
      'AFFILIATE_ARCHIVED',
      async (server) => {
        const { id } = await till.affiliate('ARCH')
        await expectOk(server.request('DELETE', `/api/v1/affiliates?id=${id}`))
        return { couponCode: 'ARCH' }
      },
    ],
    [
      'AFFILIATE_REJECTED',
      async (server) => {
        const { id } = await till.affiliate('REJ')
        await update(server, `/api/v1/affiliates?id=${id}`, { status: 'REJECTED' })
        return { couponCode: 'REJ' }
      },
    ],
    [
      'AFFILIATE_NOT_APPROVED',
      async (server) => {
        const { id } = await till.affiliate('PEND')
        await update(server, `/api/v1/affiliates?id=${id}`, { status: 'PENDING' })
        return { couponCode: 'PEND' }
      },
    ],
    [
      'PROGRAM_MISSING',
      async (server) => {
        const { id } = await till.affiliate('LEFT')
        await update(server, `/api/v1/affiliates?id=${id}`, { campaignId: null })
        return { couponCode: 'LEFT' }
      },
    ],
    [
      'SELF_REFERRAL',
      async () => ({ couponCode: 'NISA16', customerEmail: nisa.email.replace('@', '+me@').toUpperCase() }),
    ],
    [
      'GEO_UNKNOWN',
      async (server) => {
        const { campaignId } = await till.affiliate('GE1')
        await expectOk(admin(server, 'PUT', `/geo-rules/${campaignId}`, { countries: ['US'], cities: ['Berlin'] }))
        return { couponCode: 'GE1', shipping: { country: 'us' } }
      },
    ],
    [
      'GEO_NOT_ELIGIBLE',
      async (server) => {
        const { campaignId } = await till.affiliate('GE2')
        await expectOk(admin(server, 'PUT', `/geo-rules/${campaignId}`, { countries: ['US'], postalPrefixes: ['90'] }))
        return { couponCode: 'GE2', shipping: { country: 'US', postalCode: '10001' } }
      },
    ],
    ['ZERO_BASE', async () => ({ couponCode: 'NISA16', discountCents: 9000 })],
  ]
  test.for(cases)('%s', async ([code, prepare], { server }) => {
    const explained = await order(server, await prepare(server))
    expect(explained).toMatchObject({
      outcome: 'RESTRICTED',
      restriction: { code, because: expect.stringMatching(/\.$/) },
      commission: { orderStatus: 'REJECTED', commissionAmountCents: 0, restrictionReasonCode: code },
      replay: { identical: true },
    })
    expect(explained.summary).toContain(explained.restriction.because)
    expect(explained.arithmetic).toContainEqual({ step: 'restricted', text: code, cents: 0, currency: 'USD' })
    // The page says it once, and has no codes of the API.
    const page = await pageOf(server, explained.externalOrderId)
    expect(page.split(explained.restriction.because)).toHaveLength(2)
    expect(page).not.toMatch(/\b[A-Z]+_[A-Z]+\b|couponCode|customerEmail|api:|half up|Withheld/)
  })
})

test('a region that is unknown names what the address lacks', async ({ server }) => {
  const { campaignId } = await till.affiliate('GE3')
  const rule = { countries: ['US'], states: ['CA'], postalPrefixes: ['90'] }
  await expectOk(admin(server, 'PUT', `/geo-rules/${campaignId}`, rule))
  for (const [shipping, lacking] of [
    [{ country: 'US', state: 'CA', postalCode: ' ' }, /no postal code/],
    [{ country: 'US' }, /no state and postal code/],
    [null, /no shipping address/],
  ] as const) {
    const { restriction } = await order(server, { couponCode: 'GE3', shipping })
    expect([restriction.code, restriction.because]).toEqual(['GEO_UNKNOWN', expect.stringMatching(lacking)])
  }
})

test('all four kinds are shown, with the evidence that lost and the winner', async ({ server }) => {
  const explained = await order(server, {
    couponCode: 'NOBODY',
    affiliateCode: 'NISA16',
    clickId: 'fresh',
    ref: 'nisa-karim',
    customerId: 'c-1',
    lineItems: [{ productId: '7001', quantity: 1, priceCents: 9000 }],
  })
  expect(candidatesOf(explained).map(({ source, outcome }) => [source, outcome])).toEqual([
    ['couponCode', 'DID_NOT_COUNT'],
    ['affiliateCode', 'WON'],
    ['clickId', 'OUTRANKED'],
    ['ref', 'OUTRANKED'],
    ['customerId', 'OUTRANKED'],
    ['productId', 'OUTRANKED'],
  ])
  expect(explained.affiliate).toMatchObject({ id: nisa.id, status: 'APPROVED', archived: false })
  const two = await order(server, { couponCode: 'ADA16', affiliateCode: 'NISA16' })
  expect(candidatesOf(two)[1]).toMatchObject({
    outcome: 'LATER_IN_KIND',
    because: 'It is valid, but the code ADA16 of the same kind comes first.',
  })
})

test('the calculation adds up line by line, including refunds', async ({ server, owner }) => {
  await expectOk(owner('PATCH', '/settings', { taxWithholdingBps: 1000 }))
  const rule = {
    programId: nisa.campaignId,
    kind: 'product',
    value: '5',
    commissionType: 'FLAT_PER_ITEM',
    commissionPercent: 2.5,
  }
  await expectOk(owner('POST', '/product-rules', rule))
  const explained = await order(server, {
    couponCode: 'NISA16',
    amountCents: undefined,
    discountCents: 1000,
    lineItems: [
      { productId: '4', quantity: 1, priceCents: 5000 },
      { productId: '5', quantity: 2, priceCents: 2500 },
    ],
  })
  await expectOk(
    owner('POST', `/commissions/${explained.commission.id}/refund`, {
      externalRefundId: 'r',
      lineItems: [{ productId: '4', quantity: 1 }],
    }),
  )
  const again = await expectOk(owner('GET', `/orders/api:${explained.externalOrderId}/explanation`))
  expect(again.arithmetic).toEqual([
    {
      step: 'subtotal',
      text: 'Goods before discount, shipping and tax: 1 × 50.00 USD + 2 × 25.00 USD',
      cents: 10_000,
      currency: 'USD',
    },
    { step: 'discount', text: 'Discount on goods', cents: -1000, currency: 'USD' },
    {
      step: 'base',
      text: 'Commissionable amount, excluding shipping and tax',
      cents: 9000,
      currency: 'USD',
    },
    { step: 'group', text: '45.00 USD × 16%', cents: 720, currency: 'USD' },
    { step: 'group', text: '2.50 USD × 2 pieces', cents: 500, currency: 'USD' },
    { step: 'commission', text: 'The commission', cents: 1220, currency: 'USD' },
    { step: 'tax', text: 'Withheld: 12.20 USD × 10%', cents: 122, currency: 'USD' },
    { step: 'refund', text: 'Refund r of 45.00 USD of goods', cents: -720, currency: 'USD' },
    { step: 'now', text: 'Commission after refunds', cents: 500, currency: 'USD' },
  ])
  expect(await pageOf(server, explained.externalOrderId)).toContain('Withheld')
  await expectOk(owner('POST', `/commissions/${explained.commission.id}/cancel`))
  expect(await pageOf(server, explained.externalOrderId)).not.toContain('Withheld')
  await expectOk(owner('PATCH', '/settings', { taxWithholdingBps: 0 }))
})

describe('what remains of a commission is part of the summary and the calculation', () => {
  test.for([
    ['cancel', 'CANCELED', 'The order was canceled', 1440],
    ['reject', 'REJECTED', 'The commission was rejected', 1440],
    ['reverse', 'REVERSED', 'The paid commission was reversed', 1440],
    ['refund', 'APPROVED', 'After refunds, 12.80 USD remain.', 160],
    ['refund all', 'REFUNDED', 'After refunds, 0.00 USD remain.', 1440],
  ] as const)('%s', async ([action, status, text, lessCents], { server, owner }) => {
    const { commission, externalOrderId } = await order(server, { couponCode: 'NISA16' })
    const refund = { externalRefundId: 'r', amountCents: action === 'refund' ? 1000 : 9000 }
    const isRefund = action.startsWith('refund')
    if (action === 'reverse') await expectOk(till.pay((await expectOk(till.batch())).id))
    await expectOk(
      owner('POST', `/commissions/${commission.id}/${isRefund ? 'refund' : action}`, isRefund ? refund : undefined),
    )
    const explained = await expectOk(owner('GET', `/orders/${externalOrderId}/explanation`))
    expect(explained.commission.orderStatus).toBe(status)
    const left = 1440 - lessCents
    const ending = isRefund ? text : `${text}: 0.00 USD remain.`
    expect(explained.summary).toBe(`The coupon NISA16 won and earns 14.40 USD on 90.00 USD of goods. ${ending}`)
    const [change, now] = explained.arithmetic.slice(-2)
    expect(change).toMatchObject({ step: isRefund ? 'refund' : 'canceled', cents: -lessCents })
    expect(now).toMatchObject({ step: 'now', cents: left })
    const page = await pageOf(server, externalOrderId)
    expect(page).toContain(
      isRefund ? `After refunds, ${(left / 100).toFixed(2)} USD remain.` : `${text}: 0.00 USD remain.`,
    )
    expect(page.includes('Credited')).toBe(status === 'APPROVED')
    expect(page).not.toContain('Withheld')
  })
})

test('CONNECTED_PRODUCT pays on its own lines, as the calculation shows', async ({ server }) => {
  const lineItems = [
    { productId: '7001', quantity: 1, priceCents: 3000 },
    { productId: '1', quantity: 1, priceCents: 6000 },
  ]
  const { arithmetic } = await order(server, { lineItems })
  expect(arithmetic).toContainEqual({
    step: 'outside',
    text: 'Lines that are not connected to the affiliate',
    cents: -6000,
    currency: 'USD',
  })
  expect(arithmetic.at(-1).cents).toBe(480)
})

test('the stored id takes precedence over the external id, and any id is accepted', async ({ server, owner }) => {
  const first = await order(server, { couponCode: 'NISA16' })
  await expectOk(convert(server, { externalOrderId: first.orderId, amountCents: 100, couponCode: 'NISA16' }))
  const byStored = await expectOk(owner('GET', `/orders/${first.orderId}/explanation`))
  expect(byStored.externalOrderId).toBe(first.externalOrderId)
  await expectOk(convert(server, { externalOrderId: 'a/b c?d#é', amountCents: 100, couponCode: 'NISA16' }))
  const odd = await expectOk(owner('GET', `/orders/${encodeURIComponent('a/b c?d#é')}/explanation`))
  expect(odd.externalOrderId).toBe('a/b c?d#é')
})

test('200 for STAFF', async ({ server, owner }) => {
  const explained = await order(server, { couponCode: 'NISA16' })
  const key = await staffOf(server)
  expect((await owner('GET', `/orders/${explained.externalOrderId}/explanation`, undefined, { key })).status).toBe(200)
})
