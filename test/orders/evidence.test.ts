import { createHash } from 'node:crypto'
import type { OrderFields } from '@referral/sdk'
import { describe, expect } from 'vitest'
import { admin } from '../support/owner.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

interface Person {
  id: string
  slug: string
  discountCode: string
}
let nisa: Person
let mara: Person
let zed: Person
test.beforeAll(async ({ server }) => {
  nisa = (await withAffiliate(server, { code: 'NISA' })).affiliate
  mara = await newAffiliate(server, { code: 'MARA', name: 'Mara Lind' })
  // Her code equals another affiliate's slug: codes are looked up first.
  zed = await newAffiliate(server, { code: 'mara-lind', name: 'Zed' })
})

let orders = 0
type Evidence = Partial<Omit<OrderFields, 'amountCents'>>
async function attribution(client: Client, evidence: Evidence) {
  const externalOrderId = `o-${++orders}`
  const { attribution: found } = await client.events.conversion({ externalOrderId, amountCents: 10_000, ...evidence })
  return [found.affiliateId, found.method, found.confidence, found.reasonCode]
}
const of = (person: Person | null, ...rest: unknown[]) => [person?.id ?? null, ...rest]
const nobody = (reasonCode: string) => [null, null, 0, reasonCode]

const connect = (server: TestServer, kind: string, value: string, { id: affiliateId }: Person) =>
  expectOk(admin(server, 'POST', '/connections', { kind, value, affiliateId }))

describe('COUPON', () => {
  test.for(['NISA', 'nisa', ' Nisa ', 'nisa-karim', 'NISA-KARIM'])(
    'the couponCode %j credits the affiliate',
    async (couponCode, { client }) => {
      expect(await attribution(client, { couponCode })).toEqual(of(nisa, 'COUPON', 1, 'COUPON_MATCH'))
    },
  )

  test.for(['MARA', 'mara'])('the affiliateCode %j credits the affiliate', async (affiliateCode, { client }) => {
    expect(await attribution(client, { affiliateCode })).toEqual(of(mara, 'COUPON', 1, 'AFFILIATE_CODE_MATCH'))
  })

  test('a code is looked up as a discount code before it is read as a slug', async ({ client }) => {
    expect(await attribution(client, { couponCode: 'Mara-Lind' })).toEqual(of(zed, 'COUPON', 1, 'COUPON_MATCH'))
  })

  test('couponCode takes precedence over affiliateCode, and an unknown one falls back to it', async ({ client }) => {
    const both = await attribution(client, { couponCode: 'NISA', affiliateCode: 'MARA' })
    expect(both).toEqual(of(nisa, 'COUPON', 1, 'COUPON_MATCH'))
    const second = await attribution(client, { couponCode: 'SUMMER', affiliateCode: 'MARA' })
    expect(second).toEqual(of(mara, 'COUPON', 1, 'AFFILIATE_CODE_MATCH'))
  })

  test('an affiliate id is not a code', async ({ client }) => {
    expect(await attribution(client, { couponCode: nisa.id })).toEqual(nobody('NO_MATCH'))
  })
})

describe('DIRECT_LINK', () => {
  test('ref is a slug, in any letter case, or an affiliate id', async ({ client }) => {
    for (const ref of ['nisa-karim', ' Nisa-Karim ', nisa.id])
      expect(await attribution(client, { ref }), ref).toEqual(of(nisa, 'DIRECT_LINK', 0.8, 'REF_MATCH'))
    expect(await attribution(client, { ref: 'NISA' })).toEqual(nobody('NO_MATCH'))
  })

  test('clickId is the id of the response, or your own', async ({ client }) => {
    const ours = await client.events.click({ ref: 'nisa-karim' })
    expect(await attribution(client, { clickId: ours.id })).toEqual(of(nisa, 'DIRECT_LINK', 0.95, 'CLICK_MATCH'))
    const own = await client.events.click({ ref: 'nisa-karim', clickId: 'my-click' })
    expect(await attribution(client, { clickId: 'my-click' })).toEqual(of(nisa, 'DIRECT_LINK', 0.95, 'CLICK_MATCH'))
    expect(await attribution(client, { clickId: own.id })).toEqual(of(nisa, 'DIRECT_LINK', 0.95, 'CLICK_MATCH'))
    expect(await attribution(client, { clickId: 'MY-CLICK' })).toEqual(nobody('CLICK_NOT_FOUND'))
  })

  test.for([
    ['text', (id: string) => [{ name: 'referral_click_id', value: id }]],
    [
      'among others',
      (id: string) => [
        { name: 'gift', value: true },
        { name: 'referral_click_id', value: id },
      ],
    ],
    [
      'after a blank one',
      (id: string) => [
        { name: 'referral_click_id', value: '' },
        { name: 'referral_click_id', value: id },
      ],
    ],
  ])('the note attribute referral_click_id is an alias of clickId: %s', async ([_, attributes], { client }) => {
    const { id } = await client.events.click({ ref: mara.id })
    expect(await attribution(client, { noteAttributes: attributes(id) })).toEqual(
      of(mara, 'DIRECT_LINK', 0.95, 'CLICK_MATCH'),
    )
  })

  test('a click id that is a number keeps its meaning in a note attribute', async ({ client }) => {
    await client.events.click({ ref: mara.id, clickId: '4711' })
    const found = await attribution(client, { noteAttributes: [{ name: 'referral_click_id', value: 4711 }] })
    expect(found).toEqual(of(mara, 'DIRECT_LINK', 0.95, 'CLICK_MATCH'))
  })

  test('a note attribute longer than any click id matches no click', async ({ client }) => {
    const value = Array.from({ length: 3000 }, (_, i) => createHash('sha256').update(`${i}`).digest('hex')).join('')
    expect(await attribution(client, { noteAttributes: [{ name: 'referral_click_id', value }] })).toEqual(
      nobody('CLICK_NOT_FOUND'),
    )
  })

  test('the longest click id is found through a note attribute', async ({ client }) => {
    const clickId = '🎩'.repeat(255)
    await client.events.click({ ref: mara.id, clickId })
    expect((await attribution(client, { noteAttributes: [{ name: 'referral_click_id', value: clickId }] }))[0]).toBe(
      mara.id,
    )
  })

  test('clickId takes precedence over the note attribute', async ({ client }) => {
    const [first, second] = [await client.events.click({ ref: mara.id }), await client.events.click({ ref: nisa.id })]
    const noteAttributes = [{ name: 'referral_click_id', value: second.id }]
    expect((await attribution(client, { clickId: first.id, noteAttributes }))[0]).toBe(mara.id)
  })

  test('clickId takes precedence over ref, and ref over the clicks of the session', async ({ client }) => {
    const { id } = await client.events.click({ ref: mara.id, sessionId: 's-1' })
    expect((await attribution(client, { clickId: id, ref: nisa.id, sessionId: 's-1' }))[3]).toBe('CLICK_MATCH')
    expect(await attribution(client, { ref: nisa.id, sessionId: 's-1' })).toEqual(
      of(nisa, 'DIRECT_LINK', 0.8, 'REF_MATCH'),
    )
    expect(await attribution(client, { clickId: 'gone', ref: nisa.id })).toEqual(
      of(nisa, 'DIRECT_LINK', 0.8, 'REF_MATCH'),
    )
    expect(await attribution(client, { ref: 'nobody', sessionId: 's-1' })).toEqual(
      of(mara, 'DIRECT_LINK', 0.95, 'CLICK_MATCH'),
    )
  })

  test('a page view is not a click', async ({ client }) => {
    const view = await client.events.pageView({ url: 'https://shop.example/', ref: mara.id, sessionId: 's-views' })
    expect(await attribution(client, { clickId: view.id })).toEqual(nobody('CLICK_NOT_FOUND'))
    expect(await attribution(client, { sessionId: 's-views' })).toEqual(nobody('NO_MATCH'))
  })

  test('a click without an affiliate is not attributed', async ({ client }) => {
    const { id } = await client.events.click({ ref: 'nobody', sessionId: 's-nobody' })
    expect(await attribution(client, { clickId: id })).toEqual(nobody('NO_MATCH'))
    expect(await attribution(client, { sessionId: 's-nobody' })).toEqual(nobody('NO_MATCH'))
  })
})

describe('CONNECTED_CUSTOMER', () => {
  test.beforeAll(async ({ server }) => {
    await connect(server, 'customerId', 'c-1', nisa)
    await connect(server, 'customerEmail', 'buyer@example.com', mara)
  })

  test('customerId, compared exactly, takes precedence over the email address', async ({ client }) => {
    const found = await attribution(client, { customerId: 'c-1', customerEmail: 'buyer@example.com' })
    expect(found).toEqual(of(nisa, 'CONNECTED_CUSTOMER', 0.9, 'CONNECTED_CUSTOMER_ID_MATCH'))
    expect(await attribution(client, { customerId: 'C-1' })).toEqual(nobody('NO_MATCH'))
  })

  test.for(['buyer@example.com', ' Buyer@Example.COM '])(
    'customerEmail %j, trimmed and in any letter case',
    async (customerEmail, { client }) => {
      const found = await attribution(client, { customerEmail, customerId: 'unknown' })
      expect(found).toEqual(of(mara, 'CONNECTED_CUSTOMER', 0.85, 'CONNECTED_CUSTOMER_EMAIL_MATCH'))
    },
  )
})

describe('CONNECTED_PRODUCT', () => {
  test.beforeAll(async ({ server }) => {
    await connect(server, 'product', '7001', nisa)
    await connect(server, 'variant', '9001', mara)
    await connect(server, 'product', '7002', mara)
  })
  const lines = (...items: [productId: string | null, variantId: string | null, priceCents: number][]) => ({
    lineItems: items.map(([productId, variantId, priceCents]) => ({ productId, variantId, priceCents })),
  })

  test('the highest matched line total wins, and pays on the matched lines only', async ({ client }) => {
    const found = await attribution(client, lines(['7001', null, 3000], ['7002', null, 2999], ['7009', null, 4001]))
    expect(found).toEqual(of(nisa, 'CONNECTED_PRODUCT', 0.7, 'CONNECTED_PRODUCT_MATCH'))
    const row = (await client.commissions.list({ externalOrderId: `o-${orders}` })).data[0]
    expect([row?.orderSubtotalCents, row?.commissionBaseCents, row?.commissionAmountCents]).toEqual([10_000, 3000, 480])
  })

  test('a variant takes precedence over its product', async ({ client }) => {
    expect((await attribution(client, lines(['7001', '9001', 100])))[0]).toBe(mara.id)
    expect((await attribution(client, lines(['7001', '9002', 100])))[0]).toBe(nisa.id)
  })

  test('ids are compared exactly: a global id, a space or an extra zero match nothing', async ({ client }) => {
    for (const productId of ['gid://shopify/Product/7001', ' 7001', '07001'])
      expect(await attribution(client, lines([productId, null, 100])), productId).toEqual(nobody('NO_MATCH'))
  })

  test('a product id is not a variant id', async ({ client }) => {
    expect(await attribution(client, lines(['9001', '7001', 100]))).toEqual(nobody('NO_MATCH'))
  })
})

describe('several kinds', () => {
  const all = { couponCode: 'MARA', ref: 'nisa-karim', customerId: 'c-1', lineItems: [{ productId: '7001' }] }

  test('COUPON takes precedence, then the link, the customer, the product', async ({ client }) => {
    const reasons = []
    const left: Evidence = { ...all }
    for (const name of ['couponCode', 'ref', 'customerId', 'lineItems'] as const) {
      reasons.push((await attribution(client, left))[1])
      delete left[name]
    }
    expect(reasons).toEqual(['COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT'])
  })

  test('evidence without an affiliate falls back to the next kind', async ({ client }) => {
    expect((await attribution(client, { ...all, couponCode: 'SUMMER' }))[1]).toBe('DIRECT_LINK')
    expect((await attribution(client, { ...all, couponCode: 'SUMMER', ref: 'nobody' }))[1]).toBe('CONNECTED_CUSTOMER')
  })

  test('the shop may put links first', async ({ client, owner }) => {
    await expectOk(owner('PATCH', '/settings', { attributionPrecedence: 'link-first' }))
    const found = await attribution(client, all)
    await expectOk(owner('PATCH', '/settings', { attributionPrecedence: 'default' }))
    expect(found).toEqual(of(nisa, 'DIRECT_LINK', 0.8, 'REF_MATCH'))
  })
})

test('another shop’s codes, slugs, ids, clicks and customers are unknown here', async ({ server, client }) => {
  const { key } = await server.createShop()
  const { affiliate } = await withAffiliate(server, { key, code: 'FRGN', email: 'foreign@example.com' })
  const click = await server
    .clientOf(key)
    .events.click({ ref: affiliate.slug, clickId: 'foreign', sessionId: 's-foreign' })
  for (const evidence of [{ couponCode: 'FRGN' }, { ref: affiliate.id }, { sessionId: 's-foreign' }])
    expect(await attribution(client, evidence)).toEqual(nobody('NO_MATCH'))
  for (const clickId of ['foreign', click.id])
    expect(await attribution(client, { clickId })).toEqual(nobody('CLICK_NOT_FOUND'))
})
