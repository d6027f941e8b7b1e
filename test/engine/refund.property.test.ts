import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decide } from '../../server/src/engine/decide.ts'
import type { OrderLine } from '../../server/src/engine/facts.ts'
import { checkRefund, type RefundSnapshot, refundTarget } from '../../server/src/engine/refund.ts'
import type { Refund } from '../../server/src/engine/refund-goods.ts'
import { anyFacts } from './arbitraries.ts'
import { amount, items, snapshotOf } from './snapshot.ts'

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
  kind: fc.constantFrom('amount', 'items', 'both', 'all'),
  part: fc.double({ min: 0, max: 1, noNaN: true }),
  line: fc.nat(5),
})
type Wish = { kind: string; part: number; line: number }

function granted(snapshot: RefundSnapshot, earlier: Refund[], { kind, part, line }: Wish): Refund | null {
  const { leftCents } = refundTarget(snapshot, earlier)
  const index = snapshot.lines.length > 0 ? line % snapshot.lines.length : 0
  const quantity = Math.max(1, Math.ceil(part * (snapshot.lines[index]?.quantity ?? 1)))
  const cents = Math.floor(part * leftCents)
  const refund =
    kind === 'all'
      ? amount(null)
      : kind === 'amount'
        ? amount(cents)
        : pieces(index, quantity, kind === 'both' ? cents : null)
  return checkRefund(snapshot, earlier, refund).ok ? refund : null
}

function sequence(snapshot: RefundSnapshot, wishes: Wish[]): Refund[] {
  const refunds: Refund[] = []
  for (const next of wishes) {
    const refund = granted(snapshot, refunds, next)
    if (refund) refunds.push(refund)
  }
  return refunds
}

test('no refund, no change', () => {
  fc.assert(
    fc.property(anyFacts, (facts) => {
      const { amountCents, taxWithheldCents } = decide(facts)
      expect(refundTarget(snapshotOf(facts), [])).toMatchObject({ amountCents, taxWithheldCents, fullyRefunded: false })
    }),
    RUNS,
  )
})

test('refund a, then b, equals refund a + b', () => {
  fc.assert(
    fc.property(orders, fc.nat(), fc.nat(), (snapshot, one, two) => {
      const { leftCents } = refundTarget(snapshot, [])
      const a = one % (leftCents + 1)
      const b = two % (leftCents - a + 1)
      expect(refundTarget(snapshot, [amount(a), amount(b)])).toEqual(refundTarget(snapshot, [amount(a + b)]))
    }),
    RUNS,
  )
})

test('pieces given back one by one equal all of them at once', () => {
  fc.assert(
    fc.property(orders, fc.nat(5), fc.nat(8), (snapshot, line, part) => {
      fc.pre(line < snapshot.lines.length)
      const quantity = 1 + (part % snapshot.lines[line]!.quantity)
      const single = Array.from({ length: quantity }, () => pieces(line, 1))
      expect(refundTarget(snapshot, single)).toEqual(refundTarget(snapshot, [pieces(line, quantity)]))
    }),
    RUNS,
  )
})

test('an amount with pieces may be split like any other', () => {
  fc.assert(
    fc.property(orders, fc.nat(5), fc.nat(), fc.nat(), (snapshot, line, one, two) => {
      fc.pre(line < snapshot.lines.length && snapshot.lines[line]!.quantity >= 2)
      const worth = checkRefund(snapshot, [], pieces(line, 2))
      fc.pre(worth.ok && worth.amountCents > 1)
      const half = checkRefund(snapshot, [], pieces(line, 1))
      fc.pre(half.ok && half.amountCents > 0)
      const { leftCents } = refundTarget(snapshot, [])
      const a = one % (leftCents + 1)
      const b = two % (leftCents - a + 1)
      const split = [pieces(line, 1, a), pieces(line, 1, b)]
      expect(refundTarget(snapshot, split)).toEqual(refundTarget(snapshot, [pieces(line, 2, a + b)]))
    }),
    RUNS,
  )
})

test('refunds only ever take: amount, tax and base fall, none is negative, all sums agree', () => {
  fc.assert(
    fc.property(orders, fc.array(wish, { maxLength: 6 }), (snapshot, wishes) => {
      const refunds = sequence(snapshot, wishes)
      const targets = [...refunds.keys(), refunds.length].map((count) =>
        refundTarget(snapshot, refunds.slice(0, count)),
      )
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
      expect(refundTarget(snapshot, [...refunds, amount(null)])).toMatchObject({
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
      const refund = granted(snapshot, earlier, last)
      fc.pre(refund !== null)
      const check = checkRefund(snapshot, earlier, refund)
      const [before, after] = [refundTarget(snapshot, earlier), refundTarget(snapshot, [...earlier, refund])]
      expect(check).toEqual({
        ok: true,
        amountCents: after.refundedCents - before.refundedCents,
        leftCents: after.leftCents,
      })
    }),
    RUNS,
  )
})
