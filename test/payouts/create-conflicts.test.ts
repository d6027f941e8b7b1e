import { describe, expect } from 'vitest'
import { updateRows } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type Owner, testWithNewShop as test } from '../support/test.ts'
import { addAffiliate, addCommission, dollars, OCTOBER } from './rows.ts'

let nisa: string

test.beforeEach(({ server }) => {
  nisa = addAffiliate(server)
})

/** The legacy setting can no longer be sent. */
const setLegacyMinimum = (server: TestServer, legacyMinimumPayout: string | null) =>
  updateRows(server, 'shops', { legacyMinimumPayout }, { id: server.shop.shopId })
const setMinimum = (owner: Owner, minimumPayoutCents: number | null) =>
  expectOk(owner('PATCH', '/settings', { minimumPayoutCents }))

describe('409', () => {
  test.for([
    [5000, 0, 4999, false],
    [5000, 0, 5000, true],
    [null, 5000, 4999, false],
    [0, 5000, 1, true],
    [4000, 5000, 4000, true],
  ])(
    'shop minimum %j, server minimum %i: a batch of %i cents: created = %j',
    async ([shop, usual, cents, expected], { server, client, owner }) => {
      addCommission(server, { affiliateId: nisa, commissionAmountCents: cents + 7, taxWithheldCents: 7 })
      await setMinimum(owner, shop)
      server.deps.config.minimumPayoutCents = usual
      const { data, error } = await client.payouts.create(OCTOBER).safe()
      server.deps.config.minimumPayoutCents = 0
      if (expected) expect(data?.minimumPayoutCents).toBe(shop ?? usual)
      else
        expect(error).toMatchObject({
          code: 'payout_below_threshold',
          message: expect.stringMatching(new RegExp(` ${dollars(cents)} .* ${dollars(shop ?? usual)}`)),
        })
    },
  )

  test.for([
    [1000, '10', undefined],
    [1050, '10.50', undefined],
    [null, '0.00', undefined],
    [1000, '10.01', 'payout_threshold_needs_reconciliation'],
    [null, '50', 'payout_threshold_needs_reconciliation'],
    [1000, 'ten', 'payout_threshold_needs_reconciliation'],
  ])(
    'a minimum of %j with the legacy setting %s has the result %s',
    async ([cents, legacy, code], { server, client, owner }) => {
      addCommission(server, { affiliateId: nisa, commissionAmountCents: 100_000 })
      await setMinimum(owner, cents)
      setLegacyMinimum(server, legacy)
      const { error } = await client.payouts.create(OCTOBER).safe()
      expect(error?.code).toBe(code)
      if (code) for (const minimum of [`${legacy}`, dollars(cents ?? 0)]) expect(error?.message).toContain(minimum)
    },
  )
})
