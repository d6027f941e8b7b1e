import { amountAt } from './commission.ts'
import type { OrderLine, RateGroup } from './facts.ts'
import { type Goods, goodsOf } from './line-groups.ts'
import { apportion, bpsOf, sum, whole } from './money.ts'
import {
  addRefund,
  indexLines,
  type Refund,
  type RefundedGoods,
  type RefundedOrder,
  type RefundProblem,
  untouched,
} from './refund-items.ts'

/** What was recorded with a commission; refunds are computed from it, never from today's rate. */
export interface RefundSnapshot {
  subtotalCents: number
  discountCents: number
  lines: OrderLine[]
  /** The recorded base, which may be less than the order's goods; see `RateGroup` for the parts it consists of. */
  baseCents: number
  groups: RateGroup[]
  taxWithholdingBps: number
}

/** What a commission comes to after refunds, all in cents. */
export interface RefundTarget {
  amountCents: number
  taxWithheldCents: number
  remainingBaseCents: number
  /** Goods of the order, net of discount, that refunds have taken. */
  refundedCents: number
  /** Goods of the order, net of discount, that a further refund may take. */
  leftCents: number
  /** Nothing that was paid for is left: the commission becomes `REFUNDED`. */
  fullyRefunded: boolean
}

/** One refund applied to the totals of the earlier ones. */
export interface AppliedRefund {
  before: RefundTarget
  after: RefundTarget
  /** The running totals that the next refund starts from. */
  refunded: RefundedGoods
  /** Why the refund asks for more than was left; it is cut off there. */
  problem: RefundProblem | null
}

/** The order cut into what commission is paid on and, last, the goods outside of that. */
interface Cut extends RefundedOrder {
  groups: RateGroup[]
  bases: number[]
  taxWithholdingBps: number
}

/**
 * The commission after all refunds so far; without totals, before the first one. It depends on the totals alone:
 * refunding twice equals refunding the sum once. A percentage is taken of what is left of the base; FLAT_PER_ITEM pays
 * the pieces that are left (an amount without line items changes it only when nothing is left); FLAT_PER_ORDER stays
 * until nothing is left. Refunds without line items are shared by all parts of the order pro rata.
 */
export function refundTarget(snapshot: RefundSnapshot, refunded?: RefundedGoods): RefundTarget {
  const cut = cutOf(snapshot)
  return targetOf(cut, refunded ?? untouched(cut))
}

/** Applies the next refund. The work does not depend on how many refunds came before. */
export function applyRefund(
  snapshot: RefundSnapshot,
  earlier: RefundedGoods | undefined,
  refund: Refund,
): AppliedRefund {
  const cut = cutOf(snapshot)
  const before = earlier ?? untouched(cut)
  const { refunded, problem } = addRefund(cut, before, refund)
  return { before: targetOf(cut, before), after: targetOf(cut, refunded), refunded, problem }
}

/** The running totals of refunds, in the order they came. */
export function totalRefunds(snapshot: RefundSnapshot, refunds: readonly Refund[]): RefundedGoods {
  const cut = cutOf(snapshot)
  return refunds.reduce((before, refund) => addRefund(cut, before, refund).refunded, untouched(cut))
}

function targetOf(cut: Cut, taken: RefundedGoods): RefundTarget {
  const remaining = remainingBases(cut, taken)
  const gone = cut.groups.map((group, part) => isGone(cut, taken, group, remaining[part]!))
  const kept = cut.groups.map((group, part) => (gone[part] ? 0 : amountLeft(group, remaining[part]!, taken.pieces)))
  const amountCents = Number(sum(kept.map(whole)))
  return {
    amountCents,
    taxWithheldCents: bpsOf(amountCents, cut.taxWithholdingBps),
    remainingBaseCents: remaining.slice(0, cut.groups.length).reduce((total, base) => total + base, 0),
    refundedCents: taken.cents,
    leftCents: cut.goods.base - taken.cents,
    fullyRefunded: gone.every(Boolean),
  }
}

/** Several refunds may be applied to one snapshot, and cutting an order of many lines is most of the work. */
const cuts = new WeakMap<RefundSnapshot, Cut>()

function cutOf(snapshot: RefundSnapshot): Cut {
  const known = cuts.get(snapshot)
  if (known) return known
  const cut = newCut(snapshot)
  cuts.set(snapshot, cut)
  return cut
}

/** A restricted commission has no groups: its base stands as one part that pays nothing. */
function newCut(snapshot: RefundSnapshot): Cut {
  const { subtotalCents, discountCents, lines, baseCents, groups, taxWithholdingBps } = snapshot
  const goods: Goods = goodsOf({ amountCents: subtotalCents, discountCents, lines })
  const paid = groups.length > 0 ? groups : [unpaid(baseCents)]
  const bases = paid.map((group) => group.baseCents)
  const outside = goods.base - bases.reduce((total, base) => total + base, 0)
  const partOf = lines.map(() => paid.length)
  paid.forEach((group, part) => {
    for (const index of group.lines) partOf[index] = part
  })
  return {
    lines,
    goods,
    groups: paid,
    bases: [...bases, Math.max(0, outside)],
    parts: paid.length + 1,
    partOf,
    byVariant: indexLines(lines, 'variantId'),
    byProduct: indexLines(lines, 'productId'),
    taxWithholdingBps,
  }
}

function unpaid(baseCents: number): RateGroup {
  return { commissionType: 'PERCENT_OF_SALE', rate: 0, baseCents, quantity: 0, amountCents: 0, lines: [] }
}

/** What refunds point at goes first; the rest is shared by what that leaves. */
function remainingBases({ bases }: Cut, { cents, pointed }: RefundedGoods): number[] {
  const rest = bases.map((base, part) => Math.max(0, base - pointed[part]!))
  const direct = bases.reduce((total, base, part) => total + base - rest[part]!, 0)
  const shared = apportion(Math.max(0, cents - direct), rest)
  return rest.map((base, part) => base - shared[part]!)
}

/** Where money tells nothing, because the part was worth nothing, the pieces decide. */
function isGone(cut: Cut, taken: RefundedGoods, group: RateGroup, remaining: number): boolean {
  if (taken.everything) return true
  if (group.baseCents > 0) return remaining === 0
  return group.lines.length > 0 && group.lines.every((index) => taken.pieces[index]! >= cut.lines[index]!.quantity)
}

function amountLeft(group: RateGroup, baseCents: number, pieces: number[]): number {
  const returned = group.lines.reduce((total, index) => total + pieces[index]!, 0)
  return amountAt({ ...group, baseCents, quantity: Math.max(0, group.quantity - returned) })
}
