import { conflict, invalidField, notFound, programNotFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { minorUnitDigits } from '../../core/currencies.ts'
import { mutate } from '../../core/mutate.ts'
import { mapPage } from '../../core/pagination.ts'
import { findRow, insertRow } from '../../database/rows.ts'
import type { ProductRuleRow } from '../../database/tables.ts'
import { commissionPercentOf, rateFromInput } from '../../engine/program-rate.ts'
import { rateError } from './programs.ts'
import * as rules from './queries.ts'
import { findProgram } from './queries.ts'

/** The limit per shop, as documented in openapi.yaml. */
const MAX_RULES = 10_000

/** Lists the rates of products and variants that differ from their programs, newest first. */
export async function list(ctx: Context, query: Query<'listProductRules'>) {
  return mapPage(await rules.listProductRules(ctx.db.read, ctx.shop.id, query), toProductRule)
}

/**
 * Sets the rate that a program pays for a product or variant.
 *
 * @throws ApiError 400 `invalid_body` or `commission_percent_invalid`, 404 `program_not_found`, 409 `product_rule_exists`
 *   or `product_rule_limit_reached`.
 */
export async function create(ctx: Context, body: Body<'createProductRule'>) {
  const { programId, kind, commissionType = 'PERCENT_OF_SALE' } = body
  const value = requireProductId(body.value.trim())
  const read = rateFromInput(commissionType, body.commissionPercent, minorUnitDigits(ctx.shop.currency))
  if (!read.ok) throw rateError(read.reason, { type: commissionType, currency: ctx.shop.currency })
  const { rate } = read.rate
  return mutate(ctx, async (trx) => {
    if (!(await findProgram(trx, ctx.shop.id, programId))) throw programNotFound()
    const row = {
      id: ctx.newId('rul'),
      shopId: ctx.shop.id,
      programId,
      kind,
      value,
      commissionType,
      rate,
      createdAt: nowIso(ctx),
    }
    if (await findRow(trx, 'productRules', { shopId: ctx.shop.id, programId, kind, value })) {
      throw conflict(
        'product_rule_exists',
        'The program already has a rule for this product or variant. Delete that rule first.',
      )
    }
    if ((await rules.countProductRules(trx, ctx.shop.id)) >= MAX_RULES) {
      throw conflict(
        'product_rule_limit_reached',
        'A shop can have 10,000 product rules. Remove one before you create another.',
      )
    }
    await insertRow(trx, 'productRules', row)
    const data = { programId, kind, value, commissionType, rate }
    return { result: toProductRule(row), audit: { action: 'product_rule.created', subjectId: row.id, data } }
  })
}

/** @throws ApiError 404 `product_rule_not_found`. */
export async function remove(ctx: Context, id: string) {
  return mutate(ctx, async (trx) => {
    const row = await rules.deleteProductRule(trx, ctx.shop.id, id)
    if (!row) throw notFound('product_rule_not_found', 'No product rule with this id exists in your shop.')
    const { programId, kind, value, commissionType, rate } = row
    return {
      result: { ok: true as const, message: 'Product rule removed.', id },
      audit: { action: 'product_rule.deleted', subjectId: id, data: { programId, kind, value, commissionType, rate } },
    }
  })
}

const toProductRule = (row: ProductRuleRow): components['schemas']['ProductRule'] => ({
  id: row.id,
  programId: row.programId,
  kind: row.kind,
  value: row.value,
  commissionType: row.commissionType,
  commissionPercent: commissionPercentOf(row),
  rate: row.rate,
  createdAt: row.createdAt,
})

/**
 * Validates a product or variant ID: digits, as in stores' orders.
 *
 * @throws ApiError 400 `invalid_body`.
 */
export function requireProductId(value: string): string {
  if (/^\d+$/.test(value)) return value
  throw invalidField(
    'invalid_body',
    'value',
    'must be a numeric id as text, such as "1001". The gid:// form is not supported.',
  )
}
