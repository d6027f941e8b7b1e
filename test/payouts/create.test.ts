import { describe, expect } from 'vitest'
import { rejectWrites } from '../support/faults.ts'
import { auditLog } from '../support/inspect.ts'
import { rejection } from '../support/rejection.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { addAffiliate, addCommission, commissionsOf, OCTOBER, versionsOf } from './rows.ts'

let nisa: string

test.beforeEach(({ server }) => {
  nisa = addAffiliate(server)
})

test('200 with the batch; its rows are PAYABLE; one audit record', async ({ server, client }) => {
  const omar = addAffiliate(server)
  addCommission(server, { affiliateId: nisa, commissionAmountCents: 1440, taxWithheldCents: 144 })
  addCommission(server, { affiliateId: nisa, commissionAmountCents: 60 })
  addCommission(server, { affiliateId: omar, commissionAmountCents: 500, taxWithheldCents: 50 })
  const audits = auditLog(server)
  const batch = await client.payouts.create(OCTOBER)
  const now = new Date(server.clock.ms).toISOString()
  expect(batch).toEqual({
    id: expect.stringMatching(/^bat_/),
    status: 'OPEN',
    progress: null,
    periodStart: '2026-10-01T00:00:00.000Z',
    periodEnd: '2026-10-31T23:59:59.999Z',
    includeEarlier: false,
    currency: 'USD',
    totals: { commissions: 3, affiliates: 2, commissionCents: 2000, taxWithheldCents: 194, netPayableCents: 1806 },
    heldBack: { commissions: 0, commissionCents: 0 },
    onHold: { commissions: 0, commissionCents: 0, nextAvailableAt: null },
    minimumPayoutCents: 0,
    failureReason: null,
    createdAt: now,
    updatedAt: now,
    paidAt: null,
  })
  for (const row of await commissionsOf(client))
    expect(row).toMatchObject({ orderStatus: 'PAYABLE', payoutBatchId: batch.id, updatedAt: now })
  expect(versionsOf(server)).toEqual([2, 2, 2])
  expect(audits()).toMatchObject([{ action: 'payout.created', subjectId: batch.id, data: expect.any(Object) }])
  expect((await client.payouts.list({ id: batch.id })).data).toEqual([batch])
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

  test('404 when every commission is already in a batch, is zero or belongs to another shop', async ({
    server,
    client,
  }) => {
    const other = await server.createShop()
    addCommission(server, { affiliateId: nisa, orderStatus: 'PAYABLE', payoutBatchId: 'bat_earlier' })
    addCommission(server, { affiliateId: nisa, commissionAmountCents: 0 })
    addCommission(server, { affiliateId: nisa, shopId: other.shopId })
    const theirs = server.clientOf(other.key)
    const before = await commissionsOf(theirs)
    expect(await rejection(client.payouts.create(OCTOBER))).toEqual([404, 'no_eligible_commissions'])
    expect(await commissionsOf(theirs)).toEqual(before)
  })

  test('commissions of archived and rejected affiliates are held back and counted', async ({ server, client }) => {
    const archived = addAffiliate(server, { deletedAt: '2026-10-25T00:00:00.000Z' })
    const rejected = addAffiliate(server, { status: 'REJECTED' })
    const pending = addAffiliate(server, { status: 'PENDING' })
    addCommission(server, { affiliateId: nisa })
    addCommission(server, { affiliateId: pending })
    addCommission(server, { affiliateId: archived, commissionAmountCents: 300 })
    addCommission(server, { affiliateId: rejected, commissionAmountCents: 40 })
    addCommission(server, { affiliateId: rejected, commissionAmountCents: 5, currency: 'EUR' })
    const batch = await client.payouts.create(OCTOBER)
    expect([batch.totals.commissionCents, batch.heldBack]).toEqual([2000, { commissions: 2, commissionCents: 340 }])
    const free = (await commissionsOf(client)).filter((row) => row.payoutBatchId === null)
    expect(free.map((row) => row.orderStatus)).toEqual(Array(3).fill('APPROVED'))
    expect(await rejection(client.payouts.create(OCTOBER))).toEqual([404, 'no_eligible_commissions'])
  })

  test('affiliateIds, programId and currency filter, alone and together', async ({ server, client }) => {
    const omar = addAffiliate(server)
    const given = [
      { affiliateId: nisa, programId: 'prg_a' },
      { affiliateId: nisa, programId: 'prg_b' },
      { affiliateId: omar, programId: 'prg_a' },
      { affiliateId: omar, programId: 'prg_a', currency: 'EUR' },
    ]
    for (const [i, row] of given.entries()) addCommission(server, { ...row, commissionAmountCents: 10 ** i })
    const total = async (filter: object) =>
      (await client.payouts.preview({ ...OCTOBER, ...filter })).totals.netPayableCents
    expect(await total({ currency: 'USD' })).toBe(111)
    expect(await total({ currency: 'EUR' })).toBe(1000)
    expect(await total({ affiliateIds: [nisa] })).toBe(11)
    expect(await total({ affiliateIds: [nisa, omar, 'aff_none'], currency: 'USD' })).toBe(111)
    expect(await total({ programId: 'prg_b' })).toBe(10)
    expect(await total({ programId: 'prg_a', affiliateIds: [omar], currency: 'USD' })).toBe(100)
    expect(await total({ programId: null, affiliateIds: null, currency: 'USD' })).toBe(111)
    const made = await client.payouts.create({ ...OCTOBER, programId: 'prg_a', currency: 'USD' })
    expect(made.totals.netPayableCents).toBe(101)
    const free = (await commissionsOf(client)).filter((row) => row.payoutBatchId === null)
    expect(free.map((row) => row.commissionAmountCents)).toEqual([10, 1000])
  })
})

describe('dryRun', () => {
  test('200 the batch that create would make, and nothing is written', async ({ server, client }) => {
    addCommission(server, { affiliateId: nisa })
    const [before, audits] = [await commissionsOf(client), auditLog(server)]
    const { lines, ...preview } = await client.payouts.preview(OCTOBER)
    expect(lines).toMatchObject([{ affiliateId: nisa, commissionCents: 1000, netPayableCents: 1000 }])
    expect(preview.id).toBeNull()
    expect([await commissionsOf(client), versionsOf(server)]).toEqual([before, [1]])
    expect(audits()).toEqual([])
    expect((await client.payouts.list()).data).toEqual([])
    const made = await client.payouts.create(OCTOBER)
    expect({ ...preview, id: made.id }).toEqual(made)
  })

  test('returns the errors of create', async ({ client }) => {
    expect(await rejection(client.payouts.preview(OCTOBER))).toEqual([404, 'no_eligible_commissions'])
  })

  test('null is treated as omitted, like any other optional field', async ({ server }) => {
    addCommission(server, { affiliateId: nisa })
    const body = { ...OCTOBER, dryRun: null, currency: null, affiliateIds: null, programId: null }
    const made = await server.request('POST', '/api/v1/payouts', { body })
    expect([made.status, made.body.data?.id?.slice(0, 4)]).toEqual([200, 'bat_'])
  })

  test('stores no response for the key, so that the real call can follow', async ({ server }) => {
    addCommission(server, { affiliateId: nisa })
    const headers = { 'Idempotency-Key': 'dry' }
    const dry = { body: { ...OCTOBER, dryRun: true }, headers }
    expect((await server.request('POST', '/api/v1/payouts', dry)).body.data.id).toBeNull()
    const made = await server.request('POST', '/api/v1/payouts', { body: OCTOBER, headers })
    expect(made.body.data.id).toMatch(/^bat_/)
    expect((await server.request('POST', '/api/v1/payouts', dry)).headers.get('X-Error-Code')).toBe(
      'idempotency_key_reused',
    )
  })
})

test('the same Idempotency-Key returns the same batch, although no commissions are left', async ({
  server,
  client,
}) => {
  addCommission(server, { affiliateId: nisa })
  const call = () =>
    server.request('POST', '/api/v1/payouts', { body: OCTOBER, headers: { 'Idempotency-Key': 'once' } })
  const [first, ...others] = await Promise.all([call(), call(), call()])
  const later = await call()
  for (const reply of [...others, later]) {
    expect([reply.status, reply.headers.get('Idempotent-Replayed')]).toEqual([200, 'true'])
    expect(reply.body).toEqual(first?.body)
  }
  expect((await client.payouts.list()).data).toHaveLength(1)
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
