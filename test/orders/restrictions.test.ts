import { expect } from 'vitest'
import { auditLog, outbox, subscribe } from '../support/inspect.ts'
import { withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

test('a restricted order writes one event and one audit record', async ({ server, client }) => {
  const { program, affiliate } = await withAffiliate(server)
  await client.affiliates.update(affiliate.id, { status: 'PENDING' })
  subscribe(server)
  const [events, audits] = [outbox(server), auditLog(server)]
  const order = { externalOrderId: 'o', amountCents: 10_000, discountCents: 1000, couponCode: 'NISA16' }
  const { attribution, commission } = await client.events.conversion(order)
  const row = (await client.commissions.list({ status: 'REJECTED' })).data[0]
  expect(row).toMatchObject({
    id: commission.id,
    programId: program.id,
    commissionBaseCents: 9000,
    commissionRateBps: 1600,
    commissionAmountCents: 0,
    taxWithheldCents: 0,
    restrictionReasonCode: 'AFFILIATE_NOT_APPROVED',
  })
  expect(events()).toMatchObject([{ event: 'commission.created', data: { ...row, attribution } }])
  expect(audits()).toMatchObject([
    { action: 'commission.created', subjectId: commission.id, data: { status: 'REJECTED', amountCents: 0 } },
  ])
})
