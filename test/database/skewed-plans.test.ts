// SQLite only: PostgreSQL has statistics of values that are more frequent than others.
import { expect } from 'vitest'
import { overviewReport } from '../../server/src/domains/analytics/overview.ts'
import { movableSumsReport } from '../../server/src/domains/commissions/moderation-queries.ts'
import { commissionRow } from '../payouts/rows.ts'
import { databaseFile } from '../support/database.ts'
import { insertRows } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { openSqliteWork } from './plans/sqlite-work.ts'
import { watchStatements } from './plans/statements.ts'

const MANY = 500

/** The most rows that a statement of a report reads from a table. */
async function mostRowsOf(server: TestServer, table: string, report: () => Promise<unknown>): Promise<number> {
  const { seen } = watchStatements(server)
  await report()
  const work = openSqliteWork(databaseFile(server.url), new Map())
  const found = [...seen.values()].filter(({ sql }) => sql.includes(`from "${table}"`))
  const rows = found.map((statement) => work.workOf(statement).rows)
  work.close()
  expect(found.length).toBeGreaterThan(0)
  return Math.max(...rows)
}

const numbers = (length: number) => Array.from({ length }, (_, i) => i)

test('a bulk approval of an affiliate with many commissions reads those that await approval', async ({ server }) => {
  const affiliateId = 'aff_1'
  const statuses = ['PAID', 'APPROVED', 'REJECTED', 'CANCELED', 'REVERSED'] as const
  const paid = numbers(2 * MANY).map((i) =>
    commissionRow(server, { orderStatus: statuses[i % 5]!, affiliateId: i < MANY ? affiliateId : `other${i}` }),
  )
  insertRows(server, 'commissions', [...paid, commissionRow(server, { orderStatus: 'PENDING', affiliateId })])
  server.sql.exec('analyze')
  const query = { statuses: ['PENDING' as const], affiliateId }
  const read = () => movableSumsReport.run(server.db.read, { shopId: server.shop.shopId, query })
  expect(await read()).toMatchObject([{ commissions: 1 }])
  expect(await mostRowsOf(server, 'commissions', read)).toBeLessThan(10)
})

test('the charts of an affiliate with few clicks read only these', async ({ server }) => {
  const { shopId } = server.shop
  const at = new Date(server.clock.ms).toISOString()
  const click = { shopId, type: 'click', occurredAt: at, createdAt: at } as const
  insertRows(
    server,
    'journey',
    numbers(MANY).map((i) => ({ ...click, id: `jrn_${i}`, affiliateId: i < 3 ? 'few' : 'many' })),
  )
  server.sql.exec('analyze')
  const period = { before: at, from: at, to: at, timeZone: 'UTC' }
  const input = { shopId, query: { currency: 'USD', affiliateId: 'few', ...period } }
  const read = () => overviewReport.run(server.db.read, input)
  expect((await read()).clicks).toMatchObject([{ clicks: 3 }])
  expect(await mostRowsOf(server, 'journey', read)).toBeLessThan(10)
})
