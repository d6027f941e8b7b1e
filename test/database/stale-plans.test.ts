// PostgreSQL only: SQLite prepares a statement again when its table has changed.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { addColumns } from '../support/inspect.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
  await withAffiliate(server)
})
afterAll(() => server.close())

const callers = Array.from({ length: 32 }, (_, i) => i)
const order = (i: number, round: string) =>
  convert(server, { externalOrderId: `${round}-${i}`, amountCents: 1000, couponCode: 'NISA16' })
const list = () => server.request('GET', '/api/v1/affiliates')

test('requests succeed after a migration changed the columns of statements that every connection has prepared', async () => {
  await Promise.all(callers.flatMap((i) => [order(i, 'before'), list()]))
  addColumns(server, 'added', 'x')
  const replies = await Promise.all(callers.flatMap((i) => [order(i, 'after'), list()]))
  expect(replies.filter(({ status }) => status >= 300)).toEqual([])
})
