import type { OrderLine, ProgramFact, Rate, RateGroup } from './facts.ts'
import type { Goods } from './line-groups.ts'
import { bpsOf, sum, whole } from './money.ts'

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
  const own = emptyGroup(program)
  const groups = new Map([[rateKey(program), own]])
  for (const index of scope === 'WHOLE_ORDER' ? lines.keys() : scope) {
    const rate = rateFor(program, lines[index]!)
    const group = groups.get(rateKey(rate)) ?? emptyGroup(rate)
    groups.set(rateKey(rate), group)
    group.baseCents += goods.net[index]!
    group.quantity += Number(whole(lines[index]!.quantity))
    group.lines.push(index)
  }
  if (scope === 'WHOLE_ORDER') own.baseCents += goods.restNet
  if (lines.length === 0) own.quantity = 1
  const used = [...groups.values()].filter((group) => group.lines.length > 0 || group.baseCents > 0)
  return (used.length > 0 ? used : [own]).map((group) => ({ ...group, amountCents: amountAt(group) }))
}

/** Commission in cents at one rate: per cent of the base, once per group, or cents per order or per item; not capped. */
export function amountAt({
  commissionType,
  rate,
  baseCents,
  quantity,
  unpaidReasonCode,
}: Omit<RateGroup, 'lines' | 'amountCents'>): number {
  if (unpaidReasonCode) return 0
  if (commissionType === 'PERCENT_OF_SALE') return bpsOf(baseCents, rate)
  return Number(commissionType === 'FLAT_PER_ITEM' ? whole(rate) * whole(quantity) : whole(rate))
}

/**
 * Settles the currency of a commission. A percentage is money of the order's currency, a flat rate of the shop's. Where
 * both meet in an order of another currency they cannot be added: the percentages count, and the flat groups earn nothing.
 */
export function inOneCurrency(
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
export function amountOf(groups: RateGroup[]): number {
  return Number(sum(groups.map((group) => whole(group.amountCents))))
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
