import { affiliateNotFound, concurrentChange, invalidField, notFound, programNotFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { minorUnitDigits, money } from '../../core/currencies.ts'
import { mutate } from '../../core/mutate.ts'
import type { Reader } from '../../database/database.ts'
import { findRow, insertRow, updateIfUnchanged } from '../../database/rows.ts'
import type { AffiliateRow, ProgramRow, ProgramTermsRow, ShopRow } from '../../database/tables.ts'
import type { TermsRule } from '../../engine/facts.ts'
import { rateFromInput } from '../../engine/program-rate.ts'
import { hasMoneyCondition } from '../../engine/terms.ts'
import { ruleText, termsSentence } from '../../engine/terms-texts.ts'
import { rateError } from './programs.ts'
import { countAffiliates, findProgram } from './queries.ts'

type Terms = components['schemas']['ProgramTerms']

/** Every program's initial terms. */
const FIRST = { version: 1, holdDays: 0, appliesTo: 'ORDERS', hasAmounts: 0, rules: '[]' } as const

/**
 * The current terms of a program, or an earlier version.
 *
 * @throws ApiError 404 `program_not_found` or `program_terms_not_found`.
 */
export async function find(ctx: Context, id: string, version?: number): Promise<Terms> {
  const program = await findProgram(ctx.db.read, ctx.shop.id, id)
  if (!program) throw programNotFound()
  const row = await readTerms(ctx.db.read, ctx.shop, program, version)
  if (!row) throw notFound('program_terms_not_found', "This program's terms have no such version.")
  return toTerms(row, program)
}

/** What a program pays one affiliate, in one sentence that does not reveal others' rates. Null without a program. */
export async function summaryFor(
  { db, shop }: Context,
  { id, campaignId }: Pick<AffiliateRow, 'id' | 'campaignId'>,
): Promise<string | null> {
  const program = campaignId === null ? undefined : await findProgram(db.read, shop.id, campaignId)
  const row = program && (await readTerms(db.read, shop, program))
  if (!row) return null
  const { rules, ...terms } = toTerms(row, program)
  const matching = rules.flatMap(({ when: { affiliateIds, ...when }, ...rule }) =>
    affiliateIds === undefined || affiliateIds.includes(id) ? [{ ...rule, when }] : [],
  )
  return summaryOf(program, { ...terms, rules: matching }, row)
}

async function readTerms(
  db: Reader,
  shop: ShopRow,
  program: ProgramRow,
  version = program.termsVersion,
): Promise<ProgramTermsRow | undefined> {
  const { shopId, id: programId, commissionType, createdAt } = program
  if (version === 1) return { ...FIRST, shopId, programId, commissionType, currency: shop.currency, createdAt }
  return findRow(db, 'programTerms', { shopId, programId, version })
}

/**
 * Creates the next version of a program's terms. Setting the same terms changes nothing.
 *
 * @throws ApiError 400 `invalid_body` or `commission_percent_invalid`, 404 `program_not_found` or
 * `affiliate_not_found`, 409 `concurrent_change`.
 */
export async function set(ctx: Context, id: string, body: Body<'setProgramTerms'>): Promise<Terms> {
  // A request that lost its body must not end a hold.
  if ((body.rules ?? body.holdDays ?? body.appliesTo) === undefined)
    throw invalidField('invalid_body', 'rules', 'is required, unless holdDays or appliesTo is sent.')
  return mutate(ctx, async (trx, shop) => {
    const program = await findProgram(trx, shop.id, id)
    if (!program) throw programNotFound()
    const current = (await readTerms(trx, shop, program))!
    const { commissionType } = program
    const rules = (body.rules ?? []).map((rule, index) =>
      toRule(rule, { commissionType, currency: shop.currency, path: `rules[${index}]` }),
    )
    const { holdDays = 0, appliesTo = 'ORDERS' } = body
    const next: ProgramTermsRow = {
      ...current,
      version: current.version + 1,
      holdDays,
      appliesTo,
      commissionType,
      currency: shop.currency,
      hasAmounts: Number(rules.some((rule) => hasAmounts(rule, commissionType))),
      rules: JSON.stringify(rules),
      createdAt: nowIso(ctx),
    }
    if (isSame(current, next)) return { result: toTerms(current, program), audit: null }
    if (body.version !== undefined && body.version !== current.version) throw concurrentChange()
    const ids = [...new Set(rules.flatMap(({ when }) => when.affiliateIds ?? []))]
    if (ids.length > 0 && (await countAffiliates(trx, shop.id, ids)) < ids.length) throw affiliateNotFound()
    await insertRow(trx, 'programTerms', next)
    const changes = { termsVersion: next.version, updatedAt: next.createdAt }
    if (!(await updateIfUnchanged(trx, 'programs', program, changes))) throw concurrentChange()
    const result = toTerms(next, program)
    const { version } = result
    return {
      result,
      audit: {
        action: 'program.terms_set',
        subjectId: id,
        data: { version, holdDays, appliesTo, rules: result.rules },
      },
    }
  })
}

const isSame = (programTerms: ProgramTermsRow, other: ProgramTermsRow): boolean =>
  programTerms.holdDays === other.holdDays &&
  programTerms.appliesTo === other.appliesTo &&
  programTerms.rules === other.rules

interface RuleContext {
  commissionType: ProgramRow['commissionType']
  currency: string
  path: string
}

/** A rule's stored form: with a rate like a program's, and without omitted bounds. */
function toRule(input: components['schemas']['TermsRule'], { commissionType, currency, path }: RuleContext): TermsRule {
  const { when, commissionPercent, maxCommissionCents } = input
  for (const [name, condition] of Object.entries(when)) {
    const { from, to } = condition as { from?: number; to?: number }
    if (from !== undefined && to !== undefined && to < from)
      throw invalidField('invalid_body', `${path}.when.${name}.to`, 'must not be below from.')
  }
  const affiliateIds = when.affiliateIds && [...new Set(when.affiliateIds)]
  const rule = {
    when: { ...when, ...(affiliateIds && { affiliateIds }) },
    ...(maxCommissionCents !== undefined && { maxCommissionCents }),
  }
  if (commissionPercent === null) return { ...rule, rate: null }
  const read = rateFromInput(commissionType, commissionPercent, minorUnitDigits(currency))
  if (!read.ok) throw rateError(read.reason, { type: commissionType, currency, path })
  return { ...rule, rate: read.rate.rate }
}

/** Whether a rule has an amount in the shop's currency. */
const hasAmounts = ({ when, rate, maxCommissionCents }: TermsRule, type: ProgramRow['commissionType']): boolean =>
  hasMoneyCondition(when) || maxCommissionCents !== undefined || (rate !== null && type !== 'PERCENT_OF_SALE')

function toTerms(row: ProgramTermsRow, program: ProgramRow): Terms {
  const { version, holdDays, appliesTo, commissionType, currency, createdAt } = row
  const stored: TermsRule[] = JSON.parse(row.rules)
  const digits = commissionType === 'PERCENT_OF_SALE' ? 2 : minorUnitDigits(currency)
  const rules = stored.map(({ rate, ...rule }) => ({
    ...rule,
    commissionPercent: rate === null ? null : rate / 10 ** digits,
  }))
  const terms = { holdDays, appliesTo, rules }
  return { version, ...terms, summary: summaryOf(program, terms, { commissionType, currency }), createdAt }
}

type OfProgram = Pick<ProgramRow, 'commissionType' | 'defaultCommissionBps'>
type RateUnit = Pick<RuleContext, 'commissionType' | 'currency'>

/** What terms pay, in one sentence. @param unit the rates' unit */
export const summaryOf = (
  { commissionType: type, defaultCommissionBps }: OfProgram,
  { holdDays, appliesTo, rules }: Pick<Terms, 'holdDays' | 'appliesTo' | 'rules'>,
  unit: RateUnit,
): string =>
  termsSentence(
    {
      commissionType: unit.commissionType,
      holdDays,
      appliesTo,
      rules: rules.map((rule) => toRule(rule, { ...unit, path: '' })),
    },
    { commissionType: type, rate: defaultCommissionBps },
    (cents) => money(cents, unit.currency),
  )

/** What each rule pays, in words. */
export const ruleTexts = (
  { commissionType, defaultCommissionBps }: OfProgram,
  rules: Terms['rules'],
  currency: string,
): string[] =>
  rules.map((rule) =>
    ruleText(
      { commissionType, rate: defaultCommissionBps },
      toRule(rule, { commissionType, currency, path: '' }),
      (cents) => money(cents, currency),
    ),
  )
