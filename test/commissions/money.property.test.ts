// Full: it runs long random histories.
import fc from 'fast-check'
import { expect } from 'vitest'
import type { Reply } from '../support/server.ts'
import { test } from '../support/test.ts'
import { Till } from './money.ts'

const RUNS = Number(process.env.MONEY_RUNS ?? (process.env.TEST_ENGINE === 'postgres' ? 30 : 200))
const BPS = 1650
const TAX_BPS = 1000
const COUNTED = ['APPROVED', 'PAYABLE', 'PAID', 'REVERSED', 'REFUNDED']
const MONTHS = [8, 9, 10, 11]

/** Rounds half up to whole cents, computed independently of the engine. */
const share = (cents: number, bps: number) => Number((BigInt(cents) * BigInt(bps) + 5000n) / 10_000n)
const month = (index: number) => {
  const name = String(MONTHS[index % MONTHS.length]).padStart(2, '0')
  const last = new Date(Date.UTC(2026, MONTHS[index % MONTHS.length]!, 0)).getUTCDate()
  return {
    periodStart: `2026-${name}-01`,
    periodEnd: `2026-${name}-${last}T23:59:59.999Z`,
    at: `2026-${name}-02T00:00:00.000Z`,
  }
}

/** The expected state of one order. */
interface Known {
  id: string
  goods: number
  refunded: number
  status: string
}

type Step =
  | { do: 'order'; cents: number; currency: string; discounts: number[]; affiliate: number; month: number }
  | { do: 'refund'; order: number; part: number; all: boolean }
  | { do: 'move'; order: number; action: string }
  | { do: 'bulk'; action: string }
  | { do: 'batch'; month: number; currency: string }
  | { do: 'pay' | 'cancel'; batch: number }

const index = fc.nat({ max: 30 })
/** With two decimals, none, and three. */
const currency = fc.constantFrom('USD', 'JPY', 'KWD')
const action = fc.constantFrom('approve', 'approve', 'reject', 'cancel', 'reverse', 'reopen')
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('order' as const),
      cents: fc.integer({ min: 0, max: 99_999 }),
      currency,
      // Of lines that share one variant; without any, the order has an amount alone.
      discounts: fc.array(fc.constantFrom(0, 1, 999, 99_999), { maxLength: 3 }),
      affiliate: fc.nat({ max: 1 }),
      month: index,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('refund' as const),
      order: index,
      part: fc.integer({ min: 1, max: 99_999 }),
      all: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('move' as const), order: index, action }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('bulk' as const), action }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('batch' as const), month: index, currency }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pay' as const), batch: index }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), batch: index }) },
)

const FROM: Record<string, string[]> = {
  approve: ['PENDING'],
  reject: ['PENDING', 'APPROVED'],
  cancel: ['PENDING', 'APPROVED', 'PAYABLE'],
  reverse: ['PAID'],
  reopen: ['REJECTED'],
}
const TO: Record<string, string> = {
  approve: 'APPROVED',
  reject: 'REJECTED',
  cancel: 'CANCELED',
  reverse: 'REVERSED',
  reopen: 'PENDING',
}
const REFUNDABLE = ['PENDING', 'APPROVED', 'PAYABLE', 'PAID']

class Run {
  readonly till: Till
  readonly orders: Known[] = []
  readonly batches: string[] = []

  constructor(till: Till) {
    this.till = till
  }

  async take(one: Step): Promise<void> {
    switch (one.do) {
      case 'order':
        return this.#order(one)
      case 'refund':
        return this.#refund(one)
      case 'move':
        return this.#move(one)
      case 'bulk':
        return this.#bulk(one)
      case 'batch':
        return this.#batch(one)
      default:
        return this.#settle(one)
    }
  }

  async #order({ cents, currency, discounts, affiliate, month: index }: Step & { do: 'order' }) {
    const couponCode = ['AAA', 'BBB'][affiliate]
    const own = discounts.map((discount) => Math.min(discount, cents))
    const lineItems = own.map((discountCents) => ({ variantId: '13', quantity: 1, priceCents: cents, discountCents }))
    const discountCents = own.reduce((sum, discount) => sum + discount, 0)
    const goods = discounts.length > 0 ? cents * discounts.length - discountCents : cents
    const amounts = discounts.length > 0 ? { amountCents: undefined, discountCents, lineItems } : { amountCents: cents }
    const id = await this.till.order({ ...amounts, currency, couponCode, occurredAt: month(index).at })
    // The first affiliate's program auto-approves; an order of 0 earns nothing.
    this.orders.push({
      id,
      goods,
      refunded: 0,
      status: goods === 0 ? 'REJECTED' : affiliate ? 'PENDING' : 'APPROVED',
    })
  }

  async #pick(index: number): Promise<Known | undefined> {
    const known = this.orders[index % (this.orders.length || 1)]
    // Batches change statuses too.
    if (known) known.status = (await this.till.row(known.id)).orderStatus
    return known
  }

  async #refund({ order, part, all }: Step & { do: 'refund' }) {
    const known = await this.#pick(order)
    if (!known) return
    const left = known.goods - known.refunded
    const wanted = all ? left : Math.min(part, left + 1)
    const reply = await this.till.refund(known.id, `r-${known.refunded}-${wanted}-${all}`, all ? undefined : wanted)
    const isFine = REFUNDABLE.includes(known.status) && wanted <= left && left > 0
    expect([reply.status, known, wanted]).toEqual([isFine ? 200 : 409, known, wanted])
    if (!isFine) return
    known.refunded += wanted
    if (known.status !== 'PAID' && known.refunded === known.goods) known.status = 'REFUNDED'
  }

  async #move({ order, action }: Step & { do: 'move' }) {
    const known = await this.#pick(order)
    if (!known) return
    const reply = await this.till.act(action, known.id)
    const isFine = FROM[action]!.includes(known.status) && !(action === 'reopen' && known.goods === 0)
    expect([reply.status, action, known]).toEqual([isFine ? 200 : 409, action, known])
    if (isFine) known.status = TO[action]!
  }

  async #bulk({ action }: Step & { do: 'bulk' }) {
    for (const index of this.orders.keys()) await this.#pick(index)
    const movable = this.orders.filter(
      ({ status, goods }) => FROM[action]!.includes(status) && !(action === 'reopen' && goods === 0),
    )
    const { body } = await this.till.admin('POST', '/commissions/moderate', { action, filter: {} })
    expect([body.data.changed, body.data.remaining]).toEqual([movable.length, 0])
    for (const known of movable) known.status = TO[action]!
  }

  async #batch({ month: index, currency }: Step & { do: 'batch' }) {
    const { periodStart, periodEnd } = month(index)
    const reply: Reply = await this.till.batch({ periodStart, periodEnd, currency })
    expect([200, 404, 409]).toContain(reply.status)
    if (reply.status === 200) this.batches.push(reply.body.data.id)
  }

  async #settle({ do: what, batch }: Step & { do: 'pay' | 'cancel' }) {
    const id = this.batches[batch % (this.batches.length || 1)]
    if (!id) return
    const { status } = await this.till.batchOf(id)
    const reply = await (what === 'pay' ? this.till.pay(id) : this.till.cancelBatch(id))
    const isFine = status === 'OPEN' || (what === 'cancel' && status === 'FAILED')
    expect([reply.status, what, status]).toEqual([isFine ? 200 : 409, what, status])
  }

  /** Every commission and its adjustments add up to the share of the goods that were not refunded. */
  async check(): Promise<void> {
    const all = await this.till.rows()
    let money = 0
    for (const known of this.orders) {
      const rows = all.filter((row) => row.id === known.id || row.orderId.startsWith(`adj:${known.id}:`))
      const own = rows.find((row) => row.id === known.id)!
      known.status = own.orderStatus
      expect([own.commissionAmountCents, known]).toEqual([share(own.remainingBaseCents, BPS), known])
      const cents = rows.reduce((sum, row) => sum + row.commissionAmountCents, 0)
      const tax = rows.reduce((sum, row) => sum + row.taxWithheldCents, 0)
      const amount = known.status === 'REVERSED' || known.goods === 0 ? 0 : share(known.goods - known.refunded, BPS)
      expect({ cents, tax, known }).toEqual({ cents: amount, tax: share(amount, TAX_BPS), known })
      if (!['PENDING', 'REJECTED', 'CANCELED'].includes(known.status)) money += amount
    }
    const counted = all.filter((row) => COUNTED.includes(row.orderStatus))
    expect(counted.reduce((sum, row) => sum + row.commissionAmountCents, 0)).toBe(money)
    await this.till.checkBatches()
  }
}

test('the sums are exact to the cent after any sequence of operations', async ({ server }) => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), async (steps) => {
    const till = new Till(server, await server.createShop())
    await till.admin('PATCH', '/settings', { taxWithholdingBps: TAX_BPS })
    await till.affiliate('AAA', { commissionPercent: 16.5 })
    await till.affiliate('BBB', { commissionPercent: 16.5, autoApproveOrder: false })
    const run = new Run(till)
    for (const one of steps) await run.take(one)
    await run.check()
  })
  await fc.assert(property, { numRuns: RUNS })
}, 3_600_000)
