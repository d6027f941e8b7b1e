import { expect } from 'vitest'
import { rejectWrites } from '../support/faults.ts'
import { updateRows } from '../support/inspect.ts'
import { rejection } from '../support/rejection.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { addAffiliate, addCommission, commissionsOf, OCTOBER } from './rows.ts'

let batchId: string
test.beforeEach(async ({ server, client }) => {
  addCommission(server, { affiliateId: addAffiliate(server) })
  batchId = (await client.payouts.create(OCTOBER)).id
})

test('409 when the batch is FAILED and still has commissions', async ({ server, client }) => {
  updateRows(server, 'payoutBatches', { status: 'FAILED' }, { id: batchId })
  expect(await rejection(client.payouts.pay(batchId))).toEqual([409, 'payout_not_payable'])
  expect(await commissionsOf(client)).toMatchObject([{ orderStatus: 'PAYABLE' }])
})

test.for([
  ['audits', 'audit_unavailable'],
  ['commissions', 'storage_unavailable'],
] as const)('503 and nothing changed when %s cannot be written', async ([table, code], { server, client }) => {
  const state = async () => [await commissionsOf(client), (await client.payouts.list()).data]
  const before = await state()
  const allowWrites = rejectWrites(server, table === 'audits' ? 'insert' : 'update', table)
  expect(await rejection(client.payouts.pay(batchId))).toEqual([503, code])
  allowWrites()
  expect(await state()).toEqual(before)
  expect((await client.payouts.pay(batchId)).ok).toBe(true)
})
