// Full: it measures other requests beside hostile ones.
// SQLite only: this tests how requests are read and responses are sent.
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { turnsOf } from '../fuzz/heavy.ts'
import { storeOf } from '../stores/fixture.ts'
import { admin, fillRules, type OwnerServer, ownerServer } from '../support/owner.ts'
import { testServer } from '../support/server.ts'
import { convert, expectOk } from '../support/shop.ts'

const MIB = 1024 * 1024
const CHUNK_BYTES = 64 * 1024

let server: OwnerServer
beforeAll(async () => {
  server = await ownerServer()
})
afterAll(() => server.close())

test('a page of 100 geo rules of 2,000 places is read in slices', async () => {
  fillRules(server, { shopId: server.shop.shopId, programId: '' }, 100).geo()
  const places = JSON.stringify(Array.from({ length: 500 }, (_, i) => `${i}`.padEnd(100, 'x')))
  server.sql
    .prepare('update "geoRules" set "countries" = ?, "states" = ?, "cities" = ?, "postalPrefixes" = ?')
    .run(places, places, places, places)
  let length = 0
  const read = async () => {
    const { data } = (await admin(server, 'GET', '/geo-rules?limit=100')).body
    length = data.length
  }
  // One turn for each rule.
  expect(await turnsOf(read)).toBeGreaterThan(90)
  expect(length).toBe(100)
})

test('the lines of a conversion are validated in slices', async () => {
  const lineItems = Array.from({ length: 1000 }, (_, i) => ({ productId: `${i}`, priceCents: 1 }))
  const order = (id: string) => ({ externalOrderId: id, couponCode: 'NISA16', lineItems })
  await expectOk(convert(server, order('first')))
  // Parsing takes fewer than five turns.
  expect(await turnsOf(() => expectOk(convert(server, order('second'))))).toBeGreaterThan(15)
})

test('a notification of 4 MiB is hashed while it arrives', async () => {
  const store = await storeOf(await testServer())
  const body = Buffer.alloc(4 * MIB, ' ')
  let at = 0
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (at >= body.length) return controller.close()
      controller.enqueue(body.subarray(at, at + CHUNK_BYTES))
      at += CHUNK_BYTES
    },
  })
  const headers = { ...store.headersOf('orders-paid', 'another body'), 'Content-Length': String(body.length) }
  const sent = { method: 'POST', headers, body: stream, duplex: 'half' } as RequestInit
  const update = vi.spyOn(Object.getPrototypeOf(createHmac('sha256', 'any')), 'update')
  const response = await store.server.app.fetch(new Request(`http://test${store.pathOf('orders-paid')}`, sent))
  const hashed = update.mock.calls.map(([bytes]) => (bytes as Uint8Array).length)
  update.mockRestore()
  await store.server.close()
  expect([response.status, response.headers.get('X-Error-Code')]).toEqual([401, 'store_signature_invalid'])
  expect(hashed.reduce((sum, length) => sum + length, 0)).toBeGreaterThanOrEqual(body.length)
  // Hashing all of it at once takes several milliseconds.
  expect(Math.max(...hashed)).toBeLessThanOrEqual(CHUNK_BYTES)
})
