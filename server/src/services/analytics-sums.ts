import type { RunAside } from '../db/aside.ts'
import type { Trx } from '../db/database.ts'
import * as sums from '../engine/analytics.ts'
import type { components } from '../http/schema.d.ts'
import { findAffiliatesById } from '../repositories/affiliates.ts'
import * as rows from '../repositories/analytics.ts'

export interface AnalyticsWish {
  shopId: string
  currency: string
  /** Instants, both inclusive. */
  from: string
  to: string
  affiliateId?: string
  programId?: string
}

type Analytics = components['schemas']['Analytics']

/** At most this many commissions are read, the newest (section 8). */
const MAX_COMMISSIONS = 10_000

/** The sums of section 4.6; null when one cannot be exact. */
export const runAside: RunAside<AnalyticsWish, Analytics | null> = async (db, { shopId, currency, ...filter }) => {
  const commissions = await rows.listNewestCommissions(db, shopId, { ...filter, currency, limit: MAX_COMMISSIONS + 1 })
  const summed = sums.summarize({
    from: filter.from,
    to: filter.to,
    currency,
    commissions: commissions.slice(0, MAX_COMMISSIONS),
    clicksByDay: await rows.countClicksByDay(db, shopId, filter),
    clicksByAffiliate: await rows.countClicksByAffiliate(db, shopId, filter),
  })
  if (!summed) return null
  const { totals, dailyBreakdown, topAffiliates } = summed
  const currencies = (await rows.listCurrencies(db, shopId, filter)).sort()
  const truncated = commissions.length > MAX_COMMISSIONS
  return {
    currency,
    currencies,
    truncated,
    totals,
    dailyBreakdown,
    topAffiliates: await named(db, shopId, topAffiliates),
  }
}

/** Archived affiliates keep their names here: what they earned is history. */
async function named(db: Trx, shopId: string, top: sums.TopAffiliate[]): Promise<Analytics['topAffiliates']> {
  const people = await findAffiliatesById(
    db,
    shopId,
    top.map((one) => one.affiliateId),
  )
  const names = new Map(people.map(({ id, name }) => [id, name]))
  return top.map(({ affiliateId, ...numbers }) => ({ affiliateId, name: names.get(affiliateId) ?? '', ...numbers }))
}
