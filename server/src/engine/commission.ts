import type { Order, OrderLine, ProgramFact, Rate, RateGroup } from './facts.ts'
import { allocate, basisPointsOf, sum, toBigInt } from './money.ts'

/** The lines an order is paid on: all of them and what no line accounts for, or only some. */
export type Scope = number[] | 'WHOLE_ORDER'

/** Goods net of discount within the scope, in cents. */
export function baseOf(goods: Goods, scope: Scope): number {
  return scope === 'WHOLE_ORDER' ? goods.base : scope.reduce((total, index) => total + goods.net[index]!, 0)
}

/**
 * Splits an order into the parts paid at one rate. A variant's rule wins over its product's, both over the program's
 * own rate, which also takes what no line accounts for and comes first. Σ `baseCents` of the groups = base of the scope.
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

/** Commission in cents at one rate: per cent of the base, once per group, or cents per order or per item; not capped. */
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
 * Settles the currency of a commission. A percentage is money of the order's currency, a flat rate of the shop's. Where
 * both meet in an order of another currency they cannot be added: the percentages count, and the flat groups earn nothing.
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
  const { subtotal, gross } = lineTotalsOf(order)
  const spent = toBigInt(Math.min(order.discountCents, Number(subtotal)))
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
function lineTotalsOf({ amountCents, lines }: GoodsOrder): { subtotal: bigint; gross: bigint[] } {
  const priced = lines.map((line) =>
    line.priceCents === null ? 0n : toBigInt(line.quantity) * toBigInt(line.priceCents),
  )
  const pricedSum = sum(priced)
  const subtotal = amountCents === null ? pricedSum : toBigInt(amountCents)
  if (pricedSum > subtotal) return { subtotal, gross: allocate(subtotal, priced) }
  const unpriced = lines.map((line) => (line.priceCents === null ? toBigInt(line.quantity) : 0n))
  const shares = allocate(subtotal - pricedSum, unpriced)
  return { subtotal, gross: priced.map((total, index) => total + shares[index]!) }
}
