import { apportion } from './apportion.ts'
import type { OrderLine } from './facts.ts'
import type { Goods } from './goods.ts'
import { share } from './money.ts'

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

/** What refunds have taken from an order so far. */
export interface RefundedGoods {
  /** Goods net of discount, in cents. */
  cents: number
  /** Pieces by line of the order. */
  pieces: number[]
  /** Cents by part of the order that refunds with line items point at; the rest of `cents` points at no part. */
  pointed: number[]
  /** A refund of everything was made, which matters where everything is worth nothing. */
  everything: boolean
  problem: 'UNKNOWN_ITEM' | 'EXCEEDS_ORDER' | null
}

/** The order a refund is read against: `partOf` gives the part that each line belongs to, 0 to `parts` − 1. */
export interface RefundedOrder {
  lines: OrderLine[]
  goods: Goods
  parts: number
  partOf: number[]
}

/** Nothing refunded yet. */
export function untouched(order: RefundedOrder): RefundedGoods {
  const pieces = order.lines.map(() => 0)
  return { cents: 0, pieces, pointed: Array<number>(order.parts).fill(0), everything: false, problem: null }
}

/** Adds one refund to what was refunded before; `problem` tells when it asks for more than there is. */
export function addRefund(order: RefundedOrder, before: RefundedGoods, refund: Refund): RefundedGoods {
  const left = order.goods.base - before.cents
  const items = refund.lineItems ?? []
  if (items.length === 0) {
    const isOver = refund.amountCents === null ? before.everything : refund.amountCents > left
    const cents = before.cents + Math.min(left, refund.amountCents ?? left)
    const everything = before.everything || refund.amountCents === null || (cents > 0 && cents === order.goods.base)
    return { ...before, cents, everything, problem: isOver ? 'EXCEEDS_ORDER' : null }
  }
  const { pieces, problem } = takePieces(order.lines, before.pieces, items)
  const values = valuesByPart(order, before.pieces, pieces)
  const worth = values.reduce((total, value) => total + value, 0)
  const amount = refund.amountCents ?? worth
  const cents = before.cents + Math.min(left, amount)
  const pointed = apportion(cents - before.cents, values).map((value, part) => before.pointed[part]! + value)
  const everything = before.everything || (cents > 0 && cents === order.goods.base)
  return { cents, pieces, pointed, everything, problem: problem ?? (amount > left ? 'EXCEEDS_ORDER' : null) }
}

/** Takes pieces from the first lines that hold such items and have any left. */
function takePieces(
  lines: OrderLine[],
  before: number[],
  items: RefundLine[],
): Pick<RefundedGoods, 'pieces' | 'problem'> {
  const pieces = [...before]
  let problem: RefundedGoods['problem'] = null
  for (const item of items) {
    const matching = [...lines.keys()].filter((index) => isSame(lines[index]!, item))
    if (matching.length === 0) problem = 'UNKNOWN_ITEM'
    let wanted = item.quantity
    for (const index of matching) {
      const taken = Math.min(wanted, lines[index]!.quantity - pieces[index]!)
      pieces[index]! += taken
      wanted -= taken
    }
    if (wanted > 0) problem ??= 'EXCEEDS_ORDER'
  }
  return { pieces, problem }
}

function isSame(line: OrderLine, item: RefundLine): boolean {
  if (item.variantId) return line.variantId === item.variantId
  return item.productId ? line.productId === item.productId : false
}

/** What the newly taken pieces are worth; differences of running totals, so that splitting a refund changes nothing. */
function valuesByPart({ lines, goods, parts, partOf }: RefundedOrder, before: number[], after: number[]): number[] {
  const values = Array<number>(parts).fill(0)
  lines.forEach(({ quantity }, index) => {
    const net = goods.net[index]!
    values[partOf[index]!]! += share(net, after[index]!, quantity) - share(net, before[index]!, quantity)
  })
  return values
}
