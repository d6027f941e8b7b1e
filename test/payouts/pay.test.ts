import { describe, expect } from 'vitest'
import { refusal } from '../support/refusal.ts'
import type { TestServer } from '../support/server.ts'
import { test } from '../support/test.ts'
import { addAffiliate, addCommission, commissionsOf, OCTOBER } from './rows.ts'

let batch: Awaited<ReturnType<TestServer['client']['payouts']['create']>>

test.beforeEach(async ({ server, client }) => {
  for (const table of ['commissions', 'affiliates', 'payoutBatches', 'audits'])
    server.sql.exec(`delete from "${table}"`)
  const affiliateId = addAffiliate(server)
  addCommission(server, { affiliateId, taxWithheldCents: 100 })
  addCommission(server, { affiliateId, commissionAmountCents: 540 })
  batch = await client.payouts.create(OCTOBER)
  addCommission(server, { affiliateId, commissionAmountCents: 9 })
  server.clock.advance(1000)
})

const setBatch = (server: TestServer, status: string) =>
  server.sql.prepare('update "payoutBatches" set status = ?').run(status)
const paid = (server: TestServer) => commissionsOf(server, `"orderStatus" = 'PAID'`)

test('200 the batch and all its commissions are PAID, nothing else is', async ({ server, client }) => {
  const reply = await client.payouts.pay(batch.id)
  expect(reply).toEqual({ ok: true, message: 'Payout batch marked as paid.', id: batch.id })
  const now = new Date(server.clock.ms).toISOString()
  const [after] = (await client.payouts.list({ id: batch.id })).data
  expect(after).toEqual({ ...batch, status: 'PAID', paidAt: now, updatedAt: now })
  expect(paid(server)).toHaveLength(2)
  for (const row of paid(server))
    expect(row).toMatchObject({ payoutBatchId: batch.id, paidAt: now, updatedAt: now, version: 3 })
  expect(commissionsOf(server, '"payoutBatchId" is null')).toMatchObject([{ orderStatus: 'APPROVED', paidAt: null }])
  const audit = server.sql.prepare(`select * from audits where action = 'payout.paid'`).get()
  expect(audit).toMatchObject({ subjectId: batch.id, data: expect.stringContaining('"netPayableCents":1440') })
})

test('200 a batch in PROCESSING', async ({ server, client }) => {
  setBatch(server, 'PROCESSING')
  expect((await client.payouts.pay(batch.id)).ok).toBe(true)
  expect(paid(server)).toHaveLength(2)
})

test('200 when the expected total is the net payable', async ({ client }) => {
  expect((await client.payouts.pay(batch.id, { expectedTotalCents: 1440 })).ok).toBe(true)
})

describe('409', () => {
  const pay = (server: TestServer, query = '') =>
    server.request('PATCH', `/api/v1/payouts?id=${batch.id}&action=pay${query}`)

  test('when the batch is already PAID', async ({ server, client }) => {
    await client.payouts.pay(batch.id)
    const before = commissionsOf(server)
    const reply = await pay(server)
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([409, 'payout_already_paid'])
    expect(commissionsOf(server)).toEqual(before)
  })

  test('when the batch is FAILED', async ({ server }) => {
    setBatch(server, 'FAILED')
    expect((await pay(server)).headers.get('X-Error-Code')).toBe('payout_not_payable')
    expect(paid(server)).toEqual([])
  })

  test.for([1439, 1540, 0, -1440])('when %i cents are expected', async (cents, { server }) => {
    const reply = await pay(server, `&expectedTotalCents=${cents}`)
    expect([reply.headers.get('X-Error-Code'), reply.body.error]).toEqual([
      'payout_total_mismatch',
      `The batch pays 1440 cents, not the expected ${cents} cents. Fetch it again and retry.`,
    ])
    expect(paid(server)).toEqual([])
  })
})

test.for(['', '&action=cancel', '&action=PAY', '&action=pay&expectedTotalCents=1.5'])(
  '400 for %j',
  async (rest, { server }) => {
    const reply = await server.request('PATCH', `/api/v1/payouts?id=${batch.id}${rest}`)
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'invalid_parameter'])
  },
)

test('404 for a batch that does not exist, and for one of another shop', async ({ server, client }) => {
  expect(await refusal(client.payouts.pay('bat_none'))).toEqual([404, 'payout_not_found'])
  const stranger = server.clientOf((await server.createShop()).key)
  expect(await refusal(stranger.payouts.pay(batch.id))).toEqual([404, 'payout_not_found'])
  expect(paid(server)).toEqual([])
})

test.for([
  ['audits', 'audit_unavailable'],
  ['commissions', 'storage_unavailable'],
])('503 and nothing changed when %s cannot be written', async ([table, code], { server, client }) => {
  const event = table === 'audits' ? 'insert' : 'update'
  const before = [commissionsOf(server), server.sql.prepare('select * from "payoutBatches"').all()]
  server.sql.exec(`create trigger broken before ${event} on "${table}" begin select raise(abort, 'disk'); end`)
  expect(await refusal(client.payouts.pay(batch.id))).toEqual([503, code])
  server.sql.exec('drop trigger broken')
  expect([commissionsOf(server), server.sql.prepare('select * from "payoutBatches"').all()]).toEqual(before)
  expect((await client.payouts.pay(batch.id)).ok).toBe(true)
})
