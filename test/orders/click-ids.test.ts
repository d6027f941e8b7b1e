import { beforeEach, describe, expect } from 'vitest'
import type { TestServer } from '../support/server.ts'
import { newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

const MINUTE = 60_000
const DAY = 86_400_000

let nisa: { id: string; slug: string }
let mara: { id: string; slug: string }
test.beforeAll(async ({ server }) => {
  nisa = (await withAffiliate(server, { code: 'NISA' })).affiliate
  mara = await newAffiliate(server, { name: 'Mara Lind' })
})

let count = 0
let clickId: string
let sessionId: string
beforeEach(() => {
  clickId = `own-${++count}`
  sessionId = `s-${count}`
})

/** An instant before or after now. */
const at = (server: TestServer, ms: number) => new Date(server.clock.ms + ms).toISOString()

async function winner(client: Client, evidence: { clickId?: string; sessionId?: string; occurredAt?: string }) {
  const order = { externalOrderId: `o-${++count}`, amountCents: 10_000, ...evidence }
  const { attribution } = await client.events.conversion(order)
  return [attribution.affiliateId, attribution.reasonCode]
}

const entries = async (client: Client, of: string) => (await client.journey.get({ sessionId: of })).journey

describe('a click id belongs to the affiliate it first named', () => {
  test('a later click of another affiliate is stored with the id of the response and takes over no order', async ({
    server,
    client,
  }) => {
    await client.events.click({ ref: nisa.slug, clickId, sessionId })
    server.clock.advance(MINUTE)
    const taken = await client.events.click({ ref: mara.slug, clickId, sessionId })
    expect(taken.message).toContain('new id')
    expect((await entries(client, sessionId)).map((entry) => [entry.affiliateId, entry.clickId])).toEqual([
      [nisa.id, clickId],
      [mara.id, taken.id],
    ])
    expect(await winner(client, { clickId })).toEqual([nisa.id, 'CLICK_MATCH'])
    expect(await winner(client, { clickId: taken.id })).toEqual([mara.id, 'CLICK_MATCH'])
  })

  test('for any occurredAt of the later click', async ({ server, client }) => {
    await client.events.click({ ref: nisa.slug, clickId, occurredAt: at(server, -2 * DAY) })
    for (const ms of [-3 * DAY, -2 * DAY, -1 * DAY]) {
      await client.events.click({ ref: mara.slug, clickId, occurredAt: at(server, ms) })
    }
    expect(await winner(client, { clickId })).toEqual([nisa.id, 'CLICK_MATCH'])
  })

  test('for any reference to the other affiliate', async ({ client }) => {
    await client.events.click({ affiliateCode: 'NISA', clickId })
    await client.events.click({ affiliateId: mara.id, clickId })
    await client.events.click({ ref: mara.id, clickId })
    await client.events.click({ affiliateCode: mara.slug, clickId })
    expect(await winner(client, { clickId })).toEqual([nisa.id, 'CLICK_MATCH'])
  })

  test('the id of a response belongs to its affiliate too, even when you send your own id', async ({ client }) => {
    const first = await client.events.click({ ref: nisa.slug, clickId })
    const taken = await client.events.click({ ref: mara.slug, clickId: first.id })
    expect(await winner(client, { clickId: first.id })).toEqual([nisa.id, 'CLICK_MATCH'])
    expect(await winner(client, { clickId: taken.id })).toEqual([mara.id, 'CLICK_MATCH'])
  })

  test('the same affiliate keeps it when clicked again, even by a click without another affiliate', async ({
    client,
  }) => {
    for (const names of [{ ref: nisa.slug }, { ref: nisa.slug }, {}, { ref: 'nobody' }]) {
      const { message } = await client.events.click({ ...names, clickId, sessionId })
      expect(message).toBe('Click recorded.')
    }
    const found = (await entries(client, sessionId)).map((entry) => [entry.affiliateId, entry.clickId])
    expect(found).toEqual(Array.from({ length: 4 }, () => [nisa.id, clickId]))
  })

  test('a click on an unknown reference claims no id: the next affiliate gets it', async ({ server, client }) => {
    await client.events.click({ ref: 'nobody', clickId })
    expect(await winner(client, { clickId })).toEqual([null, 'NO_MATCH'])
    await client.events.click({ ref: mara.slug, clickId, occurredAt: at(server, -DAY) })
    await client.events.click({ ref: nisa.slug, clickId })
    expect(await winner(client, { clickId })).toEqual([mara.id, 'CLICK_MATCH'])
  })

  test('of clicks reported in parallel, one affiliate gets the id', async ({ client }) => {
    const names = [nisa.slug, mara.slug, nisa.slug, mara.slug]
    const replies = await Promise.all(names.map((ref) => client.events.click({ ref, clickId, sessionId })))
    const kept = (await entries(client, sessionId)).filter((entry) => entry.clickId === clickId)
    expect(new Set(kept.map((entry) => entry.affiliateId)).size).toBe(1)
    expect(kept).toHaveLength(2)
    expect(await winner(client, { clickId })).toEqual([kept[0]?.affiliateId, 'CLICK_MATCH'])
    expect(replies.map((reply) => reply.id)).toHaveLength(4)
  })

  test('another shop may use the same id for its own affiliates', async ({ server, client }) => {
    await client.events.click({ ref: nisa.slug, clickId })
    const { key } = await server.createShop()
    const { affiliate } = await withAffiliate(server, { key, code: 'FRGN' })
    const other = server.clientOf(key)
    const { message } = await other.events.click({ ref: affiliate.slug, clickId })
    const order = { externalOrderId: 'other', amountCents: 100, clickId }
    const { attribution } = await other.events.conversion(order)
    expect([message, attribution.affiliateId]).toEqual(['Click recorded.', affiliate.id])
  })

  test('the same Idempotency-Key replays the new id', async ({ server, client }) => {
    await client.events.click({ ref: nisa.slug, clickId })
    const call = () =>
      server.request('POST', '/api/v1/events', {
        body: { type: 'click', ref: mara.slug, clickId },
        headers: { 'Idempotency-Key': `taken-${clickId}` },
      })
    const [first, second] = [await call(), await call()]
    expect([second.body, second.headers.get('Idempotent-Replayed')]).toEqual([first.body, 'true'])
  })
})

describe('a click in the future gets the time it was received', () => {
  test.for([
    ['a millisecond', 1],
    ['4 minutes', 4 * MINUTE],
    ['5 minutes', 5 * MINUTE],
    ['a year', 365 * DAY],
  ] as const)('a click %s in the future', async ([_, ms], { server, client }) => {
    await client.events.click({ ref: nisa.slug, sessionId, occurredAt: at(server, ms) })
    expect((await entries(client, sessionId)).map((entry) => entry.occurredAt)).toEqual([at(server, 0)])
  })

  test('does not win over a click that was received later', async ({ server, client }) => {
    await client.events.click({ ref: mara.slug, sessionId, occurredAt: at(server, 4 * MINUTE) })
    server.clock.advance(MINUTE)
    await client.events.click({ ref: nisa.slug, sessionId })
    server.clock.advance(MINUTE)
    expect(await winner(client, { sessionId })).toEqual([nisa.id, 'CLICK_MATCH'])
  })

  test('is not credited by its id for an earlier order', async ({ server, client }) => {
    const placed = at(server, -6 * MINUTE)
    const { id } = await client.events.click({ ref: mara.slug, sessionId, occurredAt: at(server, 4 * MINUTE) })
    expect(await winner(client, { clickId: id, occurredAt: placed })).toEqual([null, 'CLICK_AFTER_ORDER'])
  })

  test('a page view up to 5 minutes ahead gets the time it was received', async ({ server, client }) => {
    const { id } = await client.events.pageView({
      url: 'https://x.example/',
      sessionId,
      occurredAt: at(server, 5 * MINUTE),
    })
    expect((await entries(client, sessionId)).map((entry) => [entry.id, entry.occurredAt])).toEqual([
      [id, at(server, 0)],
    ])
  })
})
