// Full: it sends generated requests to every operation.
// SQLite only: this measures how requests are read, not how they are stored.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { convert } from '../support/shop.ts'
import { heavyRequests, manyNames, stallOf, turnsOf } from './heavy.ts'
import { heavyNotifications } from './heavy-store.ts'
import { type FuzzWorld, fuzzWorld } from './world.ts'

/** 50 ms is what is promised, and measured in test/long; this machine may be busy. */
const MS = 400

test('no request blocks the others, however large and nested it is', async () => {
  const world = await fuzzWorld()
  const slow: string[] = []
  for (const heavy of heavyRequests(world)) {
    const { ms, status } = await stallOf(world, heavy, { tries: 6, enough: MS })
    if (ms > MS || status >= 500) slow.push(`${heavy.name}: ${status} after ${Math.round(ms)} ms`)
  }
  await world.server.close()
  expect(slow).toEqual([])
})

test('a long list of invalid items takes no longer than one of valid items', async () => {
  const world = await fuzzWorld()
  const stall = (item: string) => {
    const body = `{"events":[${`${item},`.repeat(64_000)}${item}]}`
    return stallOf(world, { name: item, method: 'POST', path: '/api/v1/webhooks', body }, { tries: 8 })
  }
  const [right, wrong] = [await stall('"a"'), await stall('null')]
  await world.server.close()
  console.log(`right ${right.ms.toFixed(1)} ms, wrong ${wrong.ms.toFixed(1)} ms`)
  expect([right.status, wrong.status]).toEqual([400, 400])
  // A message for each of them took eight times as long.
  expect(wrong.ms).toBeLessThan(right.ms + 15)
})

describe('other requests are served between many parallel large ones', () => {
  const MANY = 32
  let world: FuzzWorld
  beforeAll(async () => {
    world = await fuzzWorld()
  })
  afterAll(() => world.server.close())

  test('store orders, one at a time', async () => {
    const order = heavyNotifications(world).find(({ name }) => name === 'orders-paid with 1,000 lines')!
    const send = () => stallOf(world, order, { tries: 1 })
    const [one, all] = [await turnsOf(send), await turnsOf(() => Promise.all(Array.from({ length: MANY }, send)))]
    // Read in parallel, all of them took as many iterations as one.
    expect(all).toBeGreaterThan((MANY * one) / 4)
  })

  test('conversions of many different names, one at a time', async () => {
    let sent = 0
    const send = async () => {
      const raw = `{"externalOrderId":"names-${++sent}","amountCents":1,"x":${manyNames(`n${sent}_`)}}`
      const headers = { 'Idempotency-Key': `names-${sent}` }
      const reply = await world.server.request('POST', '/api/v1/events', { raw, headers })
      expect(reply.status).toBe(201)
    }
    const one = await turnsOf(send)
    const all = await turnsOf(() => Promise.all(Array.from({ length: 8 }, send)))
    expect(all).toBeGreaterThan((8 * one) / 4)
  })

  test('conversions, within the transaction that they share', async () => {
    const lineItems = Array.from({ length: 1000 }, (_, i) => ({
      productId: `${i}`,
      variantId: `${i}`,
      priceCents: 999,
    }))
    let ids = 0
    const send = () => convert(world.server, { externalOrderId: `many-${++ids}`, couponCode: 'NISA16', lineItems })
    await send()
    const all = await turnsOf(() => Promise.all(Array.from({ length: MANY }, send)))
    // Without yielding it is one.
    expect(all).toBeGreaterThan(2)
  })
})
