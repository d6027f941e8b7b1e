import { sql } from 'kysely'
import { defineList, isDeep, rowsOf } from '../../core/lists.ts'
import { likePattern, type PageQuery, pageOf } from '../../core/pagination.ts'
import { countRows } from '../../core/queries.ts'
import type { Reader } from '../../database/database.ts'
import type { AffiliateRow } from '../../database/tables.ts'
import { codeKey } from '../../engine/affiliate-codes.ts'

export interface CouponFilter extends PageQuery {
  affiliateId?: string
  code?: string
  status?: AffiliateRow['status']
}

/** Affiliates' codes with the discounts of their programs, and the other affiliate whose slug equals the code. */
const coupons = (db: Reader, shopId: string) =>
  db
    .selectFrom('affiliates')
    .leftJoin('programs', (join) =>
      join.onRef('programs.id', '=', 'affiliates.campaignId').onRef('programs.shopId', '=', 'affiliates.shopId'),
    )
    .select([
      'affiliates.id as affiliateId',
      'affiliates.name as affiliateName',
      'affiliates.status as affiliateStatus',
      'affiliates.discountCode as code',
      'programs.id as programId',
      'programs.discountEnabled',
      'programs.discountType',
      'programs.discountValue',
      'affiliates.createdAt',
      'affiliates.updatedAt',
    ])
    .select((eb) =>
      eb
        .selectFrom('affiliates as namesake')
        .select('namesake.id')
        .whereRef('namesake.shopId', '=', 'affiliates.shopId')
        .whereRef('namesake.slug', '=', 'affiliates.codeKey')
        .whereRef('namesake.id', '<>', 'affiliates.id')
        .as('slugAffiliateId'),
    )
    .where('affiliates.shopId', '=', shopId)
    .where('affiliates.deletedAt', 'is', null)

export const findCoupon = (db: Reader, shopId: string, affiliateId: string) =>
  coupons(db, shopId).where('affiliates.id', '=', affiliateId).executeTakeFirst()

async function listCoupons(db: Reader, shopId: string, query: CouponFilter) {
  let list = coupons(db, shopId).orderBy('affiliates.createdAt', 'desc').orderBy('affiliates.id', 'desc')
  if (query.affiliateId) list = list.where('affiliates.id', '=', query.affiliateId)
  if (query.status) list = list.where('affiliates.status', '=', query.status)
  if (query.code)
    list = list.where(sql<boolean>`"affiliates"."codeKey" like ${likePattern(codeKey(query.code))} escape '\\'`)
  const isAll = !query.affiliateId && !query.code
  const total = isAll ? await countRows(db, shopId, { list: 'affiliates', status: query.status }) : undefined
  return pageOf(list, query, { total, list: 'affiliates' })
}

export const couponList = defineList(import.meta.url, 'couponList', {
  read: listCoupons,
  cost: (query: CouponFilter) => (query.code || isDeep(query) ? rowsOf({ list: 'affiliates' }) : undefined),
})
