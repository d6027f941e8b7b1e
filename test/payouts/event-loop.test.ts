// Full: it interrupts every step of large batches.
// SQLite only: PostgreSQL runs in its own process and does not block the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'vitest'
import { rejectWrites } from '../support/faults.ts'
import { insertRows, rowsOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { affiliateRow, commissionRow, OCTOBER } from './rows.ts'

const COMMISSIONS = 4000
const DEBTS = 500

test.beforeAll(async ({ server }) => {
  const affiliates = Array.from({ length: DEBTS + 100 }, () => affiliateRow(server))
  insertRows(server, 'affiliates', affiliates)
  const rows = Array.from({ length: COMMISSIONS }, (_, i) => {
    const { id } = affiliates[i < DEBTS ? i : DEBTS + (i % 100)]!
    return commissionRow(server, { affiliateId: id, commissionAmountCents: i < DEBTS ? -480 : 1000 })
  })
  insertRows(server, 'commissions', rows)
})

/** The result, and how many other requests were answered before it. */
async function countOthers<T>(server: TestServer, pending: Promise<T>): Promise<{ result: T; others: number }> {
  let others = 0
  let isOver = false
  const over = pending.finally(() => {
    isOver = true
  })
  while (!isOver) {
    await nextTurn()
    if (!isOver && (await server.app.request('/healthz')).status === 200) others++
  }
  return { result: await over, others }
}

const statuses = (server: TestServer) => {
  const byStatus = Map.groupBy(rowsOf(server, 'commissions'), ({ orderStatus }) => orderStatus)
  return Object.fromEntries([...byStatus].map(([status, rows]) => [status, rows.length]))
}

test('503 when a row cannot be written: the next request completes the batch', async ({ server, client, owner }) => {
  const { id } = rowsOf(server, 'commissions').at(-1)!
  const allowWrites = rejectWrites(server, 'update', 'commissions', { id })
  const { error } = await client.payouts.create(OCTOBER).safe()
  allowWrites()
  expect(error?.code).toBe('storage_unavailable')
  expect(statuses(server)).toEqual({ APPROVED: COMMISSIONS })
  const [batch] = (await client.payouts.list()).data
  expect(batch).toMatchObject({ status: 'PROCESSING', progress: { movedCommissions: 0 } })
  await expectOk(owner('POST', `/payouts/${batch!.id}/cancel`))
})

test('other requests are served while a large batch is created, canceled and paid', async ({
  server,
  client,
  owner,
}) => {
  const first = await countOthers(server, client.payouts.create(OCTOBER))
  expect(first.result.totals).toMatchObject({
    commissions: COMMISSIONS + DEBTS,
    netPayableCents: (COMMISSIONS - DEBTS) * 1000,
  })
  expect(first.others).toBeGreaterThan(10)
  const canceled = await countOthers(server, expectOk(owner('POST', `/payouts/${first.result.id}/cancel`)))
  expect(canceled.others).toBeGreaterThan(10)
  const second = await countOthers(server, client.payouts.create(OCTOBER))
  expect(second.result.totals).toEqual(first.result.totals)
  const paid = await countOthers(server, client.payouts.pay(second.result.id))
  expect(paid.others).toBeGreaterThan(10)
  // Two canceled batches had carried each debt forward.
  expect(statuses(server)).toEqual({ APPROVED: DEBTS, CANCELED: 4 * DEBTS, PAID: COMMISSIONS + DEBTS })
})
