import { expect } from 'vitest'
import { createApiSwitch } from '../../server/src/core/installation.ts'
import * as shops from '../../server/src/domains/accounts/shops.ts'
import { snapshot } from '../contract/fixture.ts'
import { admin } from '../support/owner.ts'
import type { Reply } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { testWithNewShop } from '../support/test.ts'
import { type Store, sign, storeOf } from './fixture.ts'
import { canceledPayload, orderPayload, refundPayload } from './payloads.ts'

/** The documented number of notifications per shop and minute. */
const LIMIT = 2000

const test = testWithNewShop.extend('options', { scope: 'file' }, { limited: true })

let store: Store
test.beforeEach(async ({ server }) => {
  store = await storeOf(server)
})

const statusAndCode = ({ status, headers }: Reply) => [status, headers.get('X-Error-Code')]
const order = () => orderPayload({ id: store.nextId(), codes: ['NISA16'] })
/** Uses up a part of a window without sending requests. */
const spend = (shopId: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => store.server.limiter.consume(`store:${shopId}`, LIMIT)))

test('429 with Retry-After beyond 2,000 notifications of a shop within a minute, and nothing is recorded', async () => {
  const { shopId } = store.server.shop
  await spend(shopId, LIMIT - 3)
  expect(statusAndCode(await store.notify('orders-paid', order()))).toEqual([200, null])
  expect(statusAndCode(await store.notify('orders-cancelled', canceledPayload({ id: 1 })))).toEqual([200, null])
  expect(statusAndCode(await store.notify('refunds-create', refundPayload({ id: 1, orderId: 1 })))).toEqual([200, null])
  const before = snapshot(store.server)
  const text = order()
  for (const [topic, body] of [
    ['orders-paid', text],
    ['orders-cancelled', canceledPayload({ id: 2 })],
    ['refunds-create', refundPayload({ id: 2, orderId: 1 })],
  ] as const) {
    const reply = await store.notify(topic, body)
    expect(statusAndCode(reply)).toEqual([429, 'rate_limited'])
    expect(Number(reply.headers.get('Retry-After'))).toBeGreaterThan(0)
    expect(Number(reply.headers.get('Retry-After'))).toBeLessThanOrEqual(60)
  }
  expect(snapshot(store.server)).toBe(before)
})

test('the window belongs to the shop: other shops, API keys and wrong signatures do not affect it', async () => {
  const { server } = store
  const other = await server.createShop()
  await expectOk(
    admin(server, 'PATCH', '/settings', { storeWebhookSecret: 'hush-hush-hush-hush' }, { key: other.ownerToken }),
  )
  const remaining = async () =>
    Number((await server.request('GET', '/api/v1/affiliates')).headers.get('X-RateLimit-Remaining'))
  const before = await remaining()
  await spend(server.shop.shopId, LIMIT)
  const text = order()
  const headers = store.headersOf('orders-paid', text)
  const send = (shopId: string) =>
    server.request('POST', store.pathOf('orders-paid', shopId), { key: null, raw: text, headers })
  expect(statusAndCode(await send(server.shop.shopId))).toEqual([429, 'rate_limited'])
  expect(statusAndCode(await send(other.shopId))).toEqual([200, null])
  expect(await remaining()).toBe(before - 1)
})

test('an unsigned notification does not count', async () => {
  await spend(store.server.shop.shopId, LIMIT - 1)
  const text = order()
  for (let i = 0; i < 5; i++) {
    const reply = await store.notify('orders-paid', text, { 'X-Shopify-Hmac-Sha256': sign(text, 'another') })
    expect(statusAndCode(reply)).toEqual([401, 'store_signature_invalid'])
  }
  expect(statusAndCode(await store.notify('orders-paid', text))).toEqual([200, null])
})

test('the legacy Enterprise plan may send ten times as many', async () => {
  const { deps, shop } = store.server
  await shops.update(deps, shop.shopId, { plan: 'ENTERPRISE' })
  await spend(shop.shopId, LIMIT)
  expect(statusAndCode(await store.notify('orders-paid', order()))).toEqual([200, null])
})

test.each(['FREE', 'STARTER', 'GROWTH'] as const)(
  '403 on the plan %s, and 200 again on the next plan',
  async (plan) => {
    const { deps, shop } = store.server
    const text = order()
    await shops.update(deps, shop.shopId, { plan })
    const before = snapshot(store.server)
    const reply = await store.notify('orders-paid', text)
    expect(statusAndCode(reply)).toEqual([403, 'plan_required'])
    // Nobody without the secret learns the plan of a shop.
    const unsigned = await store.notify('orders-paid', text, { 'X-Shopify-Hmac-Sha256': sign(text, 'another') })
    expect(statusAndCode(unsigned)).toEqual([401, 'store_signature_invalid'])
    expect(snapshot(store.server)).toBe(before)
    await shops.update(deps, shop.shopId, { plan: 'PROFESSIONAL' })
    expect(statusAndCode(await store.notify('orders-paid', text))).toEqual([200, null])
  },
)

test('the kill switches do not affect store notifications: no order is lost', async () => {
  const { deps, shop, request } = store.server
  const operator = createApiSwitch(deps)
  const switches: ((to: 'on' | 'off') => Promise<unknown>)[] = [
    (api) => shops.update(deps, shop.shopId, { apiEnabled: api === 'on' }),
    (api) => operator.set(api === 'on'),
  ]
  for (const set of switches) {
    await set('off')
    // Another instance may take up to 2 s to notice.
    await expect.poll(async () => (await request('GET', '/api/v1/programs')).status, { timeout: 3000 }).toBe(503)
    const id = store.nextId()
    await expectOk(store.notify('orders-paid', orderPayload({ id, codes: ['NISA16'] })))
    await set('on')
    await expect.poll(async () => (await request('GET', '/api/v1/programs')).status, { timeout: 3000 }).toBe(200)
    expect(await store.commission(id)).toMatchObject({ commissionAmountCents: 1600 })
  }
})
