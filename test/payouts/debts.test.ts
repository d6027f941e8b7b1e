import { describe, expect } from 'vitest'
import type { Context } from '../../server/src/core/context.ts'
import { mutate } from '../../server/src/core/mutate.ts'
import { operatorContext } from '../../server/src/domains/accounts/shops.ts'
import { updateTotals } from '../../server/src/domains/ledger/batch-totals.ts'
import { outbox, updateRows } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type Client, type Owner, testWithNewShop as test } from '../support/test.ts'
import { hold } from './hold.ts'
import { addAffiliate, addCommission, addDebt, commissionsOf, OCTOBER } from './rows.ts'

const NOVEMBER = { periodStart: '2026-11-01', periodEnd: '2026-11-30T23:59:59.999Z' }

let nisa: string
let omar: string

test.beforeEach(({ server }) => {
  nisa = addAffiliate(server)
  omar = addAffiliate(server)
})

const notCanceled = async (client: Client) =>
  (await commissionsOf(client)).filter((row) => row.orderStatus !== 'CANCELED')
const sum = (rows: { commissionAmountCents: number }[]) => rows.reduce((n, row) => n + row.commissionAmountCents, 0)
const carried = async (client: Client) =>
  (await commissionsOf(client)).filter(({ orderId }) => /^adj:.*:carry$/.test(orderId))

describe('an affiliate who owes', () => {
  test('is paid nothing, affects no other affiliate, and owes the remainder in the next period', async ({
    server,
    client,
  }) => {
    addCommission(server, { affiliateId: nisa, commissionAmountCents: 100 })
    addDebt(server, nisa, 480, { taxWithheldCents: -48 })
    addCommission(server, { affiliateId: omar })
    const events = outbox(server)
    const october = await client.payouts.create(OCTOBER)
    expect(october.totals.netPayableCents).toBe(1000)
    expect(october.totals).toMatchObject({ commissions: 4, affiliates: 2 })
    const [batch] = (await client.payouts.list({ include: 'lines' })).data
    expect(batch?.lines?.map((line) => line.netPayableCents)).toEqual([0, 1000])
    expect(await carried(client)).toMatchObject([
      {
        affiliateId: nisa,
        commissionAmountCents: 332,
        orderStatus: 'PAYABLE',
        payoutBatchId: october.id,
        happenedAt: OCTOBER.periodEnd,
        trackingMethod: 'ADJUSTMENT',
        externalOrderId: null,
      },
      {
        affiliateId: nisa,
        commissionAmountCents: -332,
        orderStatus: 'APPROVED',
        payoutBatchId: null,
        happenedAt: '2026-11-01T00:00:00.000Z',
        trackingMethod: 'ADJUSTMENT',
      },
    ])
    for (const row of await carried(client)) expect(row.orderId).toBe(`adj:${row.id}:carry`)
    await client.payouts.pay(october.id)
    addCommission(server, { affiliateId: nisa, happenedAt: '2026-11-05T00:00:00.000Z' })
    const november = await client.payouts.create(NOVEMBER)
    expect(november.totals).toMatchObject({ commissions: 2, commissionCents: 668, netPayableCents: 668 })
    expect(events()).toEqual([])
  })

  test.for([
    [['prg_a', 'prg_a'], 'prg_a'],
    [['prg_a', 'prg_b'], null],
    [['prg_a', null], null],
    [[null, null], null],
  ])('a debt of programs %j stays with %j', async ([[first, second], expected], { server, client }) => {
    addDebt(server, nisa, 480, { programId: first })
    addCommission(server, { affiliateId: nisa, commissionAmountCents: 80, programId: second })
    await client.payouts.create(OCTOBER)
    expect((await carried(client)).map((row) => row.programId)).toEqual([expected, expected])
  })

  test('the minimum applies to the net payable, and dryRun predicts it', async ({ server, client }) => {
    addDebt(server, nisa, 480)
    addCommission(server, { affiliateId: omar })
    server.deps.config.minimumPayoutCents = 1000
    const preview = await client.payouts.preview(OCTOBER)
    const made = await client.payouts.create(OCTOBER)
    server.deps.config.minimumPayoutCents = 0
    expect(preview.totals).toEqual(made.totals)
    expect(made.totals).toMatchObject({ commissions: 3, netPayableCents: 1000 })
  })
})

describe('a canceled batch', () => {
  const cancel = (owner: Owner, id: string) => expectOk(owner('POST', `/payouts/${id}/cancel`))
  const waiting = async (client: Client) =>
    (await commissionsOf(client)).filter((row) => row.orderStatus === 'APPROVED' && row.payoutBatchId === null)

  /** The same debt in two programs, carried on by two batches of the same period. */
  async function twoDebts(server: TestServer): Promise<[first: string, second: string]> {
    addDebt(server, nisa, 480, { programId: 'prg_a' })
    addDebt(server, nisa, 480, { programId: 'prg_b' })
    const first = await server.client.payouts.create({ ...OCTOBER, programId: 'prg_a' })
    const second = await server.client.payouts.create({ ...OCTOBER, programId: 'prg_b' })
    return [first.id, second.id]
  }

  test('takes back its own debt, not an equal one of another program', async ({ server, client, owner }) => {
    const [first, second] = await twoDebts(server)
    await cancel(owner, second)
    expect((await waiting(client)).map((row) => [row.programId, row.happenedAt, row.commissionAmountCents])).toEqual([
      ['prg_b', '2026-10-20T12:00:00.000Z', -480],
      ['prg_a', '2026-11-01T00:00:00.000Z', -480],
    ])
    await cancel(owner, first)
    expect((await waiting(client)).map((row) => [row.programId, row.happenedAt])).toEqual([
      ['prg_a', '2026-10-20T12:00:00.000Z'],
      ['prg_b', '2026-10-20T12:00:00.000Z'],
    ])
  })

  test('does not take back the equal debt of another program when its own was collected', async ({
    server,
    client,
    owner,
  }) => {
    const [first] = await twoDebts(server)
    const november = await client.payouts.create({ ...NOVEMBER, programId: 'prg_a' })
    await cancel(owner, first)
    expect(sum((await waiting(client)).filter((row) => row.programId === 'prg_b'))).toBe(-480)
    expect(sum(await notCanceled(client))).toBe(-960)
    const { totals } = await client.payouts.create({ ...NOVEMBER, programId: 'prg_b' })
    expect(totals).toMatchObject({ commissions: 2, netPayableCents: 0 })
    expect((await client.payouts.list({ id: november.id })).data[0]?.totals).toEqual(november.totals)
  })
})

describe('a batch whose commissions change', () => {
  let ctx: Context
  test.beforeEach(async ({ server }) => {
    ctx = await operatorContext(server.deps, server.shop.shopId)
  })

  const recompute = (batchId: string) =>
    mutate(ctx, async (trx) => ({ result: (await updateTotals(ctx, trx, batchId, [])).row, audit: null }))
  const leave = ({ owner }: TestServer, id: string) => expectOk(owner('POST', `/commissions/${id}/cancel`))

  test('a line that falls below zero becomes zero, and its debt is carried forward', async ({ server, client }) => {
    const gone = addCommission(server, { affiliateId: nisa })
    addDebt(server, nisa, 480)
    addCommission(server, { affiliateId: omar })
    const batch = await client.payouts.create(OCTOBER)
    await leave(server, gone)
    expect((await client.payouts.list({ id: batch.id })).data[0]?.totals.netPayableCents).toBe(1000)
    expect((await carried(client)).map((row) => row.commissionAmountCents)).toEqual([480, -480])
    expect(sum(await notCanceled(client))).toBe(520)
  })

  test.for(['PROCESSING', 'PAID', 'FAILED'] as const)(
    '%s: its totals are frozen',
    async (status, { server, client }) => {
      const only = addCommission(server, { affiliateId: nisa })
      const batch = await client.payouts.create(OCTOBER)
      updateRows(server, 'payoutBatches', { status }, { id: batch.id })
      updateRows(server, 'commissions', { commissionAmountCents: 1 }, { id: only })
      const row = await recompute(batch.id)
      expect(row).toMatchObject({ status, netPayableCents: 1000, version: 2 })
      expect((await client.payouts.list({ id: batch.id })).data[0]?.totals).toEqual(batch.totals)
    },
  )

  test('404 for a batch that does not exist', async () => {
    await expect(recompute('bat_none')).rejects.toMatchObject({ code: 'payout_not_found' })
  })

  test('409 for a payment that read the batch before a commission was removed from it', async ({ server, client }) => {
    const gone = addCommission(server, { affiliateId: nisa })
    addCommission(server, { affiliateId: nisa })
    const batch = await client.payouts.create(OCTOBER)
    const { arrived, release } = hold(server)
    const paying = client.payouts.pay(batch.id).safe()
    await arrived
    await leave(server, gone)
    release()
    expect((await paying).error?.code).toBe('concurrent_change')
    const [after] = (await client.payouts.list({ id: batch.id })).data
    expect([after?.status, after?.totals.netPayableCents]).toEqual(['OPEN', 1000])
  })
})
