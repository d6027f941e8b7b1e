import { monthsBetween, startOfMonth } from '../../core/time-zone.ts'
import type { Reader } from '../../database/database.ts'
import type { ProgramTermsRow, ShopRow } from '../../database/tables.ts'
import type { AffiliateFact, Facts, TermsFact, TermsPeriod } from '../../engine/facts.ts'
import { customerKeys, identify } from '../customers/binding.ts'
import { countOrders, findCustomers } from '../customers/queries.ts'
import { listTermsInForce } from '../programs/queries.ts'
import { countCredited } from './commissions.ts'

type Shop = Pick<ShopRow, 'id' | 'timeZone' | 'currency'>

/** Adds the terms of programs that have more than the first version, and the numbers they count. */
export async function withTerms(db: Reader, shop: Shop, facts: Facts, programIds: string[]): Promise<Facts> {
  const { orderAt } = facts.order
  const instants: [string, string] = [facts.customer?.firstOrderAt ?? orderAt, orderAt]
  const rows = await listTermsInForce(db, shop.id, { programIds, instants })
  const programs = { ...facts.programs }
  for (const id of programIds) {
    const versions = rows.filter(({ programId }) => programId === id)
    if (versions.length > 0)
      programs[id] = { ...programs[id]!, terms: versions.map((row) => toFact(row, facts.affiliates)) }
  }
  return withCounts(db, shop, { ...facts, programs })
}

/** Drops the affiliate IDs that this order does not involve: a rule can list many. */
function toFact(
  { shopId: _, programId: _p, hasAmounts: _h, rules, ...row }: ProgramTermsRow,
  known: Facts['affiliates'],
) {
  const ruleOf = ({ affiliateIds, ...when }: TermsFact['rules'][number]['when']) => {
    if (!affiliateIds) return when
    const named = affiliateIds.filter((id) => Object.hasOwn(known, id))
    // An empty list is not stored, and the rule would match without it.
    return { ...when, affiliateIds: named.length > 0 ? named : affiliateIds.slice(0, 1) }
  }
  const read: TermsFact['rules'] = JSON.parse(rules)
  return { ...row, rules: read.map((rule) => ({ ...rule, when: ruleOf(rule.when) })) }
}

/** Adds the customer's credited orders, which are not stored for programs without terms. */
export async function withCustomer(
  db: Reader,
  shop: Pick<ShopRow, 'id' | 'emailHashKey'>,
  facts: Facts,
): Promise<Facts> {
  if (facts.customer) return facts
  const keys = customerKeys(shop, facts.order)
  const named = identify(await findCustomers(db, shop.id, keys), keys)
  return named ? { ...facts, customer: await countOrders(db, named, facts.order.orderAt) } : facts
}

/** Adds the numbers that the terms compare. */
export async function withCounts(db: Reader, shop: Shop, facts: Facts): Promise<Facts> {
  const { order, customer } = facts
  const conditionsOf = ({ programId }: Pick<AffiliateFact, 'programId'>) =>
    (facts.programs[programId ?? '']?.terms ?? []).flatMap(({ rules }) => rules.map(({ when }) => when))
  const counted = await Promise.all(
    Object.values(facts.affiliates).map(async (affiliate): Promise<AffiliateFact> => {
      const conditions = conditionsOf(affiliate).flatMap(({ affiliateOrders, affiliateRevenueCents }) =>
        [affiliateOrders, affiliateRevenueCents].flatMap((range) => (range ? [range.period] : [])),
      )
      const periods = [...new Set(conditions)]
      if (periods.length === 0) return affiliate
      const entries = await Promise.all(periods.map(async (period) => [period, await count(affiliate.id, period)]))
      return { ...affiliate, counted: Object.fromEntries(entries) }
    }),
  )
  const asksForMonth = Object.keys(facts.programs).some((programId) =>
    conditionsOf({ programId }).some(({ customerMonth }) => customerMonth),
  )
  const month =
    asksForMonth && customer?.firstOrderAt && monthsBetween(customer.firstOrderAt, order.orderAt, shop.timeZone)
  return {
    ...facts,
    affiliates: Object.fromEntries(counted.map((affiliate) => [affiliate.id, affiliate])),
    ...(customer && typeof month === 'number' && { customer: { ...customer, month } }),
  }

  function count(affiliateId: string, period: TermsPeriod) {
    const from = period === 'MONTH' ? startOfMonth(order.orderAt, shop.timeZone) : ''
    return countCredited(db, shop.id, { affiliateId, from, before: order.orderAt, currency: shop.currency })
  }
}
