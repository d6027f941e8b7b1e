// Full: it sends ten thousand requests and compares clocks.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { expect } from 'vitest'
import { countOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { newAffiliate } from '../support/shop.ts'
import { openSite } from '../support/site.ts'
import { test as baseTest } from '../support/test.ts'

const test = baseTest.extend('options', { scope: 'file' }, { limited: true, config: { trustProxy: 1 } })

const FLOOD = 10_000
const AT_ONCE = 20

const click = (server: TestServer, ref: string, address: string) =>
  server.app.request(`/t/${server.shop.shopId}/click`, {
    method: 'POST',
    headers: { Origin: 'https://shop.example', 'X-Forwarded-For': address },
    body: JSON.stringify({ ref }),
  })

/** The median time of a click of other visitors, in milliseconds, until `isDone`. */
async function medianOf(server: TestServer, ref: string, isDone: (count: number) => boolean): Promise<number> {
  const times: number[] = []
  while (!isDone(times.length)) {
    const start = performance.now()
    expect((await click(server, ref, `198.51.100.${times.length % 250}`)).status).toBe(202)
    times.push(performance.now() - start)
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!
}

test(`${FLOOD} clicks from one address are counted 100 times, and slow no other shop`, async ({ server }) => {
  const { slug } = await newAffiliate(server)
  await openSite(server)
  const other = { ...server, ...server.asShop(await server.createShop()) }
  const { slug: ref } = await newAffiliate(other)
  await openSite(other)
  const alone = await medianOf(other, ref, (count) => count === 100)
  let sent = 0
  const worker = async () => {
    while (sent < FLOOD) {
      sent++
      // Requests arrive between turns of the event loop.
      await yieldToEventLoop()
      await click(server, slug, '203.0.113.1')
    }
  }
  const flood = Promise.all(Array.from({ length: AT_ONCE }, worker))
  const beside = await medianOf(other, ref, (count) => sent === FLOOD || count === 1000)
  await flood
  expect(countOf(server, 'journey', { shopId: server.shop.shopId })).toBe(100)
  // Each waits for the rejections that arrived before it.
  expect(beside, `${alone} ms without the flood`).toBeLessThan(20 * alone)
})
