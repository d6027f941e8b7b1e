import { commissionAmount, type Goods, goodsOf } from './commission.ts'
import type { OrderLine, RateGroup } from './facts.ts'
import { allocateMonotonic, basisPointsOf, mulDiv, sum, toBigInt } from './money.ts'

/** The recorded basis of a commission. Refunds are computed from it, not from the current rate. */
export interface RefundSnapshot {
  subtotalCents: number
  discountCents: number
  lines: OrderLine[]
  /** The recorded base, which may be less than the order's goods. Its parts are described in `RateGroup`. */
  baseCents: number
  groups: RateGroup[]
  /** The terms' cap on the groups' total. */
  cappedCents?: number
  taxWithholdingBps: number
}

/** A commission after refunds, in cents. */
export interface RefundTarget {
  amountCents: number
  taxWithheldCents: number
  remainingBaseCents: number
  /** Refunded goods of the order, net of discount. */
  refundedCents: number
  /** The order's goods, net of discount, that are left to refund. */
  leftCents: number
  /** Whether nothing is left of the commission's base. It then becomes `REFUNDED`. */
  fullyRefunded: boolean
}

/** One refund applied to the earlier refunds' totals. */
export interface AppliedRefund {
  before: RefundTarget
  after: RefundTarget
  /** The running totals for the next refund. */
  refunded: RefundedGoods
  /** Why the refund exceeds what was left. It is capped. */
  problem: RefundProblem | null
}

/** The IDs by which refunds name lines, most specific first. */
const LINE_IDS = ['id', 'variantId', 'productId'] as const
type LineId = (typeof LINE_IDS)[number]

/** The order split into its rate groups and, last, the goods outside them. */
interface OrderParts {
  lines: OrderLine[]
  goods: Goods
  groups: RateGroup[]
  bases: number[]
  /** Each line's part. */
  partOf: number[]
  /** Line indexes by each of the lines' IDs. */
  indexes: Record<LineId, ReadonlyMap<string, readonly number[]>>
  cappedCents: number | undefined
  taxWithholdingBps: number
}

/**
 * The commission after all refunds so far, or before the first one if there are no totals. It depends only on the
 * totals: refunding twice equals refunding the sum once. A percentage applies to what is left of the base.
 * FLAT_PER_ITEM pays for the remaining pieces (an amount without line items changes it only when nothing is left).
 * FLAT_PER_ORDER stays until nothing is left. Refunds without line items are shared by all parts of the order pro rata.
 * A capped commission keeps the share of its goods that is left.
 */
export function refundTarget(snapshot: RefundSnapshot, refunded = NO_REFUNDS): RefundTarget {
  const cut = partsOf(snapshot)
  return targetOf(cut, refunded, placeItems(cut, refunded.items))
}

/** Applies the next refund. The work does not depend on how many refunds came before. */
export function applyRefund(snapshot: RefundSnapshot, earlier = NO_REFUNDS, refund: Refund): AppliedRefund {
  const cut = partsOf(snapshot)
  const refunded = addRefund(snapshot, earlier, refund)
  const [placedBefore, placed] = [placeItems(cut, earlier.items), placeItems(cut, refunded.items)]
  const [before, after] = [targetOf(cut, earlier, placedBefore), targetOf(cut, refunded, placed)]
  return { before, after, refunded, problem: findProblem() }

  function findProblem(): RefundProblem | null {
    const items = refund.lineItems ?? []
    if (namesUnknownItem(snapshot, items)) return 'UNKNOWN_ITEM'
    if (items.length === 0 && refund.amountCents === null)
      return isEverything(cut, earlier, before) ? 'EXCEEDS_ORDER' : null
    const cents = refund.amountCents ?? totalOf(placed.worth) - totalOf(placedBefore.worth)
    return placed.beyond > placedBefore.beyond || cents > before.leftCents ? 'EXCEEDS_ORDER' : null
  }
}

/** Whether a refund names an item that is on no line of the order. */
export const namesUnknownItem = (snapshot: RefundSnapshot, items: readonly RefundLine[]): boolean =>
  items.some((item) => itemKey(partsOf(snapshot), item) === undefined)

/** The totals with one more refund, whether or not the order has that much left. */
export function addRefund(
  snapshot: RefundSnapshot,
  before = NO_REFUNDS,
  { amountCents, lineItems }: Refund,
): RefundedGoods {
  const refunded = { ...before, cents: plus(before.cents, amountCents ?? 0) }
  if (!lineItems?.length) return { ...refunded, everything: before.everything || amountCents === null }
  const cut = partsOf(snapshot)
  if (amountCents === null) return addItems(cut, refunded, lineItems)
  const { pieces, worth } = placeItems(cut, addItems(cut, NO_REFUNDS, lineItems).items)
  // A line's units can each be worth less than a cent, but together they are worth something.
  const weights = worth.map((cents, index) => cents || (pieces[index]! > 0 ? Math.min(1, cut.goods.net[index]!) : 0))
  const shares = allocateMonotonic(Math.min(amountCents, cut.goods.base), byPart(cut, weights))
  const valued = lineItems.map((item) => ({ ...item, amountCents: 0 }))
  const { items } = addItems(cut, before, valued)
  return { ...refunded, items, pointed: shares.map((cents, part) => plus(before.pointed[part] ?? 0, cents)) }
}

/** The value of items that are on no line. It belongs to no part of the order. */
function addItems(cut: OrderParts, before: RefundedGoods, lineItems: RefundLine[]): RefundedGoods {
  const items = { ...before.items }
  let { cents } = before
  for (const item of lineItems) {
    const key = itemKey(cut, item)
    if (key === undefined) {
      cents = plus(cents, item.amountCents ?? 0)
      continue
    }
    const [units, valuedUnits, value] = items[key] ?? [0, 0, 0]
    items[key] =
      typeof item.amountCents === 'number'
        ? [units, plus(valuedUnits, item.quantity), plus(value, item.amountCents)]
        : [plus(units, item.quantity), valuedUnits, value]
  }
  return { ...before, cents, items }
}

/** Totals are capped at the largest exact number, which exceeds any order. */
const plus = (cents: number, other: number) => Math.min(cents + other, Number.MAX_SAFE_INTEGER)

/** The lines with an item. Undefined if there are none. */
function itemKey({ indexes }: OrderParts, item: RefundLine): string | undefined {
  const kind = item.id && indexes.id.has(item.id) ? 'id' : item.variantId ? 'variantId' : 'productId'
  const matching = indexes[kind].get(item[kind] ?? '')
  return matching && keyOf(kind, matching)
}

const keyOf = (kind: LineId, matching: readonly number[]) => `${kind}:${matching[0]}`

interface PlacedItems {
  /** Refunded units by line. */
  pieces: number[]
  /** Refunded value by line, in cents. */
  worth: number[]
  /** Units and cents that exceed the lines. */
  beyond: number
}

/**
 * Assigns refunded items to lines: first items with a line ID, then with a variant ID, then with a product ID, each to
 * the first lines that have any left. A line is worth at most what was paid for it.
 */
function placeItems({ lines, goods, indexes }: OrderParts, items: RefundedGoods['items']): PlacedItems {
  const [pieces, worth, unvalued] = [lines, lines, lines].map((list) => list.map(() => 0)) as [
    number[],
    number[],
    number[],
  ]
  let beyond = 0
  for (const kind of LINE_IDS) {
    for (const matching of indexes[kind].values()) {
      let [units, valuedUnits, cents] = items[keyOf(kind, matching)] ?? [0, 0, 0]
      for (const index of matching) {
        if (units + valuedUnits + cents === 0) break
        const { quantity } = lines[index]!
        const net = goods.net[index]!
        const valued = Math.min(valuedUnits, quantity - pieces[index]!)
        const shared = Math.min(units, quantity - pieces[index]! - valued)
        const lineCents = Math.min(cents, net - worth[index]!)
        const from = unvalued[index]!
        // A difference of running totals, so that a line's units add up to the line.
        const share = mulDiv(net, from + shared, quantity) - mulDiv(net, from, quantity)
        pieces[index]! += valued + shared
        unvalued[index]! += shared
        worth[index] = Math.min(net, worth[index]! + lineCents + share)
        valuedUnits -= valued
        units -= shared
        cents -= lineCents
      }
      beyond = plus(beyond, units + valuedUnits + cents)
    }
  }
  return { pieces, worth, beyond }
}

function byPart({ bases, partOf }: OrderParts, valuesByLine: number[]): number[] {
  const values = bases.map(() => 0)
  valuesByLine.forEach((value, index) => {
    values[partOf[index]!]! += value
  })
  return values
}

const totalOf = (values: number[]) => values.reduce((total, value) => total + value, 0)

function targetOf(cut: OrderParts, refunded: RefundedGoods, { pieces, worth }: PlacedItems): RefundTarget {
  const { base } = cut.goods
  const refundedCents = refunded.everything ? base : Math.min(base, plus(refunded.cents, totalOf(worth)))
  const pointed = byPart(cut, worth).map((cents, part) => plus(refunded.pointed[part] ?? 0, cents))
  const remaining = remainingBases(cut.bases, refundedCents, pointed)
  const all = isEverything(cut, refunded, { refundedCents })
  const isRefunded = cut.groups.map((group, part) => all || isFullyRefunded(cut, pieces, group, remaining[part]!))
  const remainingParts = cut.groups.map((group, part) =>
    isRefunded[part] ? 0 : remainingAmount(group, remaining[part]!, pieces),
  )
  const remainingBaseCents = totalOf(remaining.slice(0, cut.groups.length))
  const amountCents = Math.min(Number(sum(remainingParts.map(toBigInt))), cappedAmount(cut, remainingBaseCents))
  return {
    amountCents,
    taxWithheldCents: basisPointsOf(amountCents, cut.taxWithholdingBps),
    remainingBaseCents,
    refundedCents,
    leftCents: base - refundedCents,
    fullyRefunded: isRefunded.every(Boolean),
  }
}

/** The maximum left of a capped commission. */
function cappedAmount({ cappedCents, bases, groups }: OrderParts, remainingBaseCents: number): number {
  if (cappedCents === undefined) return Number.POSITIVE_INFINITY
  const base = totalOf(bases.slice(0, groups.length))
  return base === 0 ? cappedCents : mulDiv(cappedCents, remainingBaseCents, base)
}

/** `refundedCents` does not show that an order of zero was refunded. */
const isEverything = (
  { goods }: OrderParts,
  { everything }: RefundedGoods,
  { refundedCents }: Pick<RefundTarget, 'refundedCents'>,
) => everything || (refundedCents > 0 && refundedCents === goods.base)

/**
 * Cached, because several refunds may be applied to one snapshot, and splitting an order with many lines is most of the
 * work.
 */
const cachedParts = new WeakMap<RefundSnapshot, OrderParts>()

function partsOf(snapshot: RefundSnapshot): OrderParts {
  const known = cachedParts.get(snapshot)
  if (known) return known
  const cut = splitOrder(snapshot)
  cachedParts.set(snapshot, cut)
  return cut
}

/** A restricted commission has no groups. Its base becomes one part that pays nothing. */
function splitOrder(snapshot: RefundSnapshot): OrderParts {
  const { subtotalCents, discountCents, lines, baseCents, groups, cappedCents, taxWithholdingBps } = snapshot
  const goods: Goods = goodsOf({ amountCents: subtotalCents, discountCents, lines })
  const paid = groups.length > 0 ? groups : [unpaidGroup(baseCents)]
  const bases = paid.map((group) => group.baseCents)
  const outside = goods.base - totalOf(bases)
  const partOf = lines.map(() => paid.length)
  paid.forEach((group, part) => {
    for (const index of group.lines) partOf[index] = part
  })
  return {
    lines,
    goods,
    groups: paid,
    bases: [...bases, Math.max(0, outside)],
    partOf,
    indexes: {
      id: indexLines(lines, 'id'),
      variantId: indexLines(lines, 'variantId'),
      productId: indexLines(lines, 'productId'),
    },
    cappedCents,
    taxWithholdingBps,
  }
}

function indexLines(lines: OrderLine[], id: LineId): Map<string, number[]> {
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

function unpaidGroup(baseCents: number): RateGroup {
  return { commissionType: 'PERCENT_OF_SALE', rate: 0, baseCents, quantity: 0, amountCents: 0, lines: [] }
}

/** Refunds with line items reduce their own parts first. Other refunds are shared by what remains. */
function remainingBases(bases: number[], cents: number, pointed: number[]): number[] {
  const rest = bases.map((base, part) => Math.max(0, base - pointed[part]!))
  const shared = allocateMonotonic(Math.max(0, cents - (totalOf(bases) - totalOf(rest))), rest)
  return rest.map((base, part) => base - shared[part]!)
}

/** For a part with a base of zero, the refunded units decide. */
function isFullyRefunded({ lines }: OrderParts, pieces: number[], group: RateGroup, remaining: number): boolean {
  if (group.baseCents > 0) return remaining === 0
  return group.lines.length > 0 && group.lines.every((index) => pieces[index]! >= lines[index]!.quantity)
}

function remainingAmount(group: RateGroup, baseCents: number, pieces: number[]): number {
  const returned = totalOf(group.lines.map((index) => pieces[index]!))
  return commissionAmount({ ...group, baseCents, quantity: Math.max(0, group.quantity - returned) })
}

/**
 * Refunded units. A line's own ID takes precedence over `variantId`, and both over `productId`. IDs are compared
 * exactly.
 */
export interface RefundLine {
  id?: string | null
  variantId?: string | null
  productId?: string | null
  quantity: number
  /**
   * The units' refunded value, net of discount. At most what is left of the line counts. If missing, it is their share
   * of the line.
   */
  amountCents?: number | null
}

/**
 * One refund of an order. `amountCents` is goods net of discount, without shipping and tax. Null means the line items'
 * value or, without line items, everything that is left.
 */
export interface Refund {
  refundId: string
  amountCents: number | null
  lineItems?: RefundLine[] | null
}

/**
 * An order's running refund totals, all that the next refund needs from earlier ones. They are plain sums of what was
 * reported, so that the order of arrival does not matter.
 */
export interface RefundedGoods {
  /** Cents reported as amounts, or for items that are on no line. */
  cents: number
  /** Cents by part of the order, for the share of `cents` that was reported with line items. */
  pointed: number[]
  /** Whether the order was refunded in full. */
  everything: boolean
  /** By kind of ID and first line with it, like `variantId:0`: units, further units that have a value of their own, and this value in cents. */
  items: Record<string, [units: number, valuedUnits: number, cents: number]>
}

/** Nothing refunded yet. */
export const NO_REFUNDS: RefundedGoods = { cents: 0, pointed: [], everything: false, items: {} }

/** Why a refund exceeds what the order has left. */
export type RefundProblem = 'UNKNOWN_ITEM' | 'EXCEEDS_ORDER'
