import { afterAll, beforeAll, expect, test } from 'vitest'
import { admin, fillRules } from '../support/owner.ts'
import { type Reply, type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'

let server: TestServer
let programId: string
beforeAll(async () => {
  server = await testServer()
  programId = (await withAffiliate(server)).affiliate.campaignId
})
afterAll(() => server.close())

const codeOf = ({ status, headers }: Reply) => [status, headers.get('X-Error-Code')]
const create = (value: string) =>
  admin(server, 'POST', '/product-rules', { programId, kind: 'product', value, commissionPercent: 25 })
const sell = (externalOrderId: string, productId: string) =>
  convert(server, { externalOrderId, couponCode: 'NISA16', lineItems: [{ productId, priceCents: 1000 }] })

test('409 for the 10,001st product rule of a shop, and room again once one is removed', async () => {
  const { shopId } = server.shop
  fillRules(server, { shopId, programId }, 9999).product()
  const { id } = await expectOk(create('1'))
  expect(codeOf(await create('2'))).toEqual([409, 'product_rule_limit_reached'])
  expect(codeOf(await create('1'))).toEqual([409, 'product_rule_exists'])
  await expectOk(admin(server, 'DELETE', `/product-rules/${id}`))
  expect((await create('2')).status).toBe(201)
})

test('an order keeps the rules of its own products alone, and is paid by them', async () => {
  const { commission } = await expectOk(sell('with-rule', '2'))
  expect(commission.amountCents).toBe(250)
  const without = await expectOk(sell('without-rule', '3'))
  expect(without.commission.amountCents).toBe(160)
  const facts = (orderId: string) =>
    JSON.parse(server.sql.prepare('select facts from orders where "orderId" = ?').pluck().get(orderId) as string)
  expect(facts('api:with-rule').programs[programId].productRules).toEqual([
    { productId: '2', variantId: null, commissionType: 'PERCENT_OF_SALE', rate: 2500 },
  ])
  expect(facts('api:without-rule').programs[programId].productRules).toEqual([])
})

test('an order of many products is paid by the rule of each', async () => {
  const lineItems = Array.from({ length: 40 }, (_, i) => ({ productId: String(700_000_001 + i), priceCents: 1000 }))
  const { commission } = await expectOk(convert(server, { externalOrderId: 'many', couponCode: 'NISA16', lineItems }))
  expect(commission.amountCents).toBe(4000)
})

test('409 for the 1,001st geo rule of a shop; a rule that is there can still be replaced', async () => {
  const set = (id: string, countries: string[]) => admin(server, 'PUT', `/geo-rules/${id}`, { countries })
  fillRules(server, { shopId: server.shop.shopId, programId }, 999).geo()
  await expectOk(set(programId, ['US']))
  const { id } = await expectOk(server.request('POST', '/api/v1/programs', { body: { name: 'Another' } }))
  expect(codeOf(await set(id, ['US']))).toEqual([409, 'geo_rule_limit_reached'])
  expect((await expectOk(set(programId, ['CA']))).countries).toEqual(['CA'])
  await expectOk(admin(server, 'DELETE', `/geo-rules/${programId}`))
  expect((await set(id, ['US'])).status).toBe(200)
})
