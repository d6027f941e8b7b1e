import { commissionAmount, type Goods, goodsOf } from './commission.ts'
import type { OrderLine, RateGroup } from './facts.ts'
import { allocateMonotonic, basisPointsOf, mulDiv, sum, toBigInt } from './money.ts'

/** What was recorded with a commission. Refunds are computed from it, not from the current rate. */
export interface RefundSnapshot {
  subtotalCents: number
  discountCents: number
  lines: OrderLine[]
  /** The recorded base, which may be less than the order's goods; see `RateGroup` for the parts it consists of. */
  baseCents: number
  groups: RateGroup[]
  taxWithholdingBps: number
}

/** A commission after refunds, in cents. */
export interface RefundTarget {
  amountCents: number
  taxWithheldCents: number
  remainingBaseCents: number
  /** Refunded goods of the order, net of discount. */
  refundedCents: number
  /** Goods of the order, net of discount, that are left to refund. */
  leftCents: number
  /** Nothing is left of what the commission is based on; it becomes `REFUNDED`. */
  fullyRefunded: boolean
}

/** One refund applied to the totals of the earlier ones. */
export interface AppliedRefund {
  before: RefundTarget
  after: RefundTarget
  /** The running totals for the next refund. */
  refunded: RefundedGoods
  /** Why the refund exceeds what was left; it is capped. */
  problem: RefundProblem | null
}

/** The order split into its rate groups and, last, the goods outside of them. */
interface OrderParts extends RefundedOrder {
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
  const cut = partsOf(snapshot)
  return targetOf(cut, refunded ?? noRefunds(cut))
}

/** Applies the next refund. The work does not depend on how many refunds came before. */
export function applyRefund(
  snapshot: RefundSnapshot,
  earlier: RefundedGoods | undefined,
  refund: Refund,
): AppliedRefund {
  const cut = partsOf(snapshot)
  const before = earlier ?? noRefunds(cut)
  const { refunded, problem } = addRefund(cut, before, refund)
  return { before: targetOf(cut, before), after: targetOf(cut, refunded), refunded, problem }
}

/** The running totals of refunds, in the order they came. */
export function totalRefunds(snapshot: RefundSnapshot, refunds: readonly Refund[]): RefundedGoods {
  const cut = partsOf(snapshot)
  return refunds.reduce((before, refund) => addRefund(cut, before, refund).refunded, noRefunds(cut))
}

function targetOf(cut: OrderParts, taken: RefundedGoods): RefundTarget {
  const remaining = remainingBases(cut, taken)
  const isRefunded = cut.groups.map((group, part) => isFullyRefunded(cut, taken, group, remaining[part]!))
  const kept = cut.groups.map((group, part) =>
    isRefunded[part] ? 0 : remainingAmount(group, remaining[part]!, taken.pieces),
  )
  const amountCents = Number(sum(kept.map(toBigInt)))
  return {
    amountCents,
    taxWithheldCents: basisPointsOf(amountCents, cut.taxWithholdingBps),
    remainingBaseCents: remaining.slice(0, cut.groups.length).reduce((total, base) => total + base, 0),
    refundedCents: taken.cents,
    leftCents: cut.goods.base - taken.cents,
    fullyRefunded: isRefunded.every(Boolean),
  }
}

/** Several refunds may be applied to one snapshot, and splitting an order of many lines is most of the work. */
const cachedParts = new WeakMap<RefundSnapshot, OrderParts>()

function partsOf(snapshot: RefundSnapshot): OrderParts {
  const known = cachedParts.get(snapshot)
  if (known) return known
  const cut = splitOrder(snapshot)
  cachedParts.set(snapshot, cut)
  return cut
}

/** A restricted commission has no groups; its base becomes one part that pays nothing. */
function splitOrder(snapshot: RefundSnapshot): OrderParts {
  const { subtotalCents, discountCents, lines, baseCents, groups, taxWithholdingBps } = snapshot
  const goods: Goods = goodsOf({ amountCents: subtotalCents, discountCents, lines })
  const paid = groups.length > 0 ? groups : [unpaidGroup(baseCents)]
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
    byId: indexLines(lines, 'id'),
    byVariant: indexLines(lines, 'variantId'),
    byProduct: indexLines(lines, 'productId'),
    taxWithholdingBps,
  }
}

function unpaidGroup(baseCents: number): RateGroup {
  return { commissionType: 'PERCENT_OF_SALE', rate: 0, baseCents, quantity: 0, amountCents: 0, lines: [] }
}

/** Refunds with line items reduce their own parts first; other refunds are shared by what remains. */
function remainingBases({ bases }: OrderParts, { cents, pointed }: RefundedGoods): number[] {
  const rest = bases.map((base, part) => Math.max(0, base - pointed[part]!))
  const direct = bases.reduce((total, base, part) => total + base - rest[part]!, 0)
  const shared = allocateMonotonic(Math.max(0, cents - direct), rest)
  return rest.map((base, part) => base - shared[part]!)
}

/** For a part with a base of zero, the refunded units decide. */
function isFullyRefunded(cut: OrderParts, taken: RefundedGoods, group: RateGroup, remaining: number): boolean {
  if (taken.everything) return true
  if (group.baseCents > 0) return remaining === 0
  return group.lines.length > 0 && group.lines.every((index) => taken.pieces[index]! >= cut.lines[index]!.quantity)
}

function remainingAmount(group: RateGroup, baseCents: number, pieces: number[]): number {
  const returned = group.lines.reduce((total, index) => total + pieces[index]!, 0)
  return commissionAmount({ ...group, baseCents, quantity: Math.max(0, group.quantity - returned) })
}

/** Refunded units. The line's own id takes precedence over `variantId`, and both over `productId`; ids are compared exactly. */
export interface RefundLine {
  id?: string | null
  variantId?: string | null
  productId?: string | null
  quantity: number
  /** The refunded value of the units, net of discount; at most what is left of the line counts. Missing for their share of it. */
  amountCents?: number | null
}

/**
 * One refund of an order. `amountCents` is goods net of discount, without shipping and tax; null means the value of the
 * line items or, without line items, everything that is left.
 */
export interface Refund {
  refundId: string
  amountCents: number | null
  lineItems?: RefundLine[] | null
}

/** Running totals of the refunds of an order; the next refund needs nothing else of the earlier ones. */
export interface RefundedGoods {
  /** Goods net of discount, in cents. */
  cents: number
  /** Units by line of the order. */
  pieces: number[]
  /** Refunded value by line, in cents. Missing in totals of earlier versions: the value of `pieces`. */
  values?: number[]
  /** Cents by part of the order, from refunds with line items; the rest of `cents` belongs to no part. */
  pointed: number[]
  /** The order was refunded in full, which `cents` does not show for an order of zero. */
  everything: boolean
}

/** Why a refund exceeds what the order has left. */
export type RefundProblem = 'UNKNOWN_ITEM' | 'EXCEEDS_ORDER'

/** The order that refunds apply to. `partOf` is the part of each line, 0 to `parts` − 1. */
export interface RefundedOrder {
  lines: OrderLine[]
  goods: Goods
  parts: number
  partOf: number[]
  /** Indexes of the lines by their own id, and by their item's. */
  byId: ItemIndex
  byVariant: ItemIndex
  byProduct: ItemIndex
}

type ItemIndex = ReadonlyMap<string, readonly number[]>

/** Indexes the lines of an order by one of their ids. */
export function indexLines(lines: OrderLine[], id: 'id' | 'variantId' | 'productId'): ItemIndex {
  const index = new Map<string, number[]>()
  lines.forEach((line, at) => {
    const key = line[id]
    if (key === null || key === undefined) return
    const known = index.get(key)
    if (known) known.push(at)
    else index.set(key, [at])
  })
  return index
}

/** Nothing refunded yet. */
export function noRefunds(order: RefundedOrder): RefundedGoods {
  const pieces = order.lines.map(() => 0)
  return { cents: 0, pieces, pointed: Array<number>(order.parts).fill(0), everything: false }
}

/** Adds one refund to the earlier totals. `problem` is set when it exceeds what is left. */
export function addRefund(
  order: RefundedOrder,
  before: RefundedGoods,
  refund: Refund,
): { refunded: RefundedGoods; problem: RefundProblem | null } {
  const left = order.goods.base - before.cents
  const items = refund.lineItems ?? []
  if (items.length === 0) {
    const isOver = refund.amountCents === null ? before.everything : refund.amountCents > left
    const cents = before.cents + Math.min(left, refund.amountCents ?? left)
    const everything = before.everything || refund.amountCents === null || (cents > 0 && cents === order.goods.base)
    return { refunded: { ...before, cents, everything }, problem: isOver ? 'EXCEEDS_ORDER' : null }
  }
  const { pieces, values, changed, outside, problem } = takePieces(order, before, items)
  const byPart = valuesByPart(order, { before: valuesOf(order, before), after: values, changed })
  const worth = byPart.reduce((total, value) => total + value, 0)
  const amount = refund.amountCents ?? worth + outside
  const cents = before.cents + Math.min(left, amount)
  const inside = Math.max(0, cents - before.cents - (refund.amountCents === null ? outside : 0))
  const pointed = allocateMonotonic(inside, byPart).map((value, part) => before.pointed[part]! + value)
  const everything = before.everything || (cents > 0 && cents === order.goods.base)
  return {
    refunded: { cents, pieces, values, pointed, everything },
    problem: problem ?? (amount > left ? 'EXCEEDS_ORDER' : null),
  }
}

/** The refunded value of each line. Without values, it follows from the units. */
const valuesOf = ({ lines, goods }: RefundedOrder, { pieces, values }: RefundedGoods): number[] =>
  values ?? lines.map(({ quantity }, index) => mulDiv(goods.net[index]!, pieces[index]!, quantity))

interface TakenPieces {
  pieces: number[]
  values: number[]
  /** Indexes of the lines with newly refunded units or values. */
  changed: Set<number>
  /** The value of items that are on no line, in cents. */
  outside: number
  problem: RefundProblem | null
}

/**
 * Takes units from the first lines with the item that have any left. Exhausted lines are not visited again, so the work
 * grows with items plus lines and not with their product.
 */
function takePieces(order: RefundedOrder, before: RefundedGoods, items: RefundLine[]): TakenPieces {
  const pieces = [...before.pieces]
  const values = [...valuesOf(order, before)]
  const changed = new Set<number>()
  const usedUp = new Map<readonly number[], number>()
  let outside = 0
  let problem: RefundProblem | null = null
  for (const item of items) {
    const matching = linesOf(order, item)
    if (matching.length === 0) problem = 'UNKNOWN_ITEM'
    let needed = item.quantity
    let at = usedUp.get(matching) ?? 0
    for (; needed > 0 && at < matching.length; at++) {
      const index = matching[at]!
      const available = order.lines[index]!.quantity - pieces[index]!
      const taken = Math.min(needed, available)
      if (!isValued(item)) values[index]! += unitsValue(order, index, { from: pieces[index]!, units: taken })
      pieces[index]! += taken
      changed.add(index)
      needed -= taken
      if (taken < available) break
    }
    usedUp.set(matching, at)
    if (needed > 0) problem ??= 'EXCEEDS_ORDER'
    if (!isValued(item)) continue
    const beyond = takeValue(order, values, { matching, cents: item.amountCents })
    for (const index of matching) changed.add(index)
    if (matching.length === 0) outside += beyond
    else if (beyond > 0) problem ??= 'EXCEEDS_ORDER'
  }
  return { pieces, values, changed, outside, problem }
}

const isValued = (item: RefundLine): item is RefundLine & { amountCents: number } =>
  typeof item.amountCents === 'number'

/** The value of a line's next units, as a difference of running totals, so that splitting a refund changes nothing. */
function unitsValue(
  { lines, goods }: RefundedOrder,
  index: number,
  { from, units }: { from: number; units: number },
): number {
  const { quantity } = lines[index]!
  const net = goods.net[index]!
  return mulDiv(net, from + units, quantity) - mulDiv(net, from, quantity)
}

/** Fills the first lines with the item up to what they are worth. Returns what is beyond that. */
function takeValue(
  { goods }: RefundedOrder,
  values: number[],
  { matching, cents }: { matching: readonly number[]; cents: number },
): number {
  let needed = cents
  for (const index of matching) {
    const taken = Math.min(needed, Math.max(0, goods.net[index]! - values[index]!))
    values[index]! += taken
    needed -= taken
  }
  return needed
}

const NO_LINES: readonly number[] = []

/** Indexes of the lines with an item. */
function linesOf(
  { byId, byVariant, byProduct }: RefundedOrder,
  { id, variantId, productId }: RefundLine,
): readonly number[] {
  const own = id ? byId.get(id) : undefined
  if (own) return own
  if (variantId) return byVariant.get(variantId) ?? NO_LINES
  return (productId && byProduct.get(productId)) || NO_LINES
}

/** What a refund adds to the value of each part; no line counts for more than it is worth. */
function valuesByPart(
  { goods, parts, partOf }: RefundedOrder,
  { before, after, changed }: { before: number[]; after: number[]; changed: Set<number> },
): number[] {
  const values = Array<number>(parts).fill(0)
  for (const index of changed) {
    const net = goods.net[index]!
    values[partOf[index]!]! += Math.min(net, after[index]!) - Math.min(net, before[index]!)
  }
  return values
}
