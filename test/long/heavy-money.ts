import { type Heavy, stallOf } from '../fuzz/heavy.ts'
import type { FuzzWorld } from '../fuzz/world.ts'
import { affiliateRow, commissionRow, insertRows } from '../payouts/rows.ts'
import { convert, expectOk } from '../support/shop.ts'

const COMMISSIONS = 6000
const DEBTS = 600
const LINES = 1000

type Measured = { name: string; ms: number }

/** Stalls of payouts and refunds. Each call uses up what it works on, so every try gets rows of its own. */
export async function moneyStalls(world: FuzzWorld, tries: number): Promise<Measured[]> {
  const best = new Map<string, number>()
  const measure = async (heavy: Heavy) => {
    const { ms, status } = await stallOf(world, heavy, { tries: 1 })
    if (status !== 200) throw new Error(`${heavy.name} was answered ${status}`)
    best.set(heavy.name, Math.min(ms, best.get(heavy.name) ?? Number.POSITIVE_INFINITY))
  }
  const affiliates = Array.from({ length: DEBTS + 400 }, () => affiliateRow(world.server))
  insertRows(world.server, 'affiliates', affiliates)
  const ids = affiliates.map(({ id }) => id)
  for (let i = 0; i < tries; i++) await batches(world, { ids, year: 2000 + i, measure })
  await refunds(world, { tries, measure })
  return [...best].map(([name, ms]) => ({ name, ms }))
}

interface Measuring {
  measure: (heavy: Heavy) => Promise<void>
}

/** A batch that is created and canceled, and created again and paid. */
async function batches(world: FuzzWorld, { ids, year, measure }: Measuring & { ids: string[]; year: number }) {
  const { server } = world
  const rows = Array.from({ length: COMMISSIONS }, (_, i) =>
    commissionRow(server, {
      affiliateId: ids[i < DEBTS ? i : DEBTS + (i % (ids.length - DEBTS))]!,
      commissionAmountCents: i < DEBTS ? -480 : 1000,
      happenedAt: `${year}-10-${10 + (i % 20)}T12:00:00.000Z`,
    }),
  )
  insertRows(server, 'commissions', rows)
  const body = JSON.stringify({ periodStart: `${year}-10-01`, periodEnd: `${year}-10-31` })
  const create = async () => {
    await measure({ name: `a batch of ${COMMISSIONS} commissions`, method: 'POST', path: '/api/v1/payouts', body })
    return (await server.client.payouts.list({ limit: 1 })).data[0]!.id
  }
  const path = `/admin/v1/payouts/${await create()}/cancel`
  const headers = { Authorization: `Bearer ${server.shop.ownerToken}` }
  await measure({ name: `canceling a batch with ${DEBTS} debts`, method: 'POST', path, headers })
  const payment = `/api/v1/payouts?id=${await create()}&action=pay`
  await measure({ name: `paying a batch with ${DEBTS} debts`, method: 'PATCH', path: payment })
}

/** Refunds of every line of a large order, one after the other. */
async function refunds({ server }: FuzzWorld, { tries, measure }: Measuring & { tries: number }) {
  const lines = (quantity: number) =>
    Array.from({ length: LINES }, (_, i) => ({ variantId: `v-${i}`, quantity, priceCents: 100 }))
  const order = { externalOrderId: 'refunded', couponCode: 'NISA16', lineItems: lines(tries + 1) }
  const { commission } = await expectOk(convert(server, order))
  for (let i = 0; i < tries; i++) {
    const lineItems = lines(1).map(({ variantId, quantity }) => ({ variantId, quantity }))
    await measure({
      name: `a refund of ${LINES} lines`,
      method: 'POST',
      path: `/admin/v1/commissions/${commission.id}/refund`,
      body: JSON.stringify({ externalRefundId: `r-${i}`, lineItems }),
      headers: { Authorization: `Bearer ${server.shop.ownerToken}` },
    })
  }
}
