import { sql } from 'kysely'
import { affiliateNotFound, invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { countRows, withoutIndex } from '../../core/queries.ts'
import { defineReport } from '../../database/database.ts'
import type { CommissionRow } from '../../database/tables.ts'
import { findAffiliate } from '../affiliates/queries.ts'
import { isOnHold } from './batch-commissions.ts'

type Balance = components['schemas']['Balance']

export const UNPAID: CommissionRow['orderStatus'][] = ['PENDING', 'APPROVED', 'ACCEPTED', 'PAYABLE']

/** Reads an affiliate's unpaid commissions. They can be many, so it runs in the report worker. */
export const balanceReport = defineReport(
  import.meta.url,
  'balanceReport',
  async (
    db,
    { shopId, query: { affiliateId, at } }: { shopId: string; query: { affiliateId: string; at: string } },
  ): Promise<Balance[]> => {
    const isInBatch = sql<0 | 1>`case when "payoutBatchId" is null then 0 else 1 end`
    const status = withoutIndex(db, 'orderStatus')
    const rows = await db
      .selectFrom('commissions')
      .where('commissions.shopId', '=', shopId)
      .select(['currency', 'orderStatus', isInBatch.as('isBatched')])
      .select(sql<number>`cast(sum("commissionAmountCents") as bigint)`.as('cents'))
      .select(sql<number>`cast(sum("taxWithheldCents") as bigint)`.as('taxCents'))
      .where('commissions.affiliateId', '=', affiliateId)
      .where((eb) =>
        eb.or([
          eb(status, 'in', UNPAID),
          // Reversed after its payment was sent, so its batch still pays it.
          eb.and([eb(status, '=', 'REVERSED'), eb('payoutBatchId', 'is not', null), eb('paidAt', 'is', null)]),
        ]),
      )
      .select(
        sql<number>`cast(sum(case when ${isOnHold(at)} then "commissionAmountCents" else 0 end) as bigint)`.as(
          'onHoldCents',
        ),
      )
      .groupBy(['currency', 'orderStatus', isInBatch])
      .execute()
    const balances = new Map<string, Balance>()
    for (const { currency, orderStatus, isBatched, cents, taxCents, onHoldCents } of rows) {
      const empty = {
        currency,
        pendingCents: 0,
        approvedCents: 0,
        onHoldCents: 0,
        batchedCents: 0,
        taxWithheldCents: 0,
      }
      const balance = balances.get(currency) ?? empty
      if (orderStatus === 'PENDING') balance.pendingCents += cents
      else balance[isBatched ? 'batchedCents' : 'approvedCents'] += cents
      if (orderStatus !== 'PENDING' && !isBatched) balance.onHoldCents += onHoldCents
      if (orderStatus !== 'PENDING') balance.taxWithheldCents += taxCents
      balances.set(currency, balance)
    }
    return [...balances.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1))
  },
)

/** An affiliate's balance by currency, and its total number of commissions. */
export async function readBalance(ctx: Context, affiliateId: string) {
  const [balances, commissions] = await Promise.all([
    readFrom(ctx, balanceReport, { affiliateId, at: nowIso(ctx) }),
    countRows(ctx.db.read, ctx.shop.id, { list: 'commissions', scope: affiliateId }),
  ])
  return { balances, commissions }
}

/**
 * An affiliate's balance for the API.
 *
 * @throws ApiError 400 `invalid_parameter` without an affiliate, 404 `affiliate_not_found`.
 */
export async function balanceOf(
  ctx: Context,
  affiliateId: string | undefined,
): Promise<components['schemas']['AffiliateBalance']> {
  if (affiliateId === undefined) throw invalidField('invalid_parameter', 'affiliateId', 'is required.')
  if (!(await findAffiliate(ctx.db.read, ctx.shop.id, affiliateId))) throw affiliateNotFound()
  return { affiliateId, ...(await readBalance(ctx, affiliateId)) }
}
