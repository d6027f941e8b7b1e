import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Transport } from '../../server/src/domains/webhooks/delivery/transport.ts'
import { updateRows } from '../support/inspect.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

/** The paths of the deliveries in flight to receivers that do not respond. */
const inFlight: string[] = []

let fixture: Fixture
beforeEach(async () => {
  inFlight.length = 0
  fixture = await webhookFixture()
})
afterEach(() => fixture.close())

const transport: Transport = {
  post: ({ path }) => {
    inFlight.push(path)
    return new Promise(() => {})
  },
  close: async () => {},
}

/** A new shop with subscriptions; the first part of each path is its name. */
async function shopWith(name: string, subscriptions: number, maxInFlight: number) {
  const shop = await fixture.createShop()
  for (let n = 0; n < subscriptions; n++) {
    const id = fixture.plant(fixture.receiver.at(`/${name}/${n}`), { shopId: shop.shopId })
    updateRows(fixture, 'subscriptions', { maxInFlight }, { id })
  }
  return shop
}

const testEvents = async ({ key }: { key: string }, count: number) => {
  const body = { url: 'https://hooks.example.com/' }
  for (let n = 0; n < count; n++) await fixture.request('POST', '/api/v1/webhooks?test=1', { body, key })
}

/** How many deliveries of each shop are in flight. */
const byShop = () =>
  Object.fromEntries(
    [...Map.groupBy(inFlight, (path) => path.split('/')[1] ?? '')].map(([name, paths]) => [name, paths.length]),
  )

/** Sends until this is in flight, and once more. */
async function send(isReached: () => boolean): Promise<Record<string, number>> {
  const sender = await fixture.send({ transport })
  await until(isReached)
  await sender.drain(50)
  return byShop()
}

test.each([
  ['a new subscription', 1, 2, 2],
  ['one that responds', 1, 16, 16],
  ['one whose last response was not complete', 1, 1, 1],
  ['100 new ones of a shop', 100, 2, 128],
  ['100 of a shop that respond', 100, 16, 128],
  ['100 of a shop without a complete response', 100, 1, 8],
])('deliveries in flight to %s', async (_, subscriptions, maxInFlight, expected) => {
  await testEvents(await shopWith('a', subscriptions, maxInFlight), 20)
  expect(await send(() => inFlight.length >= expected)).toEqual({ a: expected })
  // They take turns.
  const paths = Map.groupBy(inFlight, (path) => path)
  expect(Math.max(...[...paths.values()].map(({ length }) => length))).toBe(Math.ceil(expected / subscriptions))
})

test('subscriptions without a complete response leave the places of their shop to the others', async () => {
  const shop = await shopWith('a', 50, 1)
  fixture.plant(fixture.receiver.at('/fine/1'), { shopId: shop.shopId })
  await testEvents(shop, 3)
  expect(await send(() => inFlight.length >= 10)).toEqual({ a: 8, fine: 2 })
})

test('shops take turns for 192 places, and 64 more are for shops that have none in flight', async () => {
  for (const name of ['a', 'b', 'c', 'd']) await testEvents(await shopWith(name, 40, 16), 3)
  expect(await send(() => inFlight.length >= 192)).toEqual({ a: 48, b: 48, c: 48, d: 48 })
  for (let n = 0; n < 70; n++) await testEvents(await shopWith(`small${n}`, 1, 2), 1)
  inFlight.length = 0
  await send(() => Object.keys(byShop()).length === 4 + 70)
  expect(inFlight.length).toBeLessThanOrEqual(256)
})
