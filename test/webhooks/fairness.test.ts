// Full: it waits for receivers that hang or fail.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
})
afterEach(() => fixture.close())

const sentTo = (shopId: string) => fixture.deliveries({ status: 'SENT', shopId }).length
const timeouts = () => fixture.deliveries({ code: 'timeout' }).length
const testEvents = async (count: number, key: string) => {
  for (let i = 0; i < count; i++) {
    const body = { url: 'https://hooks.example.com/' }
    expect((await fixture.request('POST', '/api/v1/webhooks?test=1', { body, key })).status).toBe(200)
  }
}
/** A shop with this many subscriptions to a path, and pending events for all of them. */
async function attacker(path: string, count = 100) {
  const shop = await fixture.createShop()
  for (let i = 0; i < count; i++) fixture.plant(fixture.receiver.at(`${path}/${i}`), { shopId: shop.shopId })
  await testEvents(3, shop.key)
  return shop
}

test.each([
  ['no answer', '/hang'],
  ['headers and a body that never ends', '/open'],
  ['one byte at a time', '/body/1'],
  ['informational responses without end', '/informational/100000'],
  ['a chunk extension without end', '/extensions/100000'],
  ['a body without end', '/body/100000'],
])('100 subscriptions of one shop get %s: those of another shop are served immediately', async (_, path) => {
  const other = await attacker(path)
  fixture.plant(fixture.receiver.at('/ok'))
  await fixture.send()
  for (let n = 1; n <= 10; n++) {
    await fixture.test()
    await until(() => fixture.receiver.to('/ok').length === n)
  }
  await until(() => sentTo(fixture.shop.shopId) === 10)
  // None of their deliveries had to time out for that.
  const slow = fixture.finished().filter((row) => row.shopId === other.shopId && row.durationMs! > 5000)
  expect(slow).toEqual([])
})

test('a subscription added to a shop whose others hang receives its events immediately', async () => {
  const other = await attacker('/hang', 99)
  await fixture.send({ totalMs: 1000 })
  await until(() => timeouts() >= 128)
  fixture.plant(fixture.receiver.at('/ok'), { shopId: other.shopId })
  const before = fixture.finished().length
  await testEvents(3, other.key)
  await until(() => fixture.receiver.to('/ok').length === 3)
  // 8 at a time hang now.
  expect(fixture.finished().length - before).toBeLessThan(40)
})

test('shops that share a host are served there while the receiver of one of them hangs', async () => {
  await attacker('/hang')
  const shops = [fixture.shop, await fixture.createShop(), await fixture.createShop(), await fixture.createShop()]
  for (const [n, { shopId }] of shops.entries()) fixture.plant(fixture.receiver.at(`/ok/${n}`), { shopId })
  await fixture.send()
  await Promise.all(shops.map(({ key }) => testEvents(10, key)))
  await until(() => shops.every(({ shopId }) => sentTo(shopId) === 10))
  expect(timeouts()).toBe(0)
})

test('more shops than fit in one outbox query are all served', async () => {
  const shops = await Promise.all(Array.from({ length: 70 }, () => fixture.createShop()))
  for (const [n, { shopId }] of shops.entries()) fixture.plant(fixture.receiver.at(`/ok/${n}`), { shopId })
  for (const { key } of shops) await testEvents(1, key)
  await fixture.send()
  await until(() => fixture.deliveries({ status: 'SENT' }).length === 70)
})

test('more subscriptions than fit in one query of a shop are all served', async () => {
  for (let n = 0; n < 300; n++) fixture.plant(fixture.receiver.at(`/ok/${n}`))
  await fixture.test()
  await fixture.test()
  await fixture.send()
  await until(() => fixture.deliveries({ status: 'SENT' }).length === 600)
})
