import type { Order } from './facts.ts'
import { allocate, sum, whole } from './money.ts'

/** What the arithmetic on goods reads of an order. */
export type GoodsOrder = Pick<Order, 'amountCents' | 'discountCents' | 'lines'>

/** The goods of an order line by line, in cents; Σ `net` + `restNet` = `base`, and nothing is ever negative. */
export interface Goods {
  /** Before discount, shipping and tax. */
  subtotal: number
  /** Subtotal less discount, at least 0. */
  base: number
  /** Line totals before discount, in the order of the lines. */
  gross: number[]
  /** Line totals less their share of the discount. */
  net: number[]
  /** What no line accounts for, less its share of the discount. */
  restNet: number
}

/**
 * Reads an order's goods. `amountCents` is the subtotal when sent, else the line totals stand in (section 4.9).
 * The discount is spread over line totals, largest remainder first.
 */
export function goodsOf(order: GoodsOrder): Goods {
  const { subtotal, gross } = grossOf(order)
  const spent = whole(Math.min(order.discountCents, Number(subtotal)))
  const weights = [...gross, subtotal - sum(gross)]
  const discounts = allocate(spent, weights)
  const nets = weights.map((weight, index) => Number(weight - discounts[index]!))
  return {
    subtotal: Number(subtotal),
    base: Number(subtotal - spent),
    gross: gross.map(Number),
    net: nets.slice(0, -1),
    restNet: nets.at(-1)!,
  }
}

/** Lines without a price share what the priced ones leave, by quantity; lines above the subtotal shrink to it. */
function grossOf({ amountCents, lines }: GoodsOrder): { subtotal: bigint; gross: bigint[] } {
  const priced = lines.map((line) => (line.priceCents === null ? 0n : whole(line.quantity) * whole(line.priceCents)))
  const pricedSum = sum(priced)
  const subtotal = amountCents === null ? pricedSum : whole(amountCents)
  if (pricedSum > subtotal) return { subtotal, gross: allocate(subtotal, priced) }
  const unpriced = lines.map((line) => (line.priceCents === null ? whole(line.quantity) : 0n))
  const shares = allocate(subtotal - pricedSum, unpriced)
  return { subtotal, gross: priced.map((total, index) => total + shares[index]!) }
}
