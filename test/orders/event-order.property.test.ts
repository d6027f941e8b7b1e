import fc from 'fast-check'
import { expect } from 'vitest'
import { Till } from '../commissions/money.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'

/** Permutations in all; the long version runs 1,000. */
const RUNS = Number(process.env.PERMUTATIONS ?? (process.env.TEST_ENGINE === 'postgres' ? 30 : 100))
const PER_SCENARIO = 5

const PROGRAMS = {
  PERCENT: { commissionPercent: 16.5 },
  ITEMS: { commissionType: 'FLAT_PER_ITEM', commissionPercent: 2.5 },
  FLAT: { commissionType: 'FLAT_PER_ORDER', commissionPercent: 7 },
  CAPPED: { commissionPercent: 16.5 },
} as const
type Code = keyof typeof PROGRAMS

interface Line {
  quantity: number
  priceCents: number
  discountCents: number
  /** Lines may share one. */
  variantId: string
}

/** By the position of a line, or by a variant. */
interface Item {
  at: number
  isByVariant: boolean
  quantity: number
  amountCents: number | null
}

type Refund = ({ amountCents: number } | { items: Item[] }) & { isCanceled: boolean }

/** What happened to one order. */
interface Order {
  code: Code
  lines: Line[]
  discountCents: number
  /** With two decimals, none, and three. */
  currency: string
  refunds: Refund[]
  isCanceled: boolean
}

const line = fc
  .record({
    quantity: fc.integer({ min: 1, max: 4 }),
    priceCents: fc.integer({ min: 0, max: 9999 }),
    discountCents: fc.constantFrom(0, 0, 500, 9999),
    variantId: fc.constantFrom('0', '1', '2'),
  })
  .map((one) => ({ ...one, discountCents: Math.min(one.discountCents, one.quantity * one.priceCents) }))
const item = fc.record({
  at: fc.nat({ max: 2 }),
  isByVariant: fc.boolean(),
  quantity: fc.integer({ min: 1, max: 3 }),
  amountCents: fc.option(fc.nat({ max: 9999 })),
})
const refund: fc.Arbitrary<Refund> = fc.oneof(
  fc.record({ isCanceled: fc.boolean(), amountCents: fc.integer({ min: 0, max: 20_000 }) }),
  fc.record({
    isCanceled: fc.boolean(),
    items: fc.array(item, { minLength: 1, maxLength: 3 }),
  }),
)
const order: fc.Arbitrary<Order> = fc.record({
  code: fc.constantFrom<Code>('PERCENT', 'ITEMS', 'FLAT', 'CAPPED'),
  lines: fc.array(line, { minLength: 1, maxLength: 3 }),
  discountCents: fc.integer({ min: 0, max: 3000 }),
  currency: fc.constantFrom('USD', 'USD', 'JPY', 'KWD'),
  refunds: fc.array(refund, { maxLength: 4 }),
  isCanceled: fc.boolean(),
})

interface Event {
  path: string
  /** Undefined for the cancellation of a refund. */
  body?: object
}

let till: Till
let scenarios = 0
test.beforeAll(async ({ server }) => {
  till = new Till(server)
  await expectOk(till.admin('PATCH', '/settings', { taxWithholdingBps: 1000 }))
  for (const [code, program] of Object.entries(PROGRAMS)) {
    const { campaignId } = await till.affiliate(code, program)
    // A part of each order at its own rate.
    const rule = { programId: campaignId, kind: 'variant', value: '1', commissionPercent: 33.3 }
    await expectOk(till.admin('POST', '/product-rules', rule))
    if (code !== 'CAPPED') continue
    const now = server.clock.ms
    server.clock.ms = Date.UTC(2019, 11, 1)
    const rules = [{ when: {}, commissionPercent: 25, maxCommissionCents: 900 }]
    await server.client.programs.setTerms(campaignId, { rules })
    server.clock.ms = now
  }
})

const returned = (items: Item[], lines: Line[]) =>
  items.map(({ at, isByVariant, quantity, amountCents }) => {
    const index = at % lines.length
    const name = isByVariant ? { variantId: lines[index]!.variantId } : { id: `line-${index}` }
    return { ...name, quantity, amountCents }
  })

/** The events of orders, whose ids start with `name`. */
const eventsOf = (name: string, orders: Order[]): Event[] =>
  orders.flatMap(({ code, lines, discountCents, currency, refunds, isCanceled }, index) => {
    const externalOrderId = `${name}-${index}`
    const lineItems = lines.map((one, at) => ({ ...one, id: `line-${at}` }))
    const happened = refunds.map((one, n) => {
      const goods = 'items' in one ? { lineItems: returned(one.items, lines) } : { amountCents: one.amountCents }
      return { path: 'refunds', body: { externalOrderId, externalRefundId: `r-${n}`, ...goods } }
    })
    const taken = refunds.flatMap(({ isCanceled }, n) =>
      isCanceled ? [{ path: `refunds?externalOrderId=${externalOrderId}&externalRefundId=r-${n}` }] : [],
    )
    const canceled = isCanceled ? [{ path: 'cancellations', body: { externalOrderId } }] : []
    const occurredAt = '2026-10-20T12:00:00Z'
    const order = { externalOrderId, couponCode: code, discountCents, currency, lineItems, occurredAt }
    return [{ path: 'events', body: order }, ...happened, ...taken, ...canceled]
  })

/** The same orders, as if no canceled refund had ever taken place. */
const withoutCanceled = (orders: Order[]): Order[] =>
  orders.map((one) => ({ ...one, refunds: one.refunds.filter(({ isCanceled }) => !isCanceled) }))

/** Under a new key, so that a repetition is no replay. */
function send({ path, body }: Event) {
  const headers = { 'Idempotency-Key': crypto.randomUUID() }
  return expectOk(till.server.request(body ? 'POST' : 'DELETE', `/api/v1/${path}`, body ? { body, headers } : {}))
}

/** What the shop owes for each order, and what its journey and explanation show. */
async function ledgerOf(name: string, orders: Order[]) {
  return Promise.all(
    orders.map(async (_, index) => {
      const {
        commission: row,
        refunds,
        arithmetic,
      } = await expectOk(till.admin('GET', `/orders/${name}-${index}/explanation`))
      return {
        amountCents: row.commissionAmountCents,
        taxWithheldCents: row.taxWithheldCents,
        status: row.orderStatus,
        refundedCents: refunds.reduce((sum: number, one: { goodsCents: number }) => sum + one.goodsCents, 0),
        left: arithmetic.at(-1).cents,
      }
    }),
  )
}

/** Random positions of the events, some of them twice, and how many are sent at once. */
const schedule = fc.record({
  keys: fc.array(fc.double({ noNaN: true, min: 0, max: 1 }), { minLength: 40, maxLength: 40 }),
  repeats: fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
  parallel: fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 40, maxLength: 40 }),
})

test('orders, refunds and cancellations of both in any order, repeated and in parallel, end in one ledger', {
  timeout: 600_000,
}, async () => {
  const schedules = fc.array(schedule, { minLength: PER_SCENARIO, maxLength: PER_SCENARIO })
  await fc.assert(
    fc.asyncProperty(fc.array(order, { minLength: 1, maxLength: 2 }), schedules, async (orders, shuffles) => {
      const scenario = `s-${++scenarios}`
      for (const event of eventsOf(scenario, withoutCanceled(orders))) await send(event)
      const expected = await ledgerOf(scenario, orders)
      for (const [n, { keys, repeats, parallel }] of shuffles.entries()) {
        const name = `${scenario}-${n}`
        const events = eventsOf(name, orders)
        const sent = [...events, ...events.filter((_, i) => repeats[i])]
          .map((event, i) => ({ event, key: keys[i]! }))
          .sort((a, b) => a.key - b.key)
          .map(({ event }) => event)
        for (let at = 0, group = 0; at < sent.length; group++) {
          const count = parallel[group]!
          await Promise.all(sent.slice(at, at + count).map(send))
          at += count
        }
        expect(await ledgerOf(name, orders)).toEqual(expected)
      }
    }),
    { numRuns: Math.ceil(RUNS / PER_SCENARIO), endOnFailure: true },
  )
})

/** What the affiliate is owed or was paid for an order, with its adjustments, before tax and in tax. */
async function netOf(orderId: string): Promise<number[]> {
  const { commission: row } = await expectOk(till.admin('GET', `/orders/${orderId}/explanation`))
  if (row.orderStatus === 'CANCELED') return [0, 0]
  const { data } = await till.server.client.commissions.list({ affiliateId: row.affiliateId, limit: 100 })
  const own = [row, ...data.filter((one) => one.orderId.startsWith(`adj:${row.id}:`))]
  return [
    own.reduce((sum, one) => sum + one.commissionAmountCents, 0),
    own.reduce((sum, one) => sum + one.taxWithheldCents, 0),
  ]
}

/** Every order has its own day, so that a batch of the day pays this order alone. */
let days = 0

test('refunds and cancellations of both, before and after the payment, in any order, take back the same amount', {
  timeout: 600_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(order, schedule, fc.nat({ max: 9 }), async (one, { keys }, paidAfter) => {
      const expected = await netAfter(withoutCanceled([one])[0]!, [])
      expect(await netAfter(one, keys, paidAfter)).toEqual(expected)
    }),
    { numRuns: Math.ceil(RUNS / 2), endOnFailure: true },
  )
})

async function netAfter(one: Order, keys: number[], paidAfter?: number): Promise<number[]> {
  const name = `p-${++days}`
  const day = new Date(Date.UTC(2020, 0, days)).toISOString()
  const [conversion, ...happened] = eventsOf(name, [one]) as [Event, ...Event[]]
  const sent = happened.map((event, i) => ({ event, key: keys[i] ?? 0 })).sort((a, b) => a.key - b.key)
  await send({ ...conversion, body: { ...conversion.body, occurredAt: day } })
  for (let at = 0; at <= sent.length; at++) {
    if (at === paidAfter || (at === sent.length && paidAfter && paidAfter > at)) await pay(day)
    const next = sent[at]
    if (next) await send(next.event)
  }
  return netOf(`${name}-0`)
}

/** Pays the order of a day, unless nothing is left of it. */
async function pay(day: string): Promise<void> {
  const batch = await till.batch({ periodStart: day, periodEnd: day.replace('00.000Z', '01.000Z') })
  if (batch.status === 404) return
  await expectOk(till.pay((await expectOk(Promise.resolve(batch))).id))
}
