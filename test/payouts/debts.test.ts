import { describe, expect } from 'vitest'
import { operatorContext } from '../../server/src/accounts/shops.ts'
import type { Context } from '../../server/src/core/context.ts'
import { mutate } from '../../server/src/core/mutate.ts'
import { recomputeBatch } from '../../server/src/payouts/batch.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type Owner, test } from '../support/test.ts'
import { hold } from './hold.ts'
import { addAffiliate, addCommission, addDebt, commissionsOf, OCTOBER } from './rows.ts'

const NOVEMBER = { periodStart: '2026-11-01', periodEnd: '2026-11-30T23:59:59.999Z' }

let nisa: string
let omar: string

test.beforeEach(({ server }) => {
  for (const table of ['commissions', 'affiliates', 'payoutBatches', 'audits'])
    server.sql.exec(`delete from "${table}"`)
  nisa = addAffiliate(server)
  omar = addAffiliate(server)
})

const sum = (rows: { commissionAmountCents: number }[]) => rows.reduce((n, row) => n + row.commissionAmountCents, 0)
const carried = (server: TestServer) => commissionsOf(server, `"orderId" like 'adj:%:carry'`)

describe('an affiliate who owes', () => {
  test('is netted against later earnings', async ({ server, client }) => {
    addCommission(server, { affiliateId: nisa })
    addDebt(server, nisa, 480)
    const { totals } = await client.payouts.create(OCTOBER)
    expect(totals).toMatchObject({ commissions: 2, commissionCents: 520, netPayableCents: 520 })
    expect(carried(server)).toEqual([])
  })

  test('is paid nothing, affects no other affiliate, and owes the remainder in the next period', async ({
    server,
    client,
  }) => {
    addCommission(server, { affiliateId: nisa, commissionAmountCents: 100 })
    addDebt(server, nisa, 480, { taxWithheldCents: -48 })
    addCommission(server, { affiliateId: omar })
    const events = server.sql.prepare('select count(*) from "webhookEvents"').pluck()
    const before = events.get()
    const october = await client.payouts.create(OCTOBER)
    expect(october.totals.netPayableCents).toBe(1000)
    expect(october.totals).toMatchObject({ commissions: 4, affiliates: 2 })
    const [batch] = (await client.payouts.list({ include: 'lines' })).data
    expect(batch?.lines?.map((line) => line.netPayableCents)).toEqual([0, 1000])
    expect(carried(server)).toMatchObject([
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
    for (const row of carried(server)) expect(row.orderId).toBe(`adj:${row.id}:carry`)
    await client.payouts.pay(october.id)
    addCommission(server, { affiliateId: nisa, happenedAt: '2026-11-05T00:00:00.000Z' })
    const november = await client.payouts.create(NOVEMBER)
    expect(november.totals).toMatchObject({ commissions: 2, commissionCents: 668, netPayableCents: 668 })
    expect(events.get()).toBe(before)
  })

  test('alone: each batch pays nothing and carries the debt forward', async ({ server, client }) => {
    addDebt(server, nisa, 480)
    const periods = [OCTOBER, NOVEMBER, { periodStart: '2026-12-01', periodEnd: '2026-12-31T23:59:59.999Z' }]
    for (const period of periods) expect((await client.payouts.create(period)).totals.netPayableCents).toBe(0)
    const rows = commissionsOf(server)
    expect(sum(rows)).toBe(-480)
    expect(rows.filter((row) => row.payoutBatchId === null)).toMatchObject([
      { commissionAmountCents: -480, happenedAt: '2027-01-01T00:00:00.000Z' },
    ])
  })

  test('owes in each currency separately', async ({ server, client }) => {
    addDebt(server, nisa, 480)
    addCommission(server, { affiliateId: nisa, currency: 'EUR' })
    expect((await client.payouts.create({ ...OCTOBER, currency: 'EUR' })).totals.netPayableCents).toBe(1000)
    expect((await client.payouts.create({ ...OCTOBER, currency: 'USD' })).totals.netPayableCents).toBe(0)
    expect(carried(server).map((row) => row.currency)).toEqual(['USD', 'USD'])
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
    expect(carried(server).map((row) => row.programId)).toEqual([expected, expected])
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
  const waiting = (server: TestServer) =>
    commissionsOf(server, `"orderStatus" = 'APPROVED' and "payoutBatchId" is null`)

  /** The same debt in two programs, carried on by two batches of the same period. */
  async function twoDebts(server: TestServer): Promise<[first: string, second: string]> {
    addDebt(server, nisa, 480, { programId: 'prg_a' })
    addDebt(server, nisa, 480, { programId: 'prg_b' })
    const first = await server.client.payouts.create({ ...OCTOBER, programId: 'prg_a' })
    const second = await server.client.payouts.create({ ...OCTOBER, programId: 'prg_b' })
    return [first.id, second.id]
  }

  test('takes back its own debt, not an equal one of another program', async ({ server, owner }) => {
    const [first, second] = await twoDebts(server)
    await cancel(owner, second)
    expect(waiting(server).map((row) => [row.programId, row.happenedAt, row.commissionAmountCents])).toEqual([
      ['prg_b', '2026-10-20T12:00:00.000Z', -480],
      ['prg_a', '2026-11-01T00:00:00.000Z', -480],
    ])
    await cancel(owner, first)
    expect(waiting(server).map((row) => [row.programId, row.happenedAt])).toEqual([
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
    const owed = (programId: string) => sum(waiting(server).filter((row) => row.programId === programId))
    expect(owed('prg_b')).toBe(-480)
    expect(sum(commissionsOf(server, `"orderStatus" <> 'CANCELED'`))).toBe(-960)
    const { totals } = await client.payouts.create({ ...NOVEMBER, programId: 'prg_b' })
    expect(totals).toMatchObject({ commissions: 2, netPayableCents: 0 })
    expect((await client.payouts.list({ id: november.id })).data[0]?.totals).toEqual(november.totals)
  })
})

describe('a batch whose commissions change', () => {
  let ctx: Context
  test.beforeAll(async ({ server }) => {
    ctx = await operatorContext(server.deps, server.shop.shopId)
  })

  /** Changes rows and recomputes in one transaction, as moderation does. */
  const change = (batchId: string, columns: object, where: string) =>
    mutate(ctx, async (trx) => {
      const [column, value] = where.split('=') as ['id', string]
      await trx.updateTable('commissions').set(columns).where(column, '=', value).execute()
      return { result: await recomputeBatch(ctx, trx, batchId), audit: null }
    })
  const leave = (batchId: string, id: string) =>
    change(batchId, { payoutBatchId: null, orderStatus: 'CANCELED' }, `id=${id}`)

  test('its totals are updated while it is OPEN', async ({ server, client }) => {
    const gone = addCommission(server, { affiliateId: nisa })
    addCommission(server, { affiliateId: omar, commissionAmountCents: 40, taxWithheldCents: 4 })
    const batch = await client.payouts.create(OCTOBER)
    server.clock.advance(1000)
    const row = await leave(batch.id, gone)
    const [after] = (await client.payouts.list({ id: batch.id })).data
    expect(after).toEqual({
      ...batch,
      totals: { commissions: 1, affiliates: 1, commissionCents: 40, taxWithheldCents: 4, netPayableCents: 36 },
      updatedAt: new Date(server.clock.ms).toISOString(),
    })
    expect([row.version, row.netPayableCents]).toEqual([2, 36])
    const stale = await client.payouts.pay(batch.id, { expectedTotalCents: 1036 }).safe()
    expect(stale.error?.code).toBe('payout_total_mismatch')
  })

  test('a line that falls below zero becomes zero, and its debt is carried forward', async ({ server, client }) => {
    const gone = addCommission(server, { affiliateId: nisa })
    addDebt(server, nisa, 480)
    addCommission(server, { affiliateId: omar })
    const batch = await client.payouts.create(OCTOBER)
    const { netPayableCents } = await leave(batch.id, gone)
    expect(netPayableCents).toBe(1000)
    expect(carried(server).map((row) => row.commissionAmountCents)).toEqual([480, -480])
    expect(sum(commissionsOf(server, `"orderStatus" <> 'CANCELED'`))).toBe(520)
  })

  test('an emptied batch is FAILED and cannot be paid', async ({ server, client }) => {
    const only = addCommission(server, { affiliateId: nisa })
    const batch = await client.payouts.create(OCTOBER)
    await leave(batch.id, only)
    const [after] = (await client.payouts.list({ id: batch.id })).data
    expect(after).toMatchObject({
      status: 'FAILED',
      failureReason: 'Every commission left this batch before it was paid.',
      totals: { commissions: 0, affiliates: 0, commissionCents: 0, netPayableCents: 0 },
    })
    expect((await client.payouts.pay(batch.id).safe()).error?.code).toBe('payout_not_payable')
  })

  test.for(['PROCESSING', 'PAID', 'FAILED'])('%s: its totals are frozen', async (status, { server, client }) => {
    const only = addCommission(server, { affiliateId: nisa })
    const batch = await client.payouts.create(OCTOBER)
    server.sql.prepare('update "payoutBatches" set status = ?').run(status)
    const row = await change(batch.id, { commissionAmountCents: 1 }, `id=${only}`)
    expect(row).toMatchObject({ status, netPayableCents: 1000, version: 1 })
    expect((await client.payouts.list({ id: batch.id })).data[0]?.totals).toEqual(batch.totals)
  })

  test('404 for a batch that does not exist', async () => {
    await expect(change('bat_none', { version: 9 }, 'id=none')).rejects.toMatchObject({ code: 'payout_not_found' })
  })

  test('409 for a payment that read the batch before a commission was removed from it', async ({ server, client }) => {
    const gone = addCommission(server, { affiliateId: nisa })
    addCommission(server, { affiliateId: nisa })
    const batch = await client.payouts.create(OCTOBER)
    const { arrived, release } = hold(server)
    const paying = client.payouts.pay(batch.id).safe()
    await arrived
    await leave(batch.id, gone)
    release()
    expect((await paying).error?.code).toBe('concurrent_change')
    const [after] = (await client.payouts.list({ id: batch.id })).data
    expect([after?.status, after?.totals.netPayableCents]).toEqual(['OPEN', 1000])
  })
})
