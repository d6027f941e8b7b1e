import { expect } from 'vitest'
import { parseFacts } from '../../server/src/engine/stored-facts.ts'
import { rowOf } from '../support/inspect.ts'
import { fillRules } from '../support/owner.ts'
import type { Reply, TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { type Owner, test } from '../support/test.ts'

let programId: string
test.beforeAll(async ({ server }) => {
  programId = (await withAffiliate(server)).affiliate.campaignId
})

const codeOf = ({ status, headers }: Reply) => [status, headers.get('X-Error-Code')]
const create = (owner: Owner, value: string) =>
  owner('POST', '/product-rules', { programId, kind: 'product', value, commissionPercent: 25 })
const sell = (server: TestServer, externalOrderId: string, productId: string) =>
  convert(server, { externalOrderId, couponCode: 'NISA16', lineItems: [{ productId, priceCents: 1000 }] })

test('409 for the 10,001st product rule of a shop, until one is removed', async ({ server, owner }) => {
  const { shopId } = server.shop
  fillRules(server, { shopId, programId }, 9999).product()
  const { id } = await expectOk(create(owner, '1'))
  expect(codeOf(await create(owner, '2'))).toEqual([409, 'product_rule_limit_reached'])
  expect(codeOf(await create(owner, '1'))).toEqual([409, 'product_rule_exists'])
  await expectOk(owner('DELETE', `/product-rules/${id}`))
  expect((await create(owner, '2')).status).toBe(201)
})

test('an order stores only the rules of its own products, and is paid by them', async ({ server }) => {
  const { commission } = await expectOk(sell(server, 'with-rule', '2'))
  expect(commission.amountCents).toBe(250)
  const without = await expectOk(sell(server, 'without-rule', '3'))
  expect(without.commission.amountCents).toBe(160)
  const facts = (orderId: string) => parseFacts(rowOf(server, 'orders', { orderId }).facts)
  expect(facts('api:with-rule').programs[programId]?.productRules).toEqual([
    { productId: '2', variantId: null, commissionType: 'PERCENT_OF_SALE', rate: 2500 },
  ])
  expect(facts('api:without-rule').programs[programId]?.productRules).toEqual([])
})

test('an order of many products is paid by the rule of each', async ({ server }) => {
  const lineItems = Array.from({ length: 40 }, (_, i) => ({ productId: String(700_000_001 + i), priceCents: 1000 }))
  const { commission } = await expectOk(convert(server, { externalOrderId: 'many', couponCode: 'NISA16', lineItems }))
  expect(commission.amountCents).toBe(4000)
})

test('409 for the 1,001st geo rule of a shop; an existing rule can still be replaced', async ({ server, owner }) => {
  const set = (id: string, countries: string[]) => owner('PUT', `/geo-rules/${id}`, { countries })
  fillRules(server, { shopId: server.shop.shopId, programId }, 999).geo()
  await expectOk(set(programId, ['US']))
  const { id } = await expectOk(server.request('POST', '/api/v1/programs', { body: { name: 'Another' } }))
  expect(codeOf(await set(id, ['US']))).toEqual([409, 'geo_rule_limit_reached'])
  expect((await expectOk(set(programId, ['CA']))).countries).toEqual(['CA'])
  await expectOk(owner('DELETE', `/geo-rules/${programId}`))
  expect((await set(id, ['US'])).status).toBe(200)
})
