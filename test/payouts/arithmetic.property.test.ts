// Full: it runs long random histories.
import fc from 'fast-check'
import { expect } from 'vitest'
import { engine } from '../support/database.ts'
import { insertRows, rowsOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'
import { affiliateRow, commissionRow, OCTOBER } from './rows.ts'

/** Fewer on PostgreSQL, which runs the same queries more slowly. */
const SHOPS = engine === 'sqlite' ? 1000 : 150
const NOVEMBER = { periodStart: '2026-11-01', periodEnd: '2026-11-30T23:59:59.999Z' }

const FREE = ['APPROVED', 'ACCEPTED', 'PAYABLE'] as const
const instants = [
  '2026-09-30T23:59:59.999Z',
  '2026-10-01T00:00:00.000Z',
  '2026-10-15T12:00:00.000Z',
  '2026-10-31T23:59:59.999Z',
  '2026-11-01T00:00:00.000Z',
] as const

const money = fc.record({
  cents: fc.oneof(fc.integer({ min: -3000, max: 5000 }), fc.constantFrom(0, 2_147_483_647, -2_147_483_647)),
  taxPercent: fc.constantFrom(0, 0, 10, 33),
  // A PAYABLE commission may belong to an earlier batch.
  status: fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...FREE) },
    { weight: 1, arbitrary: fc.constantFrom('PENDING', 'REJECTED', 'PAID', 'CANCELED', 'REFUNDED') },
  ),
  at: fc.oneof({ weight: 2, arbitrary: fc.constant(instants[2]) }, fc.constantFrom(...instants)),
  currency: fc.constantFrom('USD', 'USD', 'USD', 'EUR'),
  program: fc.constantFrom('prg_a', 'prg_b', null),
  taken: fc.boolean(),
})
const person = fc.record({
  access: fc.constantFrom('paid', 'paid', 'paid', 'archived', 'rejected'),
  rows: fc.array(money, { maxLength: 6 }),
})
const shop = fc.record({
  people: fc.array(person, { minLength: 1, maxLength: 5 }),
  minimum: fc.constantFrom(null, 0, 1, 2000),
})
type Shop = typeof shop extends fc.Arbitrary<infer S> ? S : never
type Money = Shop['people'][number]['rows'][number]

const taxOf = ({ cents, taxPercent }: Money) => Math.trunc((cents * taxPercent) / 100)

/** The totals of the batch, added up affiliate by affiliate. */
function expectedOf({ people, minimum }: Shop) {
  let commissions = 0
  let affiliates = 0
  let net = 0n
  let waiting = 0n
  const debts: number[] = []
  for (const { access, rows } of people) {
    let own = 0n
    let count = 0
    for (const row of rows) {
      const free = (FREE as readonly string[]).includes(row.status) && !isTaken(row)
      if (!free || row.cents === 0 || row.currency !== 'USD') continue
      if (row.at < '2026-10-01' || row.at >= '2026-11-01') continue
      if (access !== 'paid') waiting += BigInt(row.cents)
      else {
        own += BigInt(row.cents - taxOf(row))
        count += 1
      }
    }
    if (count === 0) continue
    affiliates += 1
    commissions += count
    if (own >= 0n) net += own
    else {
      commissions += 1
      debts.push(Number(own))
    }
  }
  const code =
    commissions === 0 ? 'no_eligible_commissions' : net < BigInt(minimum ?? 0) ? 'payout_below_threshold' : undefined
  return { code, commissions, affiliates, net: Number(net), waiting: Number(waiting), debts }
}

const isTaken = (row: Money) => row.taken && row.status === 'PAYABLE'

function fill(server: TestServer, { people }: Shop, shopId: string): void {
  const affiliates = people.map(({ access }) =>
    affiliateRow(server, {
      shopId,
      status: access === 'rejected' ? 'REJECTED' : 'APPROVED',
      deletedAt: access === 'archived' ? '2026-10-02T00:00:00.000Z' : null,
    }),
  )
  const commissions = people.flatMap(({ rows }, i) =>
    rows.map((row) =>
      commissionRow(server, {
        shopId,
        affiliateId: affiliates[i]!.id,
        programId: row.program,
        currency: row.currency,
        commissionAmountCents: row.cents,
        taxWithheldCents: taxOf(row),
        orderStatus: row.status,
        happenedAt: row.at,
        payoutBatchId: isTaken(row) ? 'bat_earlier' : null,
      }),
    ),
  )
  insertRows(server, 'affiliates', affiliates)
  insertRows(server, 'commissions', commissions)
}

/** Read from the database: thousands of list requests would take most of the time. */
const stored = (server: TestServer, shopId: string) => rowsOf(server, 'commissions', { shopId })
const netOf = (rows: { commissionAmountCents: number; taxWithheldCents: number }[]) =>
  rows.reduce((sum, row) => sum + row.commissionAmountCents - row.taxWithheldCents, 0)

test(`${SHOPS} random shops: batches, lines and debts equal the sums of their commissions`, {
  timeout: 180_000,
}, async ({ server }) => {
  let made = 0
  let indebted = 0
  await fc.assert(
    fc.asyncProperty(shop, async (given) => {
      const { client, owner, shop } = server.asShop(await server.createShop())
      const { shopId } = shop
      if (given.minimum !== null) await expectOk(owner('PATCH', '/settings', { minimumPayoutCents: given.minimum }))
      fill(server, given, shopId)
      const expected = expectedOf(given)
      const before = stored(server, shopId)
      const { data: batch, error } = await client.payouts.create({ ...OCTOBER, currency: 'USD' }).safe()
      expect(error?.code).toBe(expected.code)
      const after = stored(server, shopId)
      if (!batch) {
        expect(after).toEqual(before)
        return
      }
      made += 1
      indebted += expected.debts.length ? 1 : 0
      const { commissions, affiliates, netPayableCents } = batch.totals
      expect([commissions, affiliates, netPayableCents]).toEqual([
        expected.commissions,
        expected.affiliates,
        expected.net,
      ])
      expect(batch.heldBack.commissionCents).toBe(expected.waiting)
      const own = after.filter((row) => row.payoutBatchId === batch.id)
      expect([own.length, netOf(own)]).toEqual([commissions, netPayableCents])
      expect(netOf(after)).toBe(netOf(before))
      const owed = after.filter((row) => row.trackingMethod === 'ADJUSTMENT' && row.payoutBatchId === null)
      expect(owed.map(({ commissionAmountCents }) => commissionAmountCents).sort()).toEqual(expected.debts.sort())
      await checkPayment(server, client, batch.id, { shopId, netPayableCents })
    }),
    { numRuns: SHOPS },
  )
  expect(made).toBeGreaterThan(SHOPS / 4)
  expect(indebted).toBeGreaterThan(SHOPS / 20)
})

/** Lines add up, payment marks exactly the batch, and the next month collects the debts. */
async function checkPayment(
  server: TestServer,
  { payouts }: Client,
  id: string,
  { shopId, netPayableCents }: { shopId: string; netPayableCents: number },
) {
  const paidCents = () => netOf(stored(server, shopId).filter((row) => row.orderStatus === 'PAID'))
  const [{ lines = [] } = {}] = (await payouts.list({ id, include: 'lines' })).data
  expect(lines.reduce((sum, line) => sum + line.netPayableCents, 0)).toBe(netPayableCents)
  expect(lines.every((line) => line.netPayableCents >= 0)).toBe(true)
  const paidBefore = paidCents()
  await payouts.pay(id, { expectedTotalCents: netPayableCents })
  expect(paidCents() - paidBefore).toBe(netPayableCents)
  const total = netOf(stored(server, shopId))
  const { data: next } = await payouts.create({ ...NOVEMBER, currency: 'USD' }).safe()
  const rows = stored(server, shopId)
  expect(netOf(rows)).toBe(total)
  if (next) expect(netOf(rows.filter((row) => row.payoutBatchId === next.id))).toBe(next.totals.netPayableCents)
}
