// Full: it waits for time to pass.
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { createApiKey } from '../../server/src/domains/accounts/keys.ts'
import { operatorContext } from '../../server/src/domains/accounts/shops.ts'
import { codeOf } from '../commissions/money.ts'
import { insertRows, subscribe, updateRows } from '../support/inspect.ts'
import type { Reply, TestServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'

interface Item {
  id: string
  event: string
  timestamp: string
  shop_id: string
  // biome-ignore lint/suspicious/noExplicitAny: the data of any event
  data: any
}

const get = (server: TestServer, query = '', key = server.shop.key): Promise<Reply> =>
  server.request('GET', `/api/v1/webhooks/events${query}`, { key })
/** All events after a position, page by page. */
async function poll(server: TestServer, { after = '', limit = 100, key = server.shop.key, more = '' } = {}) {
  const items: Item[] = []
  for (let next = after; ; ) {
    const { body } = await get(server, `?limit=${limit}${next && `&after=${next}`}${more}`, key)
    items.push(...body.data)
    next = body.next ?? ''
    if (!body.hasMore) return { items, next }
  }
}
const names = (items: Item[]) => items.map(({ event }) => event)
const keyWith = async (server: TestServer, scopes: string[]) => {
  const ctx = await operatorContext(server.deps, server.shop.shopId)
  return (await createApiKey(ctx, { label: randomUUID(), scopes })).secret
}
const order = (server: TestServer, externalOrderId: string = randomUUID()) =>
  convert(server, { externalOrderId, amountCents: 10_000, couponCode: 'NISA16' })

test('lists events without subscribers, oldest first, with the content of a webhook', async ({ server }) => {
  await withAffiliate(server)
  const { body } = await order(server, 'x1')
  const { items } = await poll(server)
  expect(names(items)).toEqual(['affiliate.approved', 'affiliate.status_changed', 'commission.created'])
  expect(items[2]).toEqual({
    id: expect.stringMatching(/^evt_[0-9A-Z]{26}$/),
    event: 'commission.created',
    timestamp: new Date(server.clock.ms).toISOString(),
    shop_id: server.shop.shopId,
    data: expect.objectContaining({ id: body.commission.id, externalOrderId: 'x1' }),
  })
})

test('an empty list has no cursor; later events follow a cursor, in pages of any size', async ({ server }) => {
  expect((await get(server)).body).toEqual({ data: [], next: null, hasMore: false })
  await withAffiliate(server)
  const { next } = await poll(server)
  expect((await get(server, `?after=${next}`)).body).toEqual({ data: [], next, hasMore: false })
  for (let n = 0; n < 7; n++) await order(server, `x${n}`)
  for (const limit of [1, 2, 3, 7, 8]) {
    const { items } = await poll(server, { after: next, limit })
    expect(items.map(({ data }) => data.externalOrderId)).toEqual(['x0', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6'])
  }
  expect((await get(server, `?after=${next}&limit=7`)).body.hasMore).toBe(false)
})

test('a poller that reads while orders arrive sees every event once, in the order of the audit', async ({ server }) => {
  await withAffiliate(server)
  let { next } = await poll(server)
  const seen: string[] = []
  const read = async () => {
    const page = await poll(server, { after: next, limit: 5 })
    seen.push(...page.items.map(({ data }) => data.id))
    next = page.next
  }
  const sent = Array.from({ length: 8 }, (_, wave) =>
    (async () => {
      await new Promise((done) => setTimeout(done, 5 * wave))
      return Promise.all(Array.from({ length: 10 }, () => order(server)))
    })(),
  )
  let isDone = false
  const all = Promise.all(sent).finally(() => {
    isDone = true
  })
  while (!isDone) {
    await read()
    await new Promise(setImmediate)
  }
  const ids = (await all).flat().map(({ body }) => body.commission.id)
  await read()
  expect(seen).toHaveLength(80)
  expect(new Set(seen)).toEqual(new Set(ids))
  const { data } = (await server.owner('GET', '/audit?action=commission.created&limit=100')).body
  expect(seen).toEqual(data.map(({ subjectId }: { subjectId: string }) => subjectId).reverse())
})

test('a process whose clock is behind appends its events', async ({ server }) => {
  await withAffiliate(server)
  await order(server, 'earlier')
  const { next } = await poll(server)
  server.pin('evt', `evt_${'0'.repeat(26)}`)
  await order(server, 'later')
  const { items } = await poll(server, { after: next })
  expect(items.map(({ data }) => data.externalOrderId)).toEqual(['later'])
})

test('400 for a cursor that is not the id of an event, 403 without webhooks:read', async ({ server }) => {
  for (const after of ['x', 'evt_', 'aff_01KAH0000000000000000000E1', `evt_${'U'.repeat(26)}`])
    expect(codeOf(await get(server, `?after=${after}`))).toEqual([400, 'invalid_parameter'])
  const key = await keyWith(server, ['commissions:read', 'affiliates:read'])
  expect(codeOf(await get(server, '', key))).toEqual([403, 'scope_missing'])
})

test('an event requires the read scope of its resource', async ({ server }) => {
  subscribeExtended(server)
  await withAffiliate(server)
  await order(server)
  await expectOk(
    server.request('POST', '/api/v1/payouts', { body: { periodStart: '2026-01-01', periodEnd: '2027-01-01' } }),
  )
  await server.request('POST', '/api/v1/webhooks?test=1', { body: { url: 'https://hooks.example.com' } })
  const namesWith = async (...scopes: string[]) => {
    const key = await keyWith(server, ['webhooks:read', ...scopes])
    return new Set(names((await poll(server, { key, limit: 2, more: '&extendedEvents=1' })).items))
  }
  expect(await namesWith()).toEqual(new Set(['test']))
  expect(await namesWith('affiliates:read')).toEqual(
    new Set(['affiliate.approved', 'affiliate.status_changed', 'test']),
  )
  expect(await namesWith('commissions:read')).toEqual(new Set(['commission.created', 'commission.approved', 'test']))
  expect(await namesWith('payouts:read')).toEqual(new Set(['payout.created', 'test']))
  // Write does not include read.
  expect(await namesWith('affiliates:write', 'payouts:write')).toEqual(new Set(['test']))
})

test('events of another shop are not listed, whatever the cursor', async ({ server }) => {
  await withAffiliate(server)
  await order(server)
  const { items } = await poll(server)
  const other = await server.createShop()
  for (const after of ['', ...items.map(({ id }) => id)])
    expect((await poll(server, { after, key: other.key })).items).toEqual([])
})

test('many events that the key may not read are skipped a part at a time', async ({ server }) => {
  await withAffiliate(server)
  const { shopId } = server.shop
  const { next } = await poll(server)
  const body = JSON.stringify({ event: 'commission.created' })
  const id = (n: number) => `${next.slice(0, 14)}${'Z'.repeat(12)}${String(n).padStart(4, '0')}`
  const event = { shopId, event: 'commission.created', body, createdAt: '' }
  insertRows(
    server,
    'webhookEvents',
    Array.from({ length: 1050 }, (_, n) => ({ ...event, id: id(n) })),
  )
  updateRows(server, 'auditHeads', { eventId: id(1049) }, { shopId })
  await newAffiliate(server, { code: 'LAST' })
  const key = await keyWith(server, ['webhooks:read', 'affiliates:read'])
  const first = (await get(server, '', key)).body
  expect([names(first.data), first.hasMore]).toEqual([['affiliate.approved', 'affiliate.status_changed'], true])
  const { items } = await poll(server, { key })
  expect(names(items)).toHaveLength(4)
})

const subscribeExtended = (server: TestServer) =>
  updateRows(server, 'subscriptions', { extendedEvents: 1 }, { id: subscribe(server) })

test('latest lists none, and what follows is new; its next is null before the first event', async ({ server }) => {
  expect((await get(server, '?after=latest')).body).toEqual({ data: [], next: null, hasMore: false })
  await withAffiliate(server)
  const { data, next, hasMore } = (await get(server, '?after=latest')).body
  expect([data, hasMore]).toEqual([[], false])
  await order(server)
  expect(names((await poll(server, { after: next })).items)).toEqual(['commission.created'])
})
