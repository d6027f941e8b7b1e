import { expect } from 'vitest'
import { codeOf } from '../commissions/money.ts'
import { countOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk, withAffiliate } from '../support/shop.ts'
import { test as baseTest } from '../support/test.ts'

const test = baseTest.extend('options', { scope: 'file' }, { limited: true, config: { trustProxy: 1 } })

let slug: string
test.beforeAll(async ({ server, owner }) => {
  slug = (await withAffiliate(server)).affiliate.slug
  await expectOk(owner('PATCH', '/settings', { siteDomains: ['shop.example'] }))
})

const from = (address: string) => ({ Origin: 'https://shop.example', 'X-Forwarded-For': address })
const click = (server: TestServer, address: string) =>
  server.request('POST', `/t/${server.shop.shopId}/click`, { key: null, body: { ref: slug }, headers: from(address) })
const follow = (server: TestServer, address: string) =>
  server.request('GET', `/r/${server.shop.shopId}/${slug}`, { key: null, headers: from(address) })

test('429 for the 101st click of one address; its links lead to the shop without a click', async ({ server }) => {
  const replies = await Promise.all(Array.from({ length: 110 }, () => click(server, '203.0.113.1')))
  expect(replies.filter(({ status }) => status === 202)).toHaveLength(100)
  const rejected = replies.find(({ status }) => status !== 202)!
  expect(codeOf(rejected)).toEqual([429, 'rate_limited'])
  // Otherwise the page sees a network error.
  expect(rejected.headers.get('Access-Control-Allow-Origin')).toBe('https://shop.example')
  expect(countOf(server, 'journey')).toBe(100)
  const { status, headers } = await follow(server, '203.0.113.1')
  expect([status, headers.get('Location')]).toEqual([302, `https://shop.example/?ref=${slug}`])
  expect((await click(server, '203.0.113.2')).status).toBe(202)
})

test('429 above the shop’s limit, from any address, and no other shop is limited', async ({ server }) => {
  await Promise.all(Array.from({ length: 2000 }, () => server.limiter.consume(`site-shop:${server.shop.shopId}`, 2000)))
  expect(codeOf(await click(server, '203.0.113.3'))).toEqual([429, 'rate_limited'])
  expect((await follow(server, '203.0.113.3')).headers.get('Location')).toBe(`https://shop.example/?ref=${slug}`)
  const other = { ...server, ...server.asShop(await server.createShop()) }
  await expectOk(other.owner('PATCH', '/settings', { siteDomains: ['shop.example'] }))
  expect((await click(other, '203.0.113.3')).status).toBe(202)
})
