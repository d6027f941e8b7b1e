import { affiliateNotFound, concurrentChange, conflict, invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { replayStoredResponse } from '../../core/idempotency.ts'
import { defineReader, readFrom } from '../../core/lists.ts'
import { mutate } from '../../core/mutate.ts'
import { mapPage, readCursor, type Uncounted } from '../../core/pagination.ts'
import { updateIfUnchanged } from '../../database/rows.ts'
import type { AffiliateRow } from '../../database/tables.ts'
import { codeKey, codeProblem, MAX_CODE_LENGTH, mixesScripts, nearestCode } from '../../engine/affiliate-codes.ts'
import { unusedCode } from '../affiliates/affiliates.ts'
import { findNameHolders } from '../affiliates/name-queries.ts'
import { findAffiliate } from '../affiliates/queries.ts'
import { couponList, findCoupon } from './queries.ts'

type Schemas = components['schemas']
type CouponRow = NonNullable<Awaited<ReturnType<typeof findCoupon>>>

/** Lists the discount codes of affiliates that are not archived. */
export const list = defineReader(couponList, async (ctx: Context, query: Query<'listCoupons'> & Uncounted) => {
  const start = await readCursor(ctx, 'affiliates', query)
  return mapPage(await readFrom(ctx, couponList, { ...query, start }), toCoupon)
})

/**
 * Assigns a discount code to an affiliate: the sent one, or a random one. Sending the current code changes nothing.
 *
 * @throws ApiError 400 `discount_code_invalid`, 404 `affiliate_not_found`, 409 `discount_code_taken` or `concurrent_change`.
 */
export async function assign(ctx: Context, body: Body<'assignCoupon'>) {
  const replay = await replayStoredResponse<Schemas['Coupon']>(ctx)
  if (replay) return replay
  const requested = body.code ?? undefined
  if (requested !== undefined && codeProblem(requested)) {
    throw invalidField('discount_code_invalid', 'code', 'must be 1 to 9 visible characters without spaces, 0, o or O.')
  }
  const before = await findAffiliate(ctx.db.read, ctx.shop.id, body.affiliateId)
  if (!before) throw affiliateNotFound()
  return mutate(ctx, async (trx) => {
    const coupon = async () => {
      const row = await findCoupon(trx, ctx.shop.id, before.id)
      if (!row) throw concurrentChange()
      return toCoupon(row)
    }
    if (requested === before.discountCode) {
      const result = await coupon()
      if (result.code !== requested) throw concurrentChange()
      return { result, audit: null }
    }
    const discountCode = requested ?? (await unusedCode(ctx, trx))
    const holders = await findNameHolders(trx, ctx.shop.id, codeKey(discountCode))
    if (holders.some(({ affiliateId, name }) => name !== 'SLUG' && affiliateId !== before.id)) {
      throw conflict(
        'discount_code_taken',
        'Another affiliate of your shop has this code. Choose a different code.',
        'code',
      )
    }
    const changes: Partial<AffiliateRow> = { discountCode, codeKey: codeKey(discountCode), updatedAt: nowIso(ctx) }
    if (!(await updateIfUnchanged(trx, 'affiliates', before, changes))) throw concurrentChange()
    const data = { code: discountCode, previousCode: before.discountCode }
    return { result: await coupon(), audit: { action: 'coupon.assigned', subjectId: before.id, data } }
  })
}

/** Digits that a suggested code can end with. */
const DIGITS = ['2', '3', '4', '5', '6', '7', '8', '9', '1']

/**
 * The allowed code most similar to a typed one that no affiliate in the shop has as code or alias. Undefined if none is
 * similar.
 */
export async function findFreeCode({ db, shop }: Context, typed: string): Promise<string | undefined> {
  const nearest = nearestCode(typed)
  if (!nearest) return undefined
  const start = [...nearest].slice(0, MAX_CODE_LENGTH - 1).join('')
  for (const code of [nearest, ...DIGITS.map((digit) => start + digit)]) {
    const holders = await findNameHolders(db.read, shop.id, codeKey(code))
    if (holders.every(({ name }) => name === 'SLUG')) return code
  }
  return undefined
}

/** The allowed code most similar to a typed one. Null if the typed one is allowed. */
export const nearestAllowed = (typed: string): string | null =>
  typed === '' || codeProblem(typed) === null ? null : nearestCode(typed)

const toCoupon = (row: CouponRow): Schemas['Coupon'] => ({
  affiliateId: row.affiliateId,
  affiliateName: row.affiliateName,
  affiliateStatus: row.affiliateStatus,
  code: row.code,
  programId: row.programId,
  discountEnabled: row.discountEnabled === 1,
  discountType: row.discountType,
  discountValue: row.discountValue,
  warnings: warningsOf(row.code, row.slugAffiliateId),
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

/** Warnings about codes that can be confused with others. Such codes are accepted. */
function warningsOf(code: string, slugAffiliateId: string | null): Schemas['CouponWarning'][] {
  const warnings: Schemas['CouponWarning'][] = []
  if (slugAffiliateId !== null) {
    warnings.push({
      code: 'slug_of_another_affiliate',
      message: `This code is also the slug of affiliate ${slugAffiliateId}. Orders with it count for the affiliate with the code.`,
      affiliateId: slugAffiliateId,
    })
  }
  if (mixesScripts(code)) {
    const message = 'This code mixes Latin letters with Cyrillic or Greek letters that look the same.'
    warnings.push({ code: 'mixed_scripts', message, affiliateId: null })
  }
  return warnings
}
