import type { OrderLine } from './facts.ts'
import type { Goods } from './line-groups.ts'
import { apportion, share } from './money.ts'

/** Pieces given back. `variantId` decides when both ids are set; ids are compared exactly. */
export interface RefundLine {
  variantId?: string | null
  productId?: string | null
  quantity: number
}

/**
 * One refund of an order. `amountCents` is goods net of discount, without shipping and tax; null: what the line items
 * stand for, or, without line items, all that is left.
 */
export interface Refund {
  refundId: string
  amountCents: number | null
  lineItems?: RefundLine[] | null
}

/** Running totals of what refunds have taken from an order; the next refund needs nothing else of the earlier ones. */
export interface RefundedGoods {
  /** Goods net of discount, in cents. */
  cents: number
  /** Pieces by line of the order. */
  pieces: number[]
  /** Cents by part of the order that refunds with line items point at; the rest of `cents` points at no part. */
  pointed: number[]
  /** A refund of everything was made, which matters where everything is worth nothing. */
  everything: boolean
}

/** Why a refund asks for more than the order has left. */
export type RefundProblem = 'UNKNOWN_ITEM' | 'EXCEEDS_ORDER'

/** The order a refund is read against: `partOf` gives the part that each line belongs to, 0 to `parts` − 1. */
export interface RefundedOrder {
  lines: OrderLine[]
  goods: Goods
  parts: number
  partOf: number[]
  /** Indexes of the lines that hold an item, by its id. */
  byVariant: ItemIndex
  byProduct: ItemIndex
}

type ItemIndex = ReadonlyMap<string, readonly number[]>

/** Indexes the lines of an order by one of their ids. */
export function indexLines(lines: OrderLine[], id: 'variantId' | 'productId'): ItemIndex {
  const index = new Map<string, number[]>()
  lines.forEach((line, at) => {
    const key = line[id]
    if (key === null) return
    const known = index.get(key)
    if (known) known.push(at)
    else index.set(key, [at])
  })
  return index
}

/** Nothing refunded yet. */
export function untouched(order: RefundedOrder): RefundedGoods {
  const pieces = order.lines.map(() => 0)
  return { cents: 0, pieces, pointed: Array<number>(order.parts).fill(0), everything: false }
}

/** Adds one refund to the totals before it; `problem` says why it asks for more than there is. */
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
  const { pieces, changed, problem } = takePieces(order, before.pieces, items)
  const values = valuesByPart(order, { before: before.pieces, after: pieces, changed })
  const worth = values.reduce((total, value) => total + value, 0)
  const amount = refund.amountCents ?? worth
  const cents = before.cents + Math.min(left, amount)
  const pointed = apportion(cents - before.cents, values).map((value, part) => before.pointed[part]! + value)
  const everything = before.everything || (cents > 0 && cents === order.goods.base)
  return {
    refunded: { cents, pieces, pointed, everything },
    problem: problem ?? (amount > left ? 'EXCEEDS_ORDER' : null),
  }
}

interface TakenPieces {
  pieces: number[]
  /** Indexes of the lines that pieces were taken from. */
  changed: Set<number>
  problem: RefundProblem | null
}

/**
 * Takes pieces from the first lines that hold such items and have any left. Lines that a list of items has used up are
 * not visited again, so the work grows with items plus lines and not with their product.
 */
function takePieces(order: RefundedOrder, before: number[], items: RefundLine[]): TakenPieces {
  const pieces = [...before]
  const changed = new Set<number>()
  const usedUp = new Map<readonly number[], number>()
  let problem: RefundProblem | null = null
  for (const item of items) {
    const matching = linesOf(order, item)
    if (matching.length === 0) problem = 'UNKNOWN_ITEM'
    let wanted = item.quantity
    let at = usedUp.get(matching) ?? 0
    for (; wanted > 0 && at < matching.length; at++) {
      const index = matching[at]!
      const available = order.lines[index]!.quantity - pieces[index]!
      const taken = Math.min(wanted, available)
      pieces[index]! += taken
      changed.add(index)
      wanted -= taken
      if (taken < available) break
    }
    usedUp.set(matching, at)
    if (wanted > 0) problem ??= 'EXCEEDS_ORDER'
  }
  return { pieces, changed, problem }
}

const NO_LINES: readonly number[] = []

/** Indexes of the lines that hold an item. */
function linesOf({ byVariant, byProduct }: RefundedOrder, { variantId, productId }: RefundLine): readonly number[] {
  if (variantId) return byVariant.get(variantId) ?? NO_LINES
  return (productId && byProduct.get(productId)) || NO_LINES
}

/** What the newly taken pieces are worth; differences of running totals, so that splitting a refund changes nothing. */
function valuesByPart(
  { lines, goods, parts, partOf }: RefundedOrder,
  { before, after, changed }: { before: number[]; after: number[]; changed: Set<number> },
): number[] {
  const values = Array<number>(parts).fill(0)
  for (const index of changed) {
    const net = goods.net[index]!
    const { quantity } = lines[index]!
    values[partOf[index]!]! += share(net, after[index]!, quantity) - share(net, before[index]!, quantity)
  }
  return values
}
