import { expect } from 'vitest'
import { Till } from '../commissions/money.ts'
import { auditLog, outbox, subscribe } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk } from '../support/shop.ts'
import { testWithNewShop as test } from '../support/test.ts'

/** An order of 90.00 at 16% and its refunds, as audit and explanation show them. */
async function useOrders(server: TestServer) {
  const till = new Till(server)
  await till.affiliate()
  subscribe(server)
  const refund = (externalRefundId: string, body: object) =>
    expectOk(server.request('POST', '/api/v1/refunds', { body: { externalOrderId: 'o', externalRefundId, ...body } }))
  return {
    events: outbox(server),
    audits: auditLog(server),
    order: () => expectOk(convert(server, { externalOrderId: 'o', amountCents: 9000, couponCode: 'NISA16' })),
    refund,
    cancelRefund: (externalRefundId: string) =>
      expectOk(server.request('DELETE', `/api/v1/refunds?externalOrderId=o&externalRefundId=${externalRefundId}`)),
    explain: () => expectOk(till.admin('GET', '/orders/o/explanation')),
  }
}

test('refunds before their order: one event with the original decision, and an audit record for each', async ({
  server,
}) => {
  const { events, audits, order, refund, explain } = await useOrders(server)
  await refund('r-1', { amountCents: 3000 })
  await refund('r-2', { amountCents: 20_000 })
  await order()
  expect(events().map(({ event, data }) => [event, data.commissionAmountCents])).toEqual([['commission.created', 1440]])
  expect(audits().map(({ action }) => action)).toEqual([
    'commission.created',
    'commission.refunded',
    'commission.refunded',
  ])
  const { refunds, notices, arithmetic } = await explain()
  expect(refunds.map((one: { goodsCents: number }) => one.goodsCents)).toEqual([3000, 6000])
  expect(notices).toMatchObject([{ applied: true }, { applied: true }])
  expect(arithmetic.at(-1)).toMatchObject({ step: 'now', cents: 0 })
})

test.for(['before', 'after'])(
  'an unknown line item of a refund %s its order is in explanation and audit',
  async (when, { server }) => {
    const { audits, order, refund, explain } = await useOrders(server)
    const lineItems = [{ id: 'li9', quantity: 1 }]
    if (when === 'after') await order()
    await refund('r-1', { lineItems })
    if (when === 'before') await order()
    expect(audits().at(-1)).toMatchObject({ action: 'commission.refunded', data: { warning: 'refund_item_unknown' } })
    const { arithmetic } = await explain()
    const lines = arithmetic.filter(({ step }: { step: string }) => step === 'refund')
    expect(lines).toEqual([expect.objectContaining({ cents: 0, text: expect.stringContaining('line item') })])
  },
)

test('a refund in another currency before its order is skipped, with an audit record', async ({ server }) => {
  const { audits, order, refund, explain } = await useOrders(server)
  await refund('r-1', { amountCents: 3000, currency: 'EUR' })
  await order()
  expect(audits()).toMatchObject([
    { action: 'commission.created' },
    { action: 'refund.skipped', data: { externalRefundId: 'r-1', reason: 'currency_mismatch' } },
  ])
  expect((await explain()).notices).toMatchObject([{ externalRefundId: 'r-1', applied: false }])
})

test('a canceled refund is a refund in audit and events, with the opposite amounts', async ({ server }) => {
  const { events, audits, order, refund, cancelRefund, explain } = await useOrders(server)
  const body = { url: 'https://hooks.example.com/', extendedEvents: true }
  await expectOk(server.request('POST', '/api/v1/webhooks', { body }))
  await order()
  await refund('re-1', { amountCents: 9000 })
  await refund('re-2', { amountCents: 3000 })
  await cancelRefund('re-1')
  const entry = { externalRefundId: 're-1:canceled', goodsCents: -6000, commissionCents: 960 }
  expect(audits().at(-1)).toMatchObject({ action: 'commission.refunded', data: { ...entry, status: 'APPROVED' } })
  expect(events().at(-1)).toMatchObject({
    event: 'commission.refunded',
    data: { orderStatus: 'APPROVED', previousStatus: 'REFUNDED', refund: entry },
  })
  expect((await explain()).arithmetic.at(-1)).toMatchObject({ step: 'now', cents: 960 })
})
