import { createHash } from 'node:crypto'
import type { AffiliateUpdate } from '@referral/sdk'
import { expect } from 'vitest'
import { convert, expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'

let texts = 0
/** Incompressible text of three bytes per character, so that it takes the maximum space in the database. */
function longest(length: number): string {
  const bytes: number[] = []
  for (let i = 0; bytes.length < 2 * length; i++) bytes.push(...createHash('sha512').update(`${texts} ${i}`).digest())
  texts++
  return String.fromCharCode(
    ...Array.from({ length }, (_, i) => 0x4e00 + (((bytes[2 * i]! << 8) | bytes[2 * i + 1]!) % 20_000)),
  )
}
const fields = <Name extends string>(lengths: Record<Name, number>) =>
  Object.fromEntries(Object.entries<number>(lengths).map(([name, length]) => [name, longest(length)])) as Record<
    Name,
    string
  >

const TOUCH = {
  ref: 255,
  affiliateCode: 255,
  affiliateId: 64,
  clickId: 255,
  sessionId: 255,
  url: 4096,
  landingPage: 4096,
  referrerUrl: 4096,
  utmSource: 255,
  utmMedium: 255,
  utmCampaign: 255,
  utmTerm: 255,
  utmContent: 255,
  country: 100,
  device: 100,
  customerEmail: 320,
  customerId: 255,
}

test('201 for a conversion with the longest texts, each returned as sent', async ({ server, client }) => {
  const { id } = await expectOk(
    server.request('POST', '/api/v1/programs', { body: fields({ name: 200, description: 5000 }) }),
  )
  await client.programs.update(id, { lifetimeCommission: true })
  const affiliate = await client.affiliates.create({ email: 'long@example.com', name: longest(200) })
  await client.affiliates.update(affiliate.id, { status: 'APPROVED' })
  const sent = {
    ...fields({ externalOrderId: 255, affiliateCode: 255, ref: 255, clickId: 255, sessionId: 255, customerId: 255 }),
    ...fields({ customerEmail: 320, orderName: 255, note: 10_000 }),
    couponCode: affiliate.discountCode,
    amountCents: 10_000,
    shipping: fields({ country: 100, state: 100, city: 100, postalCode: 20 }),
    lineItems: [fields({ productId: 255, variantId: 255, title: 1000, sku: 255 })],
    noteAttributes: [fields({ name: 255, value: 10_000 })],
  }
  const reply = await convert(server, sent)
  expect([reply.status, reply.body.commission?.affiliateId]).toEqual([201, affiliate.id])
  const { data } = await client.commissions.list({ externalOrderId: sent.externalOrderId })
  expect([data[0]?.externalOrderId, data[0]?.orderName]).toEqual([sent.externalOrderId, sent.orderName])
})

test('202 for a click and a page view with the longest texts', async ({ server }) => {
  for (const type of ['click', 'page_view']) {
    const reply = await server.request('POST', '/api/v1/events', { body: { type, ...fields(TOUCH) } })
    expect([type, reply.status]).toEqual([type, 202])
  }
})

test('an affiliate keeps the longest texts as sent', async ({ client }) => {
  const { id } = await client.affiliates.create({
    email: `${longest(240)}@example.com`,
    firstName: longest(100),
  })
  const lengths: Record<Exclude<keyof AffiliateUpdate, 'email' | 'status' | 'campaignId'>, number> = {
    name: 200,
    firstName: 100,
    lastName: 100,
    phone: 50,
    website: 2048,
    instagramHandle: 100,
    tiktokHandle: 100,
    youtubeHandle: 100,
    homeCountry: 100,
    homeState: 100,
    homeCity: 100,
    homePostalCode: 20,
    homeAddress: 500,
  }
  const sent = fields(lengths)
  expect(await client.affiliates.update(id, sent)).toMatchObject(sent)
  const { data } = await client.affiliates.list({ q: sent.name })
  expect(data.map((one) => one.id)).toEqual([id])
})
