import { expect } from 'vitest'
import { withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  await withAffiliate(server)
})

test('a refund takes the commission back; the same content again is replayed', async ({ client }) => {
  await client.events.conversion({ externalOrderId: 'o-1', amountCents: 10_000, couponCode: 'NISA16' })
  const refund = { externalOrderId: 'o-1', externalRefundId: 'r-1', amountCents: 2500 }
  const preview = await client.refunds.create(refund, { dryRun: true })
  expect(preview).toMatchObject({ dryRun: true, outcome: 'applied', commission: { amountCents: 1200 } })
  const first = await client.refunds.create(refund).withResponse()
  expect([first.response.status, first.idempotentReplayed]).toEqual([200, false])
  expect(first.data).toMatchObject({ dryRun: false, changed: true, refund: { commissionCents: -400 } })
  const again = await client.refunds.create({ ...refund }).withResponse()
  expect([again.data, again.idempotentReplayed]).toEqual([first.data, true])
  const other = await client.refunds.create({ ...refund, amountCents: 1 }).withResponse()
  expect([other.data.changed, other.idempotentReplayed]).toEqual([false, false])
})

test('a cancellation before its order is stored', async ({ client }) => {
  const early = await client.cancellations.create({ externalOrderId: 'o-2' }).withResponse()
  expect([early.response.status, early.data.outcome, early.data.commission]).toEqual([202, 'stored', null])
  await client.events.conversion({ externalOrderId: 'o-2', amountCents: 10_000, couponCode: 'NISA16' })
  const { outcome, commission, changed } = await client.cancellations.create(
    { externalOrderId: 'o-2' },
    { dryRun: true },
  )
  expect([outcome, commission?.status, changed]).toEqual(['applied', 'CANCELED', false])
})

test('a refund can be canceled, before or after its report', async ({ client }) => {
  await client.events.conversion({ externalOrderId: 'o-3', amountCents: 10_000, couponCode: 'NISA16' })
  const ids = { externalOrderId: 'o-3', externalRefundId: 'r-1' }
  await client.refunds.create({ ...ids, amountCents: 2500, occurredAt: '2026-10-28T09:30:00Z' })
  const canceled = await client.refunds.cancel(ids)
  expect(canceled).toMatchObject({ outcome: 'applied', changed: true, commissionCents: 400 })
  const early = await client.refunds.cancel({ ...ids, externalRefundId: 'r-2' }).withResponse()
  expect([early.response.status, early.data.outcome]).toEqual([202, 'stored'])
})

test('a refund needs its ids', ({ client }) => {
  // @ts-expect-error the refund id is missing
  void (() => client.refunds.create({ externalOrderId: 'o-1', amountCents: 1 }))
  // @ts-expect-error the order id is missing
  void (() => client.cancellations.create({}))
})
