import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let at: Fixture
beforeEach(async () => {
  at = await webhookFixture()
})
afterEach(() => at.close())

const sentTo = (shopId: string) => at.deliveries(`"status" = 'SENT' and "shopId" = '${shopId}'`).length
const ended = (where: string) => at.deliveries(`"finishedAt" is not null and ${where}`).length
const testEvents = async (count: number, key: string) => {
  for (let i = 0; i < count; i++) {
    const body = { url: 'https://hooks.example.com/' }
    expect((await at.request('POST', '/api/v1/webhooks?test=1', { body, key })).status).toBe(200)
  }
}
/** A shop with so many subscriptions to a path, and events waiting for all of them. */
async function attacker(path: string, count = 100) {
  const shop = await at.createShop()
  for (let i = 0; i < count; i++) at.plant(at.receiver.at(`${path}/${i}`), { shopId: shop.shopId })
  await testEvents(3, shop.key)
  return shop
}

test.each([
  ['no answer', '/hang'],
  ['headers and a body that never ends', '/open'],
  ['one byte after the other', '/body/1'],
  ['informational responses without end', '/informational/100000'],
  ['a chunk extension without end', '/extensions/100000'],
  ['a body without end', '/body/100000'],
])('100 subscriptions of one shop get %s: those of another shop get theirs at once', async (_, path) => {
  const other = await attacker(path)
  at.plant(at.receiver.at('/ok'))
  await at.send()
  for (let n = 1; n <= 10; n++) {
    await at.test()
    await until(() => at.receiver.to('/ok').length === n)
  }
  await until(() => sentTo(at.shop.shopId) === 10)
  // None of theirs had to take all its time for that.
  expect(ended(`"shopId" = '${other.shopId}' and "durationMs" > 5000`)).toBe(0)
})

test('a shop has at most 64 deliveries in flight to one host, however many subscriptions name it', async () => {
  await attacker('/hang')
  await at.send()
  await until(() => at.receiver.received.length >= 64)
  await new Promise((done) => setTimeout(done, 500))
  expect(at.receiver.received).toHaveLength(64)
})

test('a subscription that is added to a shop whose others hang gets its events at once', async () => {
  const other = await attacker('/hang', 99)
  await at.send({ totalMs: 1000 })
  await until(() => ended(`"code" = 'timeout'`) >= 128)
  at.plant(at.receiver.at('/ok'), { shopId: other.shopId })
  const before = ended('true')
  await testEvents(3, other.key)
  await until(() => at.receiver.to('/ok').length === 3)
  // 8 at a time hang now.
  expect(ended('true') - before).toBeLessThan(40)
})

test('shops that share a host get their turns there while one of them has a receiver that hangs', async () => {
  await attacker('/hang')
  const shops = [at.shop, await at.createShop(), await at.createShop(), await at.createShop()]
  for (const [n, { shopId }] of shops.entries()) at.plant(at.receiver.at(`/ok/${n}`), { shopId })
  await at.send()
  await Promise.all(shops.map(({ key }) => testEvents(10, key)))
  await until(() => shops.every(({ shopId }) => sentTo(shopId) === 10))
  expect(ended(`"code" = 'timeout'`)).toBe(0)
})

test('more shops than one look at the outbox sees are all served', async () => {
  const shops = await Promise.all(Array.from({ length: 70 }, () => at.createShop()))
  for (const [n, { shopId }] of shops.entries()) at.plant(at.receiver.at(`/ok/${n}`), { shopId })
  for (const { key } of shops) await testEvents(1, key)
  await at.send()
  await until(() => at.deliveries(`"status" = 'SENT'`).length === 70)
})

test('more subscriptions than one look at a shop sees are all served', async () => {
  for (let n = 0; n < 300; n++) at.plant(at.receiver.at(`/ok/${n}`))
  await at.test()
  await at.test()
  await at.send()
  await until(() => at.deliveries(`"status" = 'SENT'`).length === 600)
})
