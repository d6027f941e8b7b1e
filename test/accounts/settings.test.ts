import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codeOf, Till } from '../commissions/money.ts'
import { admin, staffOf } from '../support/owner.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk } from '../support/shop.ts'

let server: TestServer
let till: Till
let nisa: { id: string; campaignId: string }
beforeAll(async () => {
  server = await testServer()
  till = new Till(server)
  nisa = await till.affiliate()
})
afterAll(() => server.close())

const patch = (body: object) => admin(server, 'PATCH', '/settings', body)
let orders = 0
const earn = async (given: object) => {
  const { body } = await convert(server, { externalOrderId: `x-${++orders}`, amountCents: 9000, ...given })
  return body.commission
}

describe('settings', () => {
  test('200 what is sent changes, and what changed stands in the audit', async () => {
    const { updatedAt } = await expectOk(admin(server, 'GET', '/settings'))
    server.clock.advance(1000)
    const after = await expectOk(patch({ minimumPayoutCents: 5000, currency: 'EUR', clickTouch: 'FIRST' }))
    expect(after).toMatchObject({
      minimumPayoutCents: 5000,
      currency: 'EUR',
      clickTouch: 'FIRST',
      taxWithholdingBps: 0,
    })
    expect(after.updatedAt > updatedAt).toBe(true)
    const { body } = await admin(server, 'GET', '/audit?action=settings.updated&limit=1')
    expect(body.data[0].data.changes).toEqual({
      minimumPayoutCents: { from: null, to: 5000 },
      currency: { from: 'USD', to: 'EUR' },
      clickTouch: { from: 'LAST', to: 'FIRST' },
    })
    await expectOk(patch({ minimumPayoutCents: null, currency: 'USD', clickTouch: 'LAST' }))
  })

  test('200 changing nothing writes nothing', async () => {
    const count = () => Number(server.sql.prepare('select count(*) from audits').pluck().get())
    const before = count()
    await expectOk(patch({ clickTouch: 'LAST' }))
    expect(count()).toBe(before)
  })

  test('200 precedence by preset or written out, and it counts at once', async () => {
    const preset = await expectOk(patch({ attributionPrecedence: 'customer-first' }))
    expect(preset.attributionPrecedence[0]).toBe('CONNECTED_CUSTOMER')
    const other = await till.affiliate('SECND')
    await expectOk(admin(server, 'POST', '/connections', { kind: 'customerId', value: '1', affiliateId: other.id }))
    expect((await earn({ couponCode: 'NISA16', customerId: '1' })).affiliateId).toBe(other.id)
    const written = ['CONNECTED_PRODUCT', 'COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER']
    expect((await expectOk(patch({ attributionPrecedence: written }))).attributionPrecedence).toEqual(written)
    expect((await earn({ couponCode: 'NISA16', customerId: '1' })).affiliateId).toBe(nisa.id)
    const twice = await patch({ attributionPrecedence: ['COUPON', 'COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER'] })
    expect([twice.status, twice.body.error]).toEqual([
      400,
      'attributionPrecedence must contain each of COUPON, DIRECT_LINK, CONNECTED_CUSTOMER, CONNECTED_PRODUCT once.',
    ])
    expect((await patch({ attributionPrecedence: 'coupons' })).body.error).toBe(
      'attributionPrecedence must be default, link-first, customer-first or a list of all four kinds of evidence.',
    )
    await expectOk(patch({ attributionPrecedence: 'default' }))
  })

  test('200 a legacy minimum that disagrees stops payouts until it is reconciled', async () => {
    await till.order()
    await expectOk(patch({ minimumPayoutCents: 1000, legacyMinimumPayout: '25.50' }))
    expect(codeOf(await till.batch())).toEqual([409, 'payout_threshold_needs_reconciliation'])
    await expectOk(patch({ legacyMinimumPayout: '10.00' }))
    expect((await till.batch({ ...{ periodStart: '2026-10-01', periodEnd: '2026-10-31' }, dryRun: true })).status).toBe(
      200,
    )
    await expectOk(patch({ minimumPayoutCents: null, legacyMinimumPayout: null }))
  })

  test('200 the secret of the store is sealed, never shown, and bound to its shop', async () => {
    const secret = 'canary-secret-of-the-store'
    expect(await expectOk(patch({ storeWebhookSecret: secret }))).toMatchObject({ hasStoreWebhookSecret: true })
    const everything = server.sql.tables().flatMap((name) => server.sql.prepare(`select * from "${name}"`).all())
    expect(JSON.stringify([everything, server.logs])).not.toContain(secret)
    const { body } = await admin(server, 'GET', '/audit?action=settings.updated&limit=1')
    expect(body.data[0].data.storeWebhookSecret).toBe('changed')
    expect(await expectOk(patch({ storeWebhookSecret: null }))).toMatchObject({ hasStoreWebhookSecret: false })
  })
})

describe('STAFF', () => {
  test.each([
    ['GET', '/keys'],
    ['POST', '/keys'],
    ['GET', '/settings'],
    ['PATCH', '/settings'],
    ['GET', '/audit'],
    ['POST', '/commissions/com_x/approve'],
    ['POST', '/commissions/com_x/refund'],
    ['POST', '/commissions/moderate'],
    ['POST', '/payouts/bat_x/cancel'],
    ['POST', '/connections'],
    ['POST', '/product-rules'],
    ['PUT', '/geo-rules/prg_x'],
  ])('403 %s %s', async (method, path) => {
    const key = await staffOf(server, `${method}${path}@shop.example`)
    expect(codeOf(await admin(server, method, path, method === 'GET' ? undefined : {}, { key }))).toEqual([
      403,
      'role_missing',
    ])
  })
})

describe('rules of programs', () => {
  test('a product rule pays its rate for its lines, the variant’s before the product’s, until it is removed', async () => {
    const items = {
      lineItems: [{ productId: '70', variantId: '90', quantity: 2, priceCents: 4500 }],
      couponCode: 'NISA16',
    }
    const make = (kind: string, value: string, rest: object) =>
      expectOk(admin(server, 'POST', '/product-rules', { programId: nisa.campaignId, kind, value, ...rest }))
    const product = await make('product', '70', { commissionPercent: 25 })
    expect(product).toMatchObject({ commissionType: 'PERCENT_OF_SALE', commissionPercent: 25, rate: 2500 })
    expect((await earn(items)).amountCents).toBe(2250)
    const variant = await make('variant', '90', { commissionType: 'FLAT_PER_ITEM', commissionPercent: 2.5 })
    expect([variant.rate, (await earn(items)).amountCents]).toEqual([250, 500])
    expect((await admin(server, 'GET', `/product-rules?programId=${nisa.campaignId}`)).body.pagination.total).toBe(2)
    for (const { id } of [product, variant]) await expectOk(admin(server, 'DELETE', `/product-rules/${id}`))
    expect((await earn(items)).amountCents).toBe(1440)
  })

  test('a geo rule is replaced as a whole, and goes', async () => {
    const path = `/geo-rules/${nisa.campaignId}`
    const set = (body: object) => expectOk(admin(server, 'PUT', path, body))
    const to = (country: string) => earn({ couponCode: 'NISA16', shipping: { country } })
    expect(await set({ countries: [' US ', 'US'], states: null })).toMatchObject({ countries: ['US'], states: [] })
    expect([(await to('us')).status, (await to('DE')).restrictionReasonCode]).toEqual(['APPROVED', 'GEO_NOT_ELIGIBLE'])
    await set({ countries: ['DE'] })
    expect([(await to('de')).status, (await to('US')).restrictionReasonCode]).toEqual(['APPROVED', 'GEO_NOT_ELIGIBLE'])
    await expectOk(admin(server, 'DELETE', path))
    expect((await to('FR')).status).toBe('APPROVED')
  })

  test('a connection credits its affiliate until it is removed', async () => {
    const made = await expectOk(
      admin(server, 'POST', '/connections', {
        kind: 'customerEmail',
        value: ' Buyer@Example.com ',
        affiliateId: nisa.id,
      }),
    )
    expect(made.value).toBe('buyer@example.com')
    expect((await earn({ customerEmail: 'BUYER@example.com' })).affiliateId).toBe(nisa.id)
    const found = await admin(server, 'GET', '/connections?kind=customerEmail&value=BUYER@example.com')
    expect(found.body.data).toEqual([made])
    await expectOk(admin(server, 'DELETE', `/connections/${made.id}`))
    expect((await earn({ customerEmail: 'buyer@example.com' })).affiliateId).toBeNull()
  })
})
