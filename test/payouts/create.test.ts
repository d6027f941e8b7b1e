import { describe, expect } from 'vitest'
import { rejectWrites } from '../support/faults.ts'
import { rejection } from '../support/rejection.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { addAffiliate, addCommission, commissionsOf, OCTOBER } from './rows.ts'

let nisa: string

test.beforeEach(({ server }) => {
  nisa = addAffiliate(server)
})

describe('selected commissions', () => {
  test.for(['APPROVED', 'ACCEPTED', 'PAYABLE'] as const)('%s', async (orderStatus, { server, client }) => {
    addCommission(server, { affiliateId: nisa, orderStatus })
    expect((await client.payouts.create(OCTOBER)).totals.commissions).toBe(1)
  })

  test.for(['REJECTED', 'PENDING', 'PAID', 'REVERSED', 'CANCELED', 'REFUNDED'] as const)(
    '404 when there is only %s',
    async (orderStatus, { server, client }) => {
      addCommission(server, { affiliateId: nisa, orderStatus })
      expect(await rejection(client.payouts.create(OCTOBER))).toEqual([404, 'no_eligible_commissions'])
    },
  )
})

test('503 and nothing changed when the audit cannot be written', async ({ server, client }) => {
  addCommission(server, { affiliateId: nisa })
  const before = await commissionsOf(client)
  const allowWrites = rejectWrites(server, 'insert', 'audits')
  expect(await rejection(client.payouts.create(OCTOBER))).toEqual([503, 'audit_unavailable'])
  allowWrites()
  expect(await commissionsOf(client)).toEqual(before)
  expect((await client.payouts.create(OCTOBER)).totals.commissions).toBe(1)
})
