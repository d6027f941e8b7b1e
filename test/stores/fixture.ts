import { createHmac } from 'node:crypto'
import { expect } from 'vitest'
import { admin } from '../support/owner.ts'
import type { Reply, TestServer } from '../support/server.ts'
import { expectOk, withAffiliate } from '../support/shop.ts'

export type Topic = 'orders-paid' | 'orders-cancelled' | 'refunds-create'

const SECRET = 'hush-hush-hush-hush'

export const sign = (text: string, secret = SECRET) => createHmac('sha256', secret).update(text).digest('base64')

export interface Store {
  server: TestServer
  affiliate: { id: string }
  pathOf: (topic: Topic, shopId?: string) => string
  /** The headers that the store sends with a notification. */
  headersOf: (topic: Topic, text: string) => Record<string, string>
  /** Sends a notification as the store does; `headers` replaces or adds. */
  notify: (topic: Topic, text: string, headers?: Record<string, string>) => Promise<Reply>
  commission: (id: number | string) => Promise<Record<string, unknown>>
  nextId: () => number
}

/** Gives the shop of a server a store and an affiliate with the code NISA16, who earns 16%. */
export async function storeOf(server: TestServer): Promise<Store> {
  const { affiliate } = await withAffiliate(server)
  await expectOk(admin(server, 'PATCH', '/settings', { storeWebhookSecret: SECRET }))
  let ids = 5_600_000_000_000
  const pathOf: Store['pathOf'] = (topic, shopId = server.shop.shopId) => `/integrations/shopify/${shopId}/${topic}`
  const headersOf: Store['headersOf'] = (topic, text) => ({
    'X-Shopify-Hmac-Sha256': sign(text),
    'X-Shopify-Topic': topic.replace('-', '/'),
  })
  return {
    server,
    affiliate,
    pathOf,
    headersOf,
    notify: (topic, text, headers = {}) =>
      server.request('POST', pathOf(topic), {
        key: null,
        raw: text,
        headers: { ...headersOf(topic, text), ...headers },
      }),
    commission: async (id) =>
      (await server.request('GET', `/api/v1/commissions?externalOrderId=shopify:${id}`)).body.data[0],
    nextId: () => ++ids,
  }
}

/** Expects 200 and returns the body. */
export async function ok(pending: Promise<Reply>): Promise<Reply['body']> {
  const reply = await pending
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  return reply.body
}
