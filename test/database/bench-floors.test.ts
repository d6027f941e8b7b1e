import { createHash } from 'node:crypto'
import { expect, onTestFinished, vi } from 'vitest'
import { COLUMNS } from '../bench/floor/list-columns.ts'
import { INSERTED } from '../bench/floor/order.ts'
import { engine } from '../support/database.ts'
import { document } from '../support/document.ts'
import { allTables, type Connection } from '../support/inspect.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

const orderOf = (externalOrderId: string) => ({
  type: 'conversion',
  externalOrderId,
  orderName: `#${externalOrderId}`,
  amountCents: 12_345,
  currency: 'USD',
  couponCode: 'NISA16',
  customerEmail: `${externalOrderId}@example.com`,
})

/** Without what differs between two equal orders: ids, times, hashes, and the number of the order. */
const comparable = (value: unknown) =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/\b([a-z]{3})_\w+/g, '$1')
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
      .replaceAll(/\b[0-9a-f]{64}\b/g, 'hash')
      .replaceAll(/order-\d/g, 'order')
      .replaceAll(/"seq":\d+/g, '"seq":0')
      .replaceAll(/"(\w+Hash|salt)":"[\w-]{20,22}"/g, '"$1":"$1"'),
  )

function rowsOf(server: Connection): Map<string, object[]> {
  return new Map(allTables(server).filter(([table]) => table in INSERTED) as [string, object[]][])
}

/** The rows of each table that are in the second state only. */
function added(before: Map<string, object[]>, after: Map<string, object[]>): Record<string, object[]> {
  const known = new Set([...before.values()].flat().map((row) => JSON.stringify(row)))
  const isNew = (row: object) => !known.has(JSON.stringify(row))
  return Object.fromEntries([...after].map(([table, rows]) => [table, rows.filter(isNew).map(comparable)]))
}

test('a floor of the benchmark answers an order and stores it as the server does', async ({ server }) => {
  await withAffiliate(server)
  await expectOk(server.request('POST', '/api/v1/webhooks', { body: { url: 'https://example.com/hook', events: [] } }))
  const before = rowsOf(server)
  const { status, body } = await convert(server, orderOf('order-1'), { idempotencyKey: 'order-1' })
  const byServer = rowsOf(server)

  vi.stubEnv('DATABASE_URL', server.url)
  const floor = await (engine === 'postgres'
    ? import('../bench/floor/postgres.ts')
    : import('../bench/floor/conversion.ts'))
  vi.unstubAllEnvs()
  onTestFinished(floor.close)
  const caller = await floor.findCaller(createHash('sha256').update(server.shop.key).digest('hex'))
  const answer = await floor.convert(caller!, 'order-2', orderOf('order-2'))

  expect(comparable(answer)).toEqual(comparable({ status, body }))
  expect(added(byServer, rowsOf(server))).toEqual(added(before, byServer))
})

test('the floor of lists selects the fields of a commission, in the order of the document', () => {
  const selected = [...COLUMNS.matchAll(/\w+/g)].map(([name]) => name)
  expect(selected).toEqual(Object.keys(document.components.schemas.Commission.properties))
})
