import { describe, expect } from 'vitest'
import { codeOf, Till } from '../commissions/money.ts'
import { allRows, countOf } from '../support/inspect.ts'
import { staffOf } from '../support/owner.ts'
import { rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk } from '../support/shop.ts'
import { type Owner, test } from '../support/test.ts'

let till: Till
let nisa: { id: string; campaignId: string }
test.beforeAll(async ({ server }) => {
  till = new Till(server)
  nisa = await till.affiliate()
})

const patch = (owner: Owner, body: object) => owner('PATCH', '/settings', body)
let orders = 0
const earn = async (server: TestServer, given: object) => {
  const { body } = await convert(server, { externalOrderId: `x-${++orders}`, amountCents: 9000, ...given })
  return body.commission
}

describe('settings', () => {
  test('200 sent fields change, and the audit records the changed ones', async ({ server, owner }) => {
    const { updatedAt } = await expectOk(owner('GET', '/settings'))
    server.clock.advance(1000)
    const after = await expectOk(patch(owner, { minimumPayoutCents: 5000, currency: 'EUR', clickTouch: 'FIRST' }))
    expect(after).toMatchObject({
      minimumPayoutCents: 5000,
      currency: 'EUR',
      clickTouch: 'FIRST',
      taxWithholdingBps: 0,
    })
    expect(after.updatedAt > updatedAt).toBe(true)
    const { body } = await owner('GET', '/audit?action=settings.updated&limit=1')
    expect(body.data[0].data.changes).toEqual({
      minimumPayoutCents: { from: null, to: 5000 },
      currency: { from: 'USD', to: 'EUR' },
      clickTouch: { from: 'LAST', to: 'FIRST' },
    })
    await expectOk(patch(owner, { minimumPayoutCents: null, currency: 'USD', clickTouch: 'LAST' }))
  })

  test('200 without changes writes nothing', async ({ server, owner }) => {
    const count = () => countOf(server, 'audits')
    const before = count()
    await expectOk(patch(owner, { clickTouch: 'LAST' }))
    expect(count()).toBe(before)
  })

  test('200 precedence by preset or written out takes effect immediately', async ({ server, owner }) => {
    const preset = await expectOk(patch(owner, { attributionPrecedence: 'customer-first' }))
    expect(preset.attributionPrecedence[0]).toBe('CONNECTED_CUSTOMER')
    const other = await till.affiliate('SECND')
    await expectOk(owner('POST', '/connections', { kind: 'customerId', value: '1', affiliateId: other.id }))
    expect((await earn(server, { couponCode: 'NISA16', customerId: '1' })).affiliateId).toBe(other.id)
    const written = ['CONNECTED_PRODUCT', 'COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER']
    expect((await expectOk(patch(owner, { attributionPrecedence: written }))).attributionPrecedence).toEqual(written)
    expect((await earn(server, { couponCode: 'NISA16', customerId: '1' })).affiliateId).toBe(nisa.id)
    const twice = await patch(owner, {
      attributionPrecedence: ['COUPON', 'COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER'],
    })
    for (const reply of [twice, await patch(owner, { attributionPrecedence: 'coupons' })])
      expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: 'attributionPrecedence' })
    await expectOk(patch(owner, { attributionPrecedence: 'default' }))
  })

  test('200 a conflicting legacy minimum blocks payouts until it is reconciled', async ({ owner }) => {
    await till.order()
    await expectOk(patch(owner, { minimumPayoutCents: 1000, legacyMinimumPayout: '25.50' }))
    expect(codeOf(await till.batch())).toEqual([409, 'payout_threshold_needs_reconciliation'])
    await expectOk(patch(owner, { legacyMinimumPayout: '10.00' }))
    expect((await till.batch({ ...{ periodStart: '2026-10-01', periodEnd: '2026-10-31' }, dryRun: true })).status).toBe(
      200,
    )
    await expectOk(patch(owner, { minimumPayoutCents: null, legacyMinimumPayout: null }))
  })

  test('400 a store secret that can be guessed', async ({ owner }) => {
    for (const storeWebhookSecret of ['', ' ', 'a', 'x'.repeat(15), ' '.repeat(16)]) {
      const reply = rejectionOf(await patch(owner, { storeWebhookSecret }))
      expect(reply, storeWebhookSecret).toEqual({ status: 400, code: 'invalid_body', field: 'storeWebhookSecret' })
    }
  })

  test('200 the secret of the store is encrypted, never shown, and bound to its shop', async ({ server, owner }) => {
    const secret = 'canary-secret-of-the-store'
    expect(await expectOk(patch(owner, { storeWebhookSecret: secret }))).toMatchObject({ hasStoreWebhookSecret: true })
    const everything = allRows(server)
    expect(JSON.stringify([everything, server.logs])).not.toContain(secret)
    const { body } = await owner('GET', '/audit?action=settings.updated&limit=1')
    expect(body.data[0].data.storeWebhookSecret).toBe('changed')
    expect(await expectOk(patch(owner, { storeWebhookSecret: null }))).toMatchObject({ hasStoreWebhookSecret: false })
  })
})

describe('STAFF', () => {
  test.for([
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
  ])('403 for staff on %s %s', async ([method, path], { server, owner }) => {
    const key = await staffOf(server, `${method}${path}@shop.example`)
    expect(codeOf(await owner(method, path, method === 'GET' ? undefined : {}, { key }))).toEqual([403, 'role_missing'])
  })
})

describe('program rules', () => {
  test('a product rule pays its rate for its lines until it is removed; a variant rule takes precedence', async ({
    server,
    owner,
  }) => {
    const items = {
      lineItems: [{ productId: '70', variantId: '90', quantity: 2, priceCents: 4500 }],
      couponCode: 'NISA16',
    }
    const make = (kind: string, value: string, rest: object) =>
      expectOk(owner('POST', '/product-rules', { programId: nisa.campaignId, kind, value, ...rest }))
    const product = await make('product', '70', { commissionPercent: 25 })
    expect(product).toMatchObject({ commissionType: 'PERCENT_OF_SALE', commissionPercent: 25, rate: 2500 })
    expect((await earn(server, items)).amountCents).toBe(2250)
    const variant = await make('variant', '90', { commissionType: 'FLAT_PER_ITEM', commissionPercent: 2.5 })
    expect([variant.rate, (await earn(server, items)).amountCents]).toEqual([250, 500])
    expect((await owner('GET', `/product-rules?programId=${nisa.campaignId}`)).body.pagination.total).toBe(2)
    for (const { id } of [product, variant]) await expectOk(owner('DELETE', `/product-rules/${id}`))
    expect((await earn(server, items)).amountCents).toBe(1440)
  })

  test('a geo rule is replaced as a whole, and can be removed', async ({ server, owner }) => {
    const path = `/geo-rules/${nisa.campaignId}`
    const set = (body: object) => expectOk(owner('PUT', path, body))
    const to = (country: string) => earn(server, { couponCode: 'NISA16', shipping: { country } })
    expect(await set({ countries: [' US ', 'US'], states: null })).toMatchObject({ countries: ['US'], states: [] })
    expect([(await to('us')).status, (await to('DE')).restrictionReasonCode]).toEqual(['APPROVED', 'GEO_NOT_ELIGIBLE'])
    await set({ countries: ['DE'] })
    expect([(await to('de')).status, (await to('US')).restrictionReasonCode]).toEqual(['APPROVED', 'GEO_NOT_ELIGIBLE'])
    await expectOk(owner('DELETE', path))
    expect((await to('FR')).status).toBe('APPROVED')
  })

  test('a connection credits its affiliate until it is removed', async ({ server, owner }) => {
    const made = await expectOk(
      owner('POST', '/connections', {
        kind: 'customerEmail',
        value: ' Buyer@Example.com ',
        affiliateId: nisa.id,
      }),
    )
    // Of an address, only a hash is stored.
    expect(made.value).toBeNull()
    expect((await earn(server, { customerEmail: 'BUYER@example.com' })).affiliateId).toBe(nisa.id)
    const found = await owner('GET', '/connections?kind=customerEmail&value=BUYER@example.com')
    expect(found.body.data).toEqual([made])
    await expectOk(owner('DELETE', `/connections/${made.id}`))
    expect((await earn(server, { customerEmail: 'buyer@example.com' })).affiliateId).toBeNull()
  })
})
