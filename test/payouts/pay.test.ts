import { describe, expect } from 'vitest'
import { rejectWrites } from '../support/faults.ts'
import { updateRows } from '../support/inspect.ts'
import { rejection } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type Client, testWithNewShop as test } from '../support/test.ts'
import { addAffiliate, addCommission, commissionsOf, dollars, OCTOBER, versionsOf } from './rows.ts'

let batch: Awaited<ReturnType<TestServer['client']['payouts']['create']>>

test.beforeEach(async ({ server, client }) => {
  const affiliateId = addAffiliate(server)
  addCommission(server, { affiliateId, taxWithheldCents: 100 })
  addCommission(server, { affiliateId, commissionAmountCents: 540 })
  batch = await client.payouts.create(OCTOBER)
  addCommission(server, { affiliateId, commissionAmountCents: 9 })
  server.clock.advance(1000)
})

/** A payment file in progress, and a batch that failed while it still holds commissions, take no request. */
const setBatch = (server: TestServer, status: 'PROCESSING' | 'FAILED') =>
  updateRows(server, 'payoutBatches', { status }, { id: batch.id })
const paid = async (client: Client) => (await client.commissions.list({ status: 'PAID' })).data

test('200 with the batch and all its commissions PAID, and nothing else', async ({ server, client, owner }) => {
  const reply = await client.payouts.pay(batch.id)
  expect(reply).toEqual({ ok: true, message: expect.stringContaining('paid'), id: batch.id })
  const now = new Date(server.clock.ms).toISOString()
  const [after] = (await client.payouts.list({ id: batch.id })).data
  expect(after).toEqual({ ...batch, status: 'PAID', paidAt: now, updatedAt: now })
  expect(await paid(client)).toHaveLength(2)
  for (const row of await paid(client))
    expect(row).toMatchObject({ payoutBatchId: batch.id, paidAt: now, updatedAt: now })
  expect(versionsOf(server).sort()).toEqual([1, 3, 3])
  const free = (await commissionsOf(client)).filter((row) => row.payoutBatchId === null)
  expect(free).toMatchObject([{ orderStatus: 'APPROVED', paidAt: null }])
  const [audit] = await expectOk(owner('GET', '/audit?action=payout.paid'))
  expect(audit).toMatchObject({ subjectId: batch.id, data: { netPayableCents: 1440 } })
})

test('200 when the expected total is the net payable', async ({ client }) => {
  expect((await client.payouts.pay(batch.id, { expectedTotalCents: 1440 })).ok).toBe(true)
})

describe('409', () => {
  const pay = (server: TestServer, query = '') =>
    server.request('PATCH', `/api/v1/payouts?id=${batch.id}&action=pay${query}`)

  test('when the batch is already PAID', async ({ server, client }) => {
    await client.payouts.pay(batch.id)
    const before = await commissionsOf(client)
    const reply = await pay(server)
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([409, 'payout_already_paid'])
    expect(await commissionsOf(client)).toEqual(before)
  })

  test('when the batch is FAILED', async ({ server, client }) => {
    setBatch(server, 'FAILED')
    expect((await pay(server)).headers.get('X-Error-Code')).toBe('payout_not_payable')
    expect(await paid(client)).toEqual([])
  })

  test.for([1439, 1540, 0, -1440])(
    'when %i cents are expected and the batch pays another total',
    async (cents, { server, client }) => {
      const reply = await pay(server, `&expectedTotalCents=${cents}`)
      expect(reply.headers.get('X-Error-Code')).toBe('payout_total_mismatch')
      expect(reply.body.error).toContain('14.40 USD')
      expect(reply.body.error).toContain(dollars(cents).replace('-', '−'))
      expect(await paid(client)).toEqual([])
    },
  )
})

test.for(['', '&action=cancel', '&action=PAY', '&action=pay&expectedTotalCents=1.5'])(
  '400 for %j',
  async (rest, { server }) => {
    const reply = await server.request('PATCH', `/api/v1/payouts?id=${batch.id}${rest}`)
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'invalid_parameter'])
  },
)

test('404 for a batch that does not exist, and for one of another shop', async ({ server, client }) => {
  expect(await rejection(client.payouts.pay('bat_none'))).toEqual([404, 'payout_not_found'])
  const stranger = server.clientOf((await server.createShop()).key)
  expect(await rejection(stranger.payouts.pay(batch.id))).toEqual([404, 'payout_not_found'])
  expect(await paid(client)).toEqual([])
})

test.for([
  ['audits', 'audit_unavailable'],
  ['commissions', 'storage_unavailable'],
] as const)('503 and nothing changed when %s cannot be written', async ([table, code], { server, client }) => {
  const state = async () => [await commissionsOf(client), (await client.payouts.list()).data]
  const before = await state()
  const allowWrites = rejectWrites(server, table === 'audits' ? 'insert' : 'update', table)
  expect(await rejection(client.payouts.pay(batch.id))).toEqual([503, code])
  allowWrites()
  expect(await state()).toEqual(before)
  expect((await client.payouts.pay(batch.id)).ok).toBe(true)
})
