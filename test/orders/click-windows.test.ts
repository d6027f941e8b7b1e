import { beforeEach, describe, expect } from 'vitest'
import type { TestServer } from '../support/server.ts'
import { expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

const DAY = 86_400_000

let nisa: { id: string; campaignId: string }
let mara: { id: string }
test.beforeAll(async ({ server }) => {
  nisa = (await withAffiliate(server, { code: 'NISA' })).affiliate
  mara = await newAffiliate(server, { name: 'Mara Lind' })
})

let count = 0
let sessionId: string
beforeEach(() => {
  sessionId = `s-${++count}`
})

/** An instant before or after the order, which is placed now. */
const at = (server: TestServer, ms: number) => new Date(server.clock.ms + ms).toISOString()
const click = (server: TestServer, ref: string, ms: number, more: { clickId?: string } = {}) =>
  server.client.events.click({ ref, sessionId, occurredAt: at(server, ms), ...more })
async function decide(
  client: Client,
  evidence: { clickId?: string; sessionId?: string; ref?: string; occurredAt?: string },
) {
  const externalOrderId = `o-${++count}`
  const { attribution } = await client.events.conversion({ externalOrderId, amountCents: 10_000, ...evidence })
  return [attribution.affiliateId, attribution.reasonCode]
}
const setDays = (client: Client, cookieDurationDays: number) =>
  client.programs.update(nisa.campaignId, { cookieDurationDays })

describe('a click by its id', () => {
  test('counts exactly 30 days before the order, not a millisecond earlier', async ({ server, client }) => {
    const [on, before] = [await click(server, nisa.id, -30 * DAY), await click(server, nisa.id, -30 * DAY - 1)]
    expect(await decide(client, { clickId: on.id })).toEqual([nisa.id, 'CLICK_MATCH'])
    expect(await decide(client, { clickId: before.id })).toEqual([null, 'CLICK_EXPIRED'])
  })

  test('counts exactly 5 minutes after the order, not a millisecond later', async ({ server, client }) => {
    const placed = at(server, -DAY)
    const [on, after] = [await click(server, nisa.id, -DAY + 300_000), await click(server, nisa.id, -DAY + 300_001)]
    expect(await decide(client, { clickId: on.id, occurredAt: placed })).toEqual([nisa.id, 'CLICK_MATCH'])
    expect(await decide(client, { clickId: after.id, occurredAt: placed })).toEqual([null, 'CLICK_AFTER_ORDER'])
  })

  test('is judged by the time of the order, not of the report', async ({ server, client }) => {
    const { id } = await click(server, nisa.id, -40 * DAY)
    expect(await decide(client, { clickId: id, occurredAt: at(server, -15 * DAY) })).toEqual([nisa.id, 'CLICK_MATCH'])
    expect(await decide(client, { clickId: id })).toEqual([null, 'CLICK_EXPIRED'])
  })

  test('falls back to the ref when it has expired', async ({ server, client }) => {
    const { id } = await click(server, nisa.id, -31 * DAY)
    expect(await decide(client, { clickId: id, ref: mara.id })).toEqual([mara.id, 'REF_MATCH'])
  })

  test('counts when the same id was clicked again after the order', async ({ server, client }) => {
    await click(server, nisa.id, -9 * DAY, { clickId: 'kept-in-a-cookie' })
    await click(server, nisa.id, -1 * DAY, { clickId: 'kept-in-a-cookie' })
    expect(await decide(client, { clickId: 'kept-in-a-cookie', occurredAt: at(server, -8 * DAY) })).toEqual([
      nisa.id,
      'CLICK_MATCH',
    ])
  })
})

describe('the clicks of a session', () => {
  test('the last one wins', async ({ server, client }) => {
    await click(server, mara.id, -2 * DAY)
    await click(server, nisa.id, -1 * DAY)
    await click(server, mara.id, -3 * DAY)
    expect(await decide(client, { sessionId })).toEqual([nisa.id, 'CLICK_MATCH'])
  })

  test('the first one wins with that setting of the shop', async ({ server, client, owner }) => {
    const setTouch = (clickTouch: string) => expectOk(owner('PATCH', '/settings', { clickTouch }))
    await click(server, mara.id, -1 * DAY)
    await click(server, nisa.id, -2 * DAY)
    await setTouch('FIRST')
    const found = await decide(client, { sessionId })
    await setTouch('LAST')
    expect(found).toEqual([nisa.id, 'CLICK_MATCH'])
  })

  test('one that has expired or came after the order is skipped', async ({ server, client }) => {
    await click(server, mara.id, -15 * DAY)
    await click(server, nisa.id, -5 * DAY)
    expect(await decide(client, { sessionId, occurredAt: at(server, -10 * DAY) })).toEqual([mara.id, 'CLICK_MATCH'])
    expect(await decide(client, { sessionId, occurredAt: at(server, -20 * DAY) })).toEqual([null, 'CLICK_AFTER_ORDER'])
    expect((await decide(client, { sessionId }))[0]).toBe(nisa.id)
  })

  test('one on an unknown reference is skipped', async ({ server, client }) => {
    await click(server, nisa.id, -2 * DAY)
    await click(server, 'nobody', -1 * DAY)
    expect(await decide(client, { sessionId })).toEqual([nisa.id, 'CLICK_MATCH'])
  })

  test('however many there are, the first and the last that count are found', async ({ server, client, owner }) => {
    const setTouch = (clickTouch: string) => expectOk(owner('PATCH', '/settings', { clickTouch }))
    await click(server, mara.id, -31 * DAY)
    await click(server, nisa.id, -30 * DAY)
    await click(server, mara.id, -29 * DAY)
    const noise = Array.from({ length: 101 }, (_, n) => click(server, 'nobody', -1 * DAY + n))
    await Promise.all(noise)
    expect(await decide(client, { sessionId })).toEqual([mara.id, 'CLICK_MATCH'])
    await setTouch('FIRST')
    const found = await decide(client, { sessionId })
    await setDays(client, 0)
    const without = await decide(client, { sessionId })
    await setDays(client, 30)
    await setTouch('LAST')
    expect([found, without]).toEqual([
      [nisa.id, 'CLICK_MATCH'],
      [null, 'NO_MATCH'],
    ])
  })
})

describe('the cookie of a program', () => {
  test('is exact to the millisecond', async ({ server, client }) => {
    await setDays(client, 7)
    const [on, before] = [await click(server, nisa.id, -7 * DAY), await click(server, nisa.id, -7 * DAY - 1)]
    expect(await decide(client, { clickId: on.id })).toEqual([nisa.id, 'CLICK_MATCH'])
    expect(await decide(client, { clickId: before.id })).toEqual([null, 'CLICK_EXPIRED'])
    await setDays(client, 30)
  })

  test('of 0 days rejects clicks and refs, not coupons', async ({ server, client }) => {
    await setDays(client, 0)
    const { id } = await click(server, nisa.id, 0)
    expect(await decide(client, { clickId: id })).toEqual([null, 'CLICK_EXPIRED'])
    expect(await decide(client, { ref: nisa.id })).toEqual([null, 'NO_MATCH'])
    const order = { externalOrderId: `o-${++count}`, amountCents: 100, couponCode: 'NISA', clickId: id }
    expect((await client.events.conversion(order)).attribution.affiliateId).toBe(nisa.id)
    await setDays(client, 30)
  })
})
