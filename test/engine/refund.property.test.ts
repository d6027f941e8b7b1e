import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decide } from '../../server/src/engine/decide.ts'
import type { OrderLine } from '../../server/src/engine/facts.ts'
import type { Refund, RefundedGoods, RefundLine } from '../../server/src/engine/refund.ts'
import { addRefund, applyRefund, type RefundSnapshot, refundTarget } from '../../server/src/engine/refund.ts'
import { anyFacts } from './arbitraries.ts'
import { amount, checkNext, items, snapshotOf, targetAfter, totalsAfter } from './snapshot.ts'

const RUNS = { numRuns: 500 }

/** Earning orders whose lines carry ids of their own, so that refunds can name them. */
const orders = anyFacts
  .map((facts) => {
    const lines: OrderLine[] = facts.order.lines.map((entry, index) => ({ ...entry, variantId: `${index}` }))
    return { ...facts, order: { ...facts.order, lines } }
  })
  .filter((facts) => decide(facts).eligible)
  .map(snapshotOf)

const pieces = (index: number, quantity: number, amountCents: number | null = null) =>
  items([{ variantId: `${index}`, quantity }], amountCents)

/** A random refund that the order still allows; null when it refuses. */
const wish = fc.record({
  kind: fc.constantFrom('amount', 'items', 'lines', 'both', 'all'),
  part: fc.double({ min: 0, max: 1, noNaN: true }),
  line: fc.nat(5),
})
type Wish = { kind: string; part: number; line: number }

function granted(snapshot: RefundSnapshot, totals: RefundedGoods | undefined, wanted: Wish): Refund | null {
  const refund = wished(snapshot, refundTarget(snapshot, totals).leftCents, wanted)
  return applyRefund(snapshot, totals, refund).problem ? null : refund
}

function wished({ lines }: RefundSnapshot, leftCents: number, { kind, part, line }: Wish): Refund {
  const index = lines.length > 0 ? line % lines.length : 0
  const quantityOf = (at: number) => Math.max(1, Math.ceil(part * (lines[at]?.quantity ?? 1)))
  const cents = Math.floor(part * leftCents)
  if (kind === 'all') return amount(null)
  if (kind === 'amount') return amount(cents)
  if (kind === 'lines') return items(lines.map((_, at) => ({ variantId: `${at}`, quantity: quantityOf(at) })))
  return pieces(index, quantityOf(index), kind === 'both' ? cents : null)
}

function sequence(snapshot: RefundSnapshot, wishes: Wish[]): Refund[] {
  const refunds: Refund[] = []
  let totals: RefundedGoods | undefined
  for (const next of wishes) {
    const refund = granted(snapshot, totals, next)
    if (!refund) continue
    refunds.push(refund)
    totals = applyRefund(snapshot, totals, refund).refunded
  }
  return refunds
}

/** Two refunds that make up one, or the one where it cannot be divided. */
function divided(snapshot: RefundSnapshot, totals: RefundedGoods | undefined, refund: Refund, part: number): Refund[] {
  const { amountCents, lineItems } = refund
  const { leftCents } = refundTarget(snapshot, totals)
  const first = amountCents === null ? null : Math.floor(amountCents * part)
  const rest = first === null ? null : amountCents! - first
  if (!lineItems) return [amount(first ?? Math.floor(leftCents * part)), amount(rest)]
  const taken = lineItems.map((item) => ({ ...item, quantity: Math.floor(item.quantity * part) }))
  const others = lineItems.map((item, at) => ({ ...item, quantity: item.quantity - taken[at]!.quantity }))
  const [one, two] = [taken, others].map((some) => some.filter(({ quantity }) => quantity > 0)) as [
    RefundLine[],
    RefundLine[],
  ]
  if (one.length === 0 || two.length === 0) return [refund]
  // Pieces without value belong to no part of the order, so an amount sent with them is shared by all parts.
  const worth = (some: RefundLine[], before = totals) => applyRefund(snapshot, before, items(some))
  const half = worth(one)
  const values = [half, worth(two, half.refunded)].map(
    ({ before, after }) => after.refundedCents - before.refundedCents,
  )
  if (amountCents !== null && values.includes(0)) return [refund]
  return [items(one, first), items(two, rest)]
}

test('no refund, no change', () => {
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const { amountCents, taxWithheldCents } = decide(facts)
      expect(targetAfter(snapshotOf(facts), [])).toMatchObject({ amountCents, taxWithheldCents, fullyRefunded: false })
    }),
    RUNS,
  )
})

test('refund a, then b, equals refund a + b', () => {
  fc.assert(
    fc.property(orders, fc.nat(), fc.nat(), (snapshot, one, two) => {
      const { leftCents } = targetAfter(snapshot, [])
      const a = one % (leftCents + 1)
      const b = two % (leftCents - a + 1)
      expect(targetAfter(snapshot, [amount(a), amount(b)])).toEqual(targetAfter(snapshot, [amount(a + b)]))
    }),
    RUNS,
  )
})

test('in any sequence by lines and by amounts, dividing each refund in two changes nothing', () => {
  const parts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 12, maxLength: 12 })
  fc.assert(
    fc.property(orders, fc.array(wish, { maxLength: 12 }), parts, (snapshot, wishes, by) => {
      const refunds = sequence(snapshot, wishes)
      const halves = refunds.flatMap((refund, index) =>
        divided(snapshot, totalsAfter(snapshot, refunds.slice(0, index)), refund, by[index]!),
      )
      expect(targetAfter(snapshot, halves)).toEqual(targetAfter(snapshot, refunds))
    }),
    { numRuns: 1500 },
  )
})

test('after many refunds, stored totals equal the totals of all refunds at once', () => {
  fc.assert(
    fc.property(orders, fc.array(wish, { minLength: 50, maxLength: 200 }), (snapshot, wishes) => {
      const small = wishes.map((one) => ({
        ...one,
        kind: one.kind === 'all' ? 'amount' : one.kind,
        part: one.part / 20,
      }))
      const refunds = sequence(snapshot, small)
      fc.pre(refunds.length > 0)
      const [first, ...others] = refunds.toReversed()
      const all = others.reduce(
        (totals, refund) => addRefund(snapshot, totals, refund),
        addRefund(snapshot, undefined, first!),
      )
      expect(totalsAfter(snapshot, refunds)).toEqual(all)
      const cents = refunds.filter(({ lineItems }) => !lineItems).map(({ amountCents }) => amountCents!)
      const sum = cents.reduce((total, one) => total + one, 0)
      expect(targetAfter(snapshot, cents.map(amount))).toEqual(targetAfter(snapshot, [amount(sum)]))
    }),
    { numRuns: 300 },
  )
})

test('pieces given back one by one equal all of them at once', () => {
  fc.assert(
    fc.property(orders, fc.nat(5), fc.nat(8), (snapshot, line, part) => {
      fc.pre(line < snapshot.lines.length)
      const quantity = 1 + (part % snapshot.lines[line]!.quantity)
      const single = Array.from({ length: quantity }, () => pieces(line, 1))
      expect(targetAfter(snapshot, single)).toEqual(targetAfter(snapshot, [pieces(line, quantity)]))
    }),
    RUNS,
  )
})

test('an amount with pieces may be split like any other', () => {
  fc.assert(
    fc.property(orders, fc.nat(5), fc.nat(), fc.nat(), (snapshot, line, one, two) => {
      fc.pre(line < snapshot.lines.length && snapshot.lines[line]!.quantity >= 2)
      const worth = checkNext(snapshot, [], pieces(line, 2))
      fc.pre(worth.ok && worth.amountCents > 1)
      const half = checkNext(snapshot, [], pieces(line, 1))
      fc.pre(half.ok && half.amountCents > 0)
      const { leftCents } = targetAfter(snapshot, [])
      const a = one % (leftCents + 1)
      const b = two % (leftCents - a + 1)
      const split = [pieces(line, 1, a), pieces(line, 1, b)]
      expect(targetAfter(snapshot, split)).toEqual(targetAfter(snapshot, [pieces(line, 2, a + b)]))
    }),
    RUNS,
  )
})

test('refunds only ever take: amount, tax and base fall, none is negative, all sums agree', () => {
  fc.assert(
    fc.property(orders, fc.array(wish, { maxLength: 6 }), (snapshot, wishes) => {
      const refunds = sequence(snapshot, wishes)
      const targets = [...refunds.keys(), refunds.length].map((count) => targetAfter(snapshot, refunds.slice(0, count)))
      targets.forEach((target, index) => {
        const before = targets[index - 1] ?? target
        expect(target.amountCents).toBeLessThanOrEqual(before.amountCents)
        expect(target.taxWithheldCents).toBeLessThanOrEqual(before.taxWithheldCents)
        expect(target.remainingBaseCents).toBeLessThanOrEqual(before.remainingBaseCents)
        expect(
          Object.values(target).every(
            (value) => typeof value === 'boolean' || (Number.isSafeInteger(value) && value >= 0),
          ),
        ).toBe(true)
        expect(target.refundedCents + target.leftCents).toBe(targets[0]!.leftCents)
        expect(target.remainingBaseCents).toBeLessThanOrEqual(target.leftCents)
        if (before.fullyRefunded) expect(target).toMatchObject({ fullyRefunded: true, amountCents: 0 })
      })
    }),
    { numRuns: 1500 },
  )
})

test('a refund of all that is left always ends at nothing', () => {
  fc.assert(
    fc.property(orders, fc.array(wish, { maxLength: 4 }), (snapshot, wishes) => {
      const refunds = sequence(snapshot, wishes)
      expect(targetAfter(snapshot, [...refunds, amount(null)])).toMatchObject({
        amountCents: 0,
        taxWithheldCents: 0,
        remainingBaseCents: 0,
        leftCents: 0,
        fullyRefunded: true,
      })
    }),
    RUNS,
  )
})

test('every check agrees with what the target then takes', () => {
  fc.assert(
    fc.property(orders, fc.array(wish, { maxLength: 4 }), wish, (snapshot, wishes, last) => {
      const earlier = sequence(snapshot, wishes)
      const refund = granted(snapshot, totalsAfter(snapshot, earlier), last)
      fc.pre(refund !== null)
      const check = checkNext(snapshot, earlier, refund)
      const [before, after] = [targetAfter(snapshot, earlier), targetAfter(snapshot, [...earlier, refund])]
      expect(check).toEqual({
        ok: true,
        amountCents: after.refundedCents - before.refundedCents,
        leftCents: after.leftCents,
      })
    }),
    RUNS,
  )
})

/** An order as a store reports it: each line with its own id, price and discount, and several with one variant. */
const storeOrders = fc
  .record({
    facts: anyFacts,
    lines: fc.array(
      fc.record({
        productId: fc.constantFrom(null, '7', '8'),
        variantId: fc.constantFrom(null, '1', '2'),
        quantity: fc.integer({ min: 1, max: 4 }),
        priceCents: fc.integer({ min: 0, max: 5000 }),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      { minLength: 1, maxLength: 5 },
    ),
  })
  .map(({ facts, lines }): typeof facts => {
    const own = lines.map(({ share, ...line }, at) => ({
      ...line,
      id: `line-${at}`,
      discountCents: Math.floor(share * line.quantity * line.priceCents),
    }))
    const discountCents = own.reduce((total, line) => total + line.discountCents, 0)
    return { ...facts, order: { ...facts.order, amountCents: null, discountCents, lines: own } }
  })
  .filter((facts) => decide(facts).eligible)
  .map(snapshotOf)

/** Refunds of single units by line, each with the store's amount for it, which add up to what was paid. */
const unitsOf = ({ lines }: RefundSnapshot): Refund[] =>
  lines.flatMap(({ id, quantity, priceCents, discountCents }) => {
    const net = quantity * priceCents! - discountCents!
    const upTo = (units: number) => Math.floor((net * units) / quantity)
    return Array.from({ length: quantity }, (_, unit) =>
      items([{ id: id!, quantity: 1, amountCents: upTo(unit + 1) - upTo(unit) }]),
    )
  })

test('refunds that add up to what was paid leave nothing', () => {
  fc.assert(
    fc.property(storeOrders, (snapshot) => {
      expect(targetAfter(snapshot, unitsOf(snapshot))).toMatchObject({
        amountCents: 0,
        leftCents: 0,
        fullyRefunded: true,
      })
    }),
    RUNS,
  )
})

/** Refunds that name lines by any of their ids, with and without a value, and by amounts. */
const anyRefund = fc.record({
  amountCents: fc.option(fc.nat({ max: 6000 })),
  lineItems: fc.array(
    fc.record({
      id: fc.constantFrom(null, null, 'line-0', 'line-1', 'line-2'),
      variantId: fc.constantFrom(null, '1', '2'),
      productId: fc.constantFrom(null, '7', '8'),
      quantity: fc.integer({ min: 1, max: 4 }),
      amountCents: fc.option(fc.nat({ max: 4000 })),
    }),
    { maxLength: 3 },
  ),
})

test('refunds that name lines in different ways give the same in any order of arrival', () => {
  const ranked = fc.array(fc.record({ refund: anyRefund, rank: fc.nat() }), { minLength: 2, maxLength: 6 })
  fc.assert(
    fc.property(storeOrders, ranked, (snapshot, arrivals) => {
      const reported = (list: typeof arrivals) => list.map(({ refund }) => ({ ...refund, refundId: 'r' }))
      const shuffled = arrivals.toSorted((one, other) => one.rank - other.rank)
      expect(targetAfter(snapshot, reported(shuffled))).toEqual(targetAfter(snapshot, reported(arrivals)))
    }),
    { numRuns: 1500 },
  )
})
