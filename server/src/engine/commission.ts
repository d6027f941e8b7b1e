import type { Order, OrderLine, ProgramFact, Rate, RateGroup } from './facts.ts'
import { allocateLargestRemainder, basisPointsOf, sum, toBigInt } from './money.ts'

/** What the commission is based on: the whole order, including amounts outside of its lines, or only some lines. */
export type Scope = number[] | 'WHOLE_ORDER'

/** Goods net of discount within the scope, in cents. */
export function baseOf(goods: Goods, scope: Scope): number {
  return scope === 'WHOLE_ORDER' ? goods.base : scope.reduce((total, index) => total + goods.net[index]!, 0)
}

/**
 * Splits an order into the parts paid at one rate. A variant's rule takes precedence over its product's, and both over the
 * program's rate, which comes first and also covers amounts outside of the lines. Σ `baseCents` of the groups = base of the scope.
 */
export function rateGroups(program: ProgramFact, lines: OrderLine[], goods: Goods, scope: Scope): RateGroup[] {
  const programGroup = emptyGroup(program)
  const groups = new Map([[rateKey(program), programGroup]])
  for (const index of scope === 'WHOLE_ORDER' ? lines.keys() : scope) {
    const rate = rateFor(program, lines[index]!)
    const group = groups.get(rateKey(rate)) ?? emptyGroup(rate)
    groups.set(rateKey(rate), group)
    group.baseCents += goods.net[index]!
    group.quantity += Number(toBigInt(lines[index]!.quantity))
    group.lines.push(index)
  }
  if (scope === 'WHOLE_ORDER') programGroup.baseCents += goods.restNet
  if (lines.length === 0) programGroup.quantity = 1
  const used = [...groups.values()].filter((group) => group.lines.length > 0 || group.baseCents > 0)
  return (used.length > 0 ? used : [programGroup]).map((group) => ({ ...group, amountCents: commissionAmount(group) }))
}

/** Commission in cents at one rate: percent of the base, once per group, or cents per order or per item; not capped. */
export function commissionAmount({
  commissionType,
  rate,
  baseCents,
  quantity,
  unpaidReasonCode,
}: Omit<RateGroup, 'lines' | 'amountCents'>): number {
  if (unpaidReasonCode) return 0
  if (commissionType === 'PERCENT_OF_SALE') return basisPointsOf(baseCents, rate)
  return Number(commissionType === 'FLAT_PER_ITEM' ? toBigInt(rate) * toBigInt(quantity) : toBigInt(rate))
}

/**
 * Resolves the currency of a commission. Percentages are in the order's currency, flat rates in the shop's. When an order
 * in another currency has both, they cannot be added: the percentages are paid, and the flat groups earn nothing.
 */
export function resolveCurrency(
  groups: RateGroup[],
  { order, shop }: { order: string; shop: string },
): { currency: string; groups: RateGroup[] } {
  const flat = groups.filter(({ commissionType }) => commissionType !== 'PERCENT_OF_SALE')
  if (order === shop || flat.length === 0) return { currency: order, groups }
  if (flat.length === groups.length) return { currency: shop, groups }
  const paid = groups.map((group) =>
    flat.includes(group) ? { ...group, amountCents: 0, unpaidReasonCode: 'CURRENCY_MISMATCH' as const } : group,
  )
  return { currency: order, groups: paid }
}

/** Σ of the groups' amounts, in cents. */
export function totalAmount(groups: RateGroup[]): number {
  return Number(sum(groups.map((group) => toBigInt(group.amountCents))))
}

function rateFor(program: ProgramFact, line: OrderLine): Rate {
  const { productRules: rules } = program
  const byVariant = rules.find((rule) => rule.variantId !== null && rule.variantId === line.variantId)
  return byVariant ?? rules.find((rule) => rule.productId !== null && rule.productId === line.productId) ?? program
}

function rateKey({ commissionType, rate }: Rate): string {
  return `${commissionType}:${rate}`
}

function emptyGroup({ commissionType, rate }: Rate): RateGroup {
  return { commissionType, rate, baseCents: 0, quantity: 0, amountCents: 0, lines: [] }
}

/** The order fields that {@link goodsOf} uses. */
type GoodsOrder = Pick<Order, 'amountCents' | 'discountCents' | 'lines'>

/** The goods of an order by line, in cents; Σ `net` + `restNet` = `base`, and no value is negative. */
export interface Goods {
  /** Before discount, shipping and tax. */
  subtotal: number
  /** Subtotal less discount, at least 0. */
  base: number
  /** Line totals before discount, in the order of the lines. */
  gross: number[]
  /** Line totals less their share of the discount. */
  net: number[]
  /** The amount outside of the lines less its share of the discount. */
  restNet: number
}

/**
 * Computes the goods of an order. `amountCents` is the subtotal if sent, otherwise the sum of the line totals. Lines are net of
 * their own discounts; what is left of the order's discount is allocated to what they are worth then, largest remainder first.
 */
export function goodsOf(order: GoodsOrder): Goods {
  const { subtotal, gross } = lineTotalsOf(order)
  const lineDiscounts = order.lines.map(({ discountCents }, index) =>
    smaller(toBigInt(discountCents ?? 0), gross[index]!),
  )
  const ownSum = sum(lineDiscounts)
  const extra = smaller(toBigInt(order.discountCents), subtotal) - ownSum
  const weights = [...gross.map((total, index) => total - lineDiscounts[index]!), subtotal - sum(gross)]
  const discounts = allocateLargestRemainder(extra > 0n ? extra : 0n, weights)
  const nets = weights.map((weight, index) => Number(weight - discounts[index]!))
  return {
    subtotal: Number(subtotal),
    base: nets.reduce((total, value) => total + value, 0),
    gross: gross.map(Number),
    net: nets.slice(0, -1),
    restNet: nets.at(-1)!,
  }
}

function pricedTotal({ priceCents, quantity, includedTaxCents = 0 }: OrderLine): bigint {
  const total = priceCents === null ? 0n : toBigInt(quantity) * toBigInt(priceCents)
  return total - smaller(toBigInt(includedTaxCents), total)
}

const smaller = (a: bigint, b: bigint) => (a < b ? a : b)

/** Lines without a price share the rest of the subtotal by quantity; lines above the subtotal are scaled down to it. */
function lineTotalsOf({ amountCents, lines }: GoodsOrder): { subtotal: bigint; gross: bigint[] } {
  const priced = lines.map(pricedTotal)
  const pricedSum = sum(priced)
  const subtotal = amountCents === null ? pricedSum : toBigInt(amountCents)
  if (pricedSum > subtotal) return { subtotal, gross: allocateLargestRemainder(subtotal, priced) }
  const unpriced = lines.map((line) => (line.priceCents === null ? toBigInt(line.quantity) : 0n))
  const shares = allocateLargestRemainder(subtotal - pricedSum, unpriced)
  return { subtotal, gross: priced.map((total, index) => total + shares[index]!) }
}
