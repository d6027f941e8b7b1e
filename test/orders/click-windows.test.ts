import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestServer, testServer } from '../support/server.ts'
import { newAffiliate, withAffiliate } from '../support/shop.ts'

const DAY = 86_400_000

let server: TestServer
let client: TestServer['client']
let nisa: { id: string; campaignId: string }
let mara: { id: string }
beforeAll(async () => {
  server = await testServer()
  client = server.client
  nisa = (await withAffiliate(server, { code: 'NISA' })).affiliate
  mara = await newAffiliate(server, { name: 'Mara Lind' })
})
afterAll(() => server.close())

let count = 0
let sessionId: string
beforeEach(() => {
  sessionId = `s-${++count}`
})

/** An instant before or after the order, which is placed now. */
const at = (ms: number) => new Date(server.clock.ms + ms).toISOString()
const click = (ref: string, ms: number, more: { clickId?: string } = {}) =>
  client.events.click({ ref, sessionId, occurredAt: at(ms), ...more })
async function decide(evidence: { clickId?: string; sessionId?: string; ref?: string; occurredAt?: string }) {
  const externalOrderId = `o-${++count}`
  const { attribution } = await client.events.conversion({ externalOrderId, amountCents: 10_000, ...evidence })
  return [attribution.affiliateId, attribution.reasonCode]
}
const setDays = (cookieDurationDays: number) => client.programs.update(nisa.campaignId, { cookieDurationDays })

describe('a click by its id', () => {
  test('counts exactly 30 days before the order, not a millisecond earlier', async () => {
    const [on, before] = [await click(nisa.id, -30 * DAY), await click(nisa.id, -30 * DAY - 1)]
    expect(await decide({ clickId: on.id })).toEqual([nisa.id, 'CLICK_MATCH'])
    expect(await decide({ clickId: before.id })).toEqual([null, 'CLICK_EXPIRED'])
  })

  test('counts exactly 5 minutes after the order, not a millisecond later', async () => {
    const placed = at(-DAY)
    const [on, after] = [await click(nisa.id, -DAY + 300_000), await click(nisa.id, -DAY + 300_001)]
    expect(await decide({ clickId: on.id, occurredAt: placed })).toEqual([nisa.id, 'CLICK_MATCH'])
    expect(await decide({ clickId: after.id, occurredAt: placed })).toEqual([null, 'CLICK_AFTER_ORDER'])
  })

  test('is judged by the time of the order, not of the report', async () => {
    const { id } = await click(nisa.id, -40 * DAY)
    expect(await decide({ clickId: id, occurredAt: at(-15 * DAY) })).toEqual([nisa.id, 'CLICK_MATCH'])
    expect(await decide({ clickId: id })).toEqual([null, 'CLICK_EXPIRED'])
  })

  test('leaves it to the ref when it has expired', async () => {
    const { id } = await click(nisa.id, -31 * DAY)
    expect(await decide({ clickId: id, ref: mara.id })).toEqual([mara.id, 'REF_MATCH'])
  })

  test('counts though the same id was clicked again after the order', async () => {
    await click(nisa.id, -9 * DAY, { clickId: 'kept-in-a-cookie' })
    await click(nisa.id, -1 * DAY, { clickId: 'kept-in-a-cookie' })
    expect(await decide({ clickId: 'kept-in-a-cookie', occurredAt: at(-8 * DAY) })).toEqual([nisa.id, 'CLICK_MATCH'])
  })
})

describe('the clicks of a session', () => {
  test('the last one wins', async () => {
    await click(mara.id, -2 * DAY)
    await click(nisa.id, -1 * DAY)
    await click(mara.id, -3 * DAY)
    expect(await decide({ sessionId })).toEqual([nisa.id, 'CLICK_MATCH'])
  })

  test('the first one wins when the shop says so', async () => {
    const set = server.sql.prepare('update shops set "clickTouch" = ? where id = ?')
    await click(mara.id, -1 * DAY)
    await click(nisa.id, -2 * DAY)
    set.run('FIRST', server.shop.shopId)
    const found = await decide({ sessionId })
    set.run('LAST', server.shop.shopId)
    expect(found).toEqual([nisa.id, 'CLICK_MATCH'])
  })

  test('one that has expired or came after the order leaves it to the others', async () => {
    await click(mara.id, -15 * DAY)
    await click(nisa.id, -5 * DAY)
    expect(await decide({ sessionId, occurredAt: at(-10 * DAY) })).toEqual([mara.id, 'CLICK_MATCH'])
    expect(await decide({ sessionId, occurredAt: at(-20 * DAY) })).toEqual([null, 'CLICK_AFTER_ORDER'])
    expect((await decide({ sessionId }))[0]).toBe(nisa.id)
  })

  test('one that nobody owns leaves it to the others', async () => {
    await click(nisa.id, -2 * DAY)
    await click('nobody', -1 * DAY)
    expect(await decide({ sessionId })).toEqual([nisa.id, 'CLICK_MATCH'])
  })

  test('however many there are, the first and the last that count are found', async () => {
    const set = server.sql.prepare('update shops set "clickTouch" = ? where id = ?')
    await click(mara.id, -31 * DAY)
    await click(nisa.id, -30 * DAY)
    await click(mara.id, -29 * DAY)
    const noise = Array.from({ length: 101 }, (_, n) => click('nobody', -1 * DAY + n))
    await Promise.all(noise)
    expect(await decide({ sessionId })).toEqual([mara.id, 'CLICK_MATCH'])
    set.run('FIRST', server.shop.shopId)
    const found = await decide({ sessionId })
    await setDays(0)
    const without = await decide({ sessionId })
    await setDays(30)
    set.run('LAST', server.shop.shopId)
    expect([found, without]).toEqual([
      [nisa.id, 'CLICK_MATCH'],
      [null, 'NO_MATCH'],
    ])
  })
})

describe('the cookie of a program', () => {
  test('is as long as the program says, to the millisecond', async () => {
    await setDays(7)
    const [on, before] = [await click(nisa.id, -7 * DAY), await click(nisa.id, -7 * DAY - 1)]
    expect(await decide({ clickId: on.id })).toEqual([nisa.id, 'CLICK_MATCH'])
    expect(await decide({ clickId: before.id })).toEqual([null, 'CLICK_EXPIRED'])
    await setDays(30)
  })

  test('of 0 days refuses clicks and refs, not coupons', async () => {
    await setDays(0)
    const { id } = await click(nisa.id, 0)
    expect(await decide({ clickId: id })).toEqual([null, 'CLICK_EXPIRED'])
    expect(await decide({ ref: nisa.id })).toEqual([null, 'NO_MATCH'])
    const order = { externalOrderId: `o-${++count}`, amountCents: 100, couponCode: 'NISA', clickId: id }
    expect((await client.events.conversion(order)).attribution.affiliateId).toBe(nisa.id)
    await setDays(30)
  })
})
