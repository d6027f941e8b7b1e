import { type ApiError, concurrentChange, conflict, invalidField, programNotFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { minorUnitDigits, toUnits } from '../../core/currencies.ts'
import { mutate } from '../../core/mutate.ts'
import { mapPage, readCursor } from '../../core/pagination.ts'
import { searchable } from '../../core/searchable.ts'
import { insertRow, updateIfUnchanged, updateRows } from '../../database/rows.ts'
import type { ProgramRow } from '../../database/tables.ts'
import { DEFAULT_CLICK_WINDOW_DAYS } from '../../engine/attribution.ts'
import type { Rate } from '../../engine/facts.ts'
import {
  commissionPercentOf,
  discountError,
  MAX_CENTS,
  patchRate,
  type RateError,
  rateFromInput,
} from '../../engine/program-rate.ts'
import * as programs from './queries.ts'

/** Lists programs, newest first, with their affiliate counts. */
export async function list(ctx: Context, query: Query<'listPrograms'>) {
  const start = await readCursor(ctx, 'programs', query)
  return mapPage(await programs.listPrograms(ctx.db.read, ctx.shop.id, { ...query, start }), toProgram)
}

/** @throws ApiError 404 `program_not_found`. */
export async function find(ctx: Context, id: string) {
  const { data } = await list(ctx, { id, page: 1, limit: 1 })
  if (!data[0]) throw programNotFound()
  return data[0]
}

/** More names are not searched, because no index has parts of them. */
const MAX_SEARCHED = 1000

/** The newest programs with an id, or with a text in their name; letter case does not matter. */
export async function findByName({ db, shop }: Context, text: string, limit: number): Promise<programs.NamedProgram[]> {
  const all = await programs.listProgramNames(db.read, shop.id, MAX_SEARCHED)
  const searchText = searchable([text])
  return all.filter(({ id, name }) => id === text || searchable([name]).includes(searchText)).slice(0, limit)
}

/** The names of programs by their ids. */
export const programNames = async ({ db, shop }: Context, ids: string[]): Promise<Map<string, string>> =>
  new Map((await programs.findPrograms(db.read, shop.id, [...new Set(ids)])).map(({ id, name }) => [id, name]))

/**
 * Creates a program. The first program of a shop becomes its default.
 *
 * @throws ApiError 400 for a blank name, 400 `commission_percent_invalid`.
 */
export async function create(ctx: Context, body: Body<'createProgram'>) {
  const { description = null, commissionType = 'PERCENT_OF_SALE', commissionPercent = 16 } = body
  const { cookieDurationDays = DEFAULT_CLICK_WINDOW_DAYS, status = 'DRAFT' } = body
  const name = requireName(body.name)
  const { currency } = ctx.shop
  const rate = rateFromInput(commissionType, commissionPercent, minorUnitDigits(currency))
  if (!rate.ok) throw rateError(rate.reason, { type: commissionType, currency })
  return mutate(ctx, async (trx) => {
    const createdAt = nowIso(ctx)
    const row: ProgramRow = {
      id: ctx.newId('prg'),
      shopId: ctx.shop.id,
      name,
      description,
      cookieDurationDays,
      status,
      ...rateColumns(rate.rate),
      autoApproveAffiliate: body.autoApproveAffiliate ? 1 : 0,
      autoApproveOrder: body.autoApproveOrder ? 1 : 0,
      lifetimeCommission: 0,
      termsVersion: 1,
      discountEnabled: 0,
      discountType: null,
      discountValue: null,
      version: 1,
      createdAt,
      updatedAt: createdAt,
    }
    await insertRow(trx, 'programs', row)
    const withoutDefault = { id: ctx.shop.id, defaultProgramId: null }
    const isDefault = (await updateRows(trx, 'shops', withoutDefault, { defaultProgramId: row.id })) === 1
    const result = toProgram(await programs.findProgramView(trx, ctx.shop.id, row.id))
    return { result, audit: { action: 'program.created', subjectId: row.id, data: { isDefault } } }
  })
}

/**
 * Changes the sent fields, validated together with the stored ones.
 *
 * @throws ApiError 400 for a blank name, 400 `commission_percent_invalid`, `commission_percent_required` or
 *   `discount_value_invalid`, 404 `program_not_found`, 409 `concurrent_change` or `program_has_terms`.
 */
export async function update(ctx: Context, id: string, body: Body<'updateProgram'>) {
  const input = body.name === undefined ? body : { ...body, name: requireName(body.name) }
  const before = await programs.findProgram(ctx.db.read, ctx.shop.id, id)
  if (!before) throw programNotFound()
  const changes = changedColumns(before, input, ctx.shop.currency)
  return mutate(ctx, async (trx) => {
    const fields = Object.keys(changes)
    if (changes.commissionType && (await programs.hasTermsRules(trx, before)))
      throw conflict(
        'program_has_terms',
        `The rules of this program's terms pay ${before.commissionType}. Set terms without rules before you change the type.`,
        'commissionType',
      )
    if (fields.length > 0) {
      const updated = await updateIfUnchanged(trx, 'programs', before, {
        ...changes,
        updatedAt: nowIso(ctx),
      })
      if (!updated) throw concurrentChange()
    }
    const after = await programs.findProgramView(trx, ctx.shop.id, id)
    if (fields.length === 0 && after.version !== before.version) throw concurrentChange()
    const audit = fields.length ? { action: 'program.updated', subjectId: id, data: { fields } } : null
    return { result: toProgram(after), audit }
  })
}

function changedColumns(before: ProgramRow, body: Body<'updateProgram'>, currency: string): Partial<ProgramRow> {
  const { commissionType, commissionPercent, ...plain } = body
  const stored = { commissionType: before.commissionType, rate: before.defaultCommissionBps }
  const patched = patchRate(stored, { commissionType, commissionPercent }, minorUnitDigits(currency))
  if (!patched.ok) throw rateError(patched.reason, { type: commissionType ?? before.commissionType, currency })
  const columns = Object.fromEntries(
    Object.entries(plain).map(([name, value]) => [name, typeof value === 'boolean' ? Number(value) : value]),
  )
  const after: ProgramRow = { ...before, ...columns, ...rateColumns(patched.rate) }
  if (body.discountType !== undefined || body.discountValue !== undefined) checkDiscount(after, currency)
  const differs = (name: keyof ProgramRow) => after[name] !== undefined && after[name] !== before[name]
  const names = (Object.keys(after) as (keyof ProgramRow)[]).filter(differs)
  return Object.fromEntries(names.map((name) => [name, after[name]])) as Partial<ProgramRow>
}

const rateColumns = (rate: Rate) => ({
  commissionType: rate.commissionType,
  commissionPercent: commissionPercentOf(rate),
  defaultCommissionBps: rate.rate,
})

function requireName(name: string): string {
  if (!name.trim()) throw invalidField('invalid_body', 'name', 'must not be blank.')
  return name.trim()
}

/** @throws ApiError 400 `discount_value_invalid`. */
function checkDiscount({ discountType, discountValue }: ProgramRow, currency: string): void {
  const type = discountType ?? 'FIXED'
  const digits = minorUnitDigits(currency)
  if (discountValue === null || discountError(type, discountValue, digits) === null) return
  const range =
    type === 'PERCENT'
      ? 'from 0 to 100 for a percentage, with at most 2 decimals'
      : `from 0 to ${toUnits(MAX_CENTS, currency)} for an amount, with ${decimalsOf(currency)}`
  throw invalidField('discount_value_invalid', 'discountValue', `must be ${range}.`)
}

const decimalsOf = (currency: string): string => {
  const digits = minorUnitDigits(currency)
  return `${digits ? `at most ${digits}` : 'no'} decimals in ${currency}`
}

/** The error for a rejected rate. @param path of what has the rate, if not the body */
export function rateError(
  reason: RateError,
  { type, currency, path }: { type: ProgramRow['commissionType']; currency: string; path?: string },
): ApiError {
  if (reason === 'NEEDS_COMMISSION_PERCENT') {
    return invalidField(
      'commission_percent_required',
      'commissionPercent',
      'is required to change between a flat amount and a percentage.',
    )
  }
  const range =
    type === 'PERCENT_OF_SALE'
      ? 'at most 100 for a percentage, with at most 2 decimals'
      : `at most ${toUnits(MAX_CENTS, currency)} for an amount, with ${decimalsOf(currency)}`
  const field = path === undefined ? 'commissionPercent' : `${path}.commissionPercent`
  return invalidField('commission_percent_invalid', field, `must be above 0 and ${range}.`)
}

/** Converts a row to the schema in openapi.yaml, without internal columns. */
const toProgram = (row: programs.ProgramView): components['schemas']['Program'] => ({
  id: row.id,
  name: row.name,
  description: row.description,
  commissionType: row.commissionType,
  commissionPercent: row.commissionPercent,
  defaultCommissionBps: row.defaultCommissionBps,
  cookieDurationDays: row.cookieDurationDays,
  autoApproveAffiliate: row.autoApproveAffiliate === 1,
  autoApproveOrder: row.autoApproveOrder === 1,
  status: row.status,
  lifetimeCommission: row.lifetimeCommission === 1,
  discountEnabled: row.discountEnabled === 1,
  discountType: row.discountType,
  discountValue: row.discountValue,
  isDefault: row.isDefault === 1,
  affiliateCount: row.affiliateCount,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})
