import { concurrentChange, conflictWithRemedy, invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { minorUnitDigits } from '../../core/currencies.ts'
import { mutate } from '../../core/mutate.ts'
import type { Reader } from '../../database/database.ts'
import { updateIfUnchanged } from '../../database/rows.ts'
import type { ShopRow } from '../../database/tables.ts'
import { PRECEDENCE_PRESETS } from '../../engine/attribution.ts'
import { scaleExactly } from '../../engine/money.ts'
import { listProgramsWithAmounts } from '../programs/queries.ts'
import { toTimeZone } from './shops.ts'
import { sealStoreSecret, toDomain } from './store-connection.ts'

type Settings = components['schemas']['Settings']

/** The settings of the caller's shop, without the store secrets. */
export const read = (ctx: Context): Settings => toSettings(ctx.shop)

/**
 * Changes the sent settings. A request without changes succeeds.
 *
 * @throws ApiError 400 `invalid_body`, 409 `concurrent_change` or `currency_in_use`.
 */
export async function update(ctx: Context, body: Body<'updateSettings'>): Promise<Settings> {
  const before = ctx.shop
  const changes = changedColumns(ctx, body)
  return mutate(ctx, async (trx) => {
    if (Object.keys(changes).length === 0) return { result: toSettings(before), audit: null }
    if (changes.currency) await requireNoAmounts(trx, before, body)
    const after = { ...before, ...changes, updatedAt: nowIso(ctx) }
    if (!(await updateIfUnchanged(trx, 'shops', before, { ...changes, updatedAt: after.updatedAt })))
      throw concurrentChange()
    const audit = { action: 'settings.updated', subjectId: before.id, data: settingsDiff(before, after) }
    return { result: toSettings(after), audit }
  })
}

/** The minimum payout may change together with the currency. @throws ApiError 409 `currency_in_use`. */
async function requireNoAmounts(db: Reader, shop: ShopRow, body: Body<'updateSettings'>): Promise<void> {
  const programs = await listProgramsWithAmounts(db, shop.id)
  const isKept = (name: 'minimumPayoutCents' | 'legacyMinimumPayout') =>
    body[name] === undefined && Number(shop[name] ?? 0) > 0
  const uses = [
    ...programs.map(({ name }) => `the program “${name}”`),
    ...(isKept('minimumPayoutCents') || isKept('legacyMinimumPayout') ? ['the minimum payout'] : []),
  ]
  if (uses.length === 0) return
  throw conflictWithRemedy('currency_in_use', {
    problem: `The currency cannot change while amounts are in ${shop.currency}: ${new Intl.ListFormat('en').format(uses)}.`,
    remedy: 'Change or remove them first, or send the minimum payout in the new currency.',
    field: 'currency',
  })
}

function changedColumns(ctx: Context, body: Body<'updateSettings'>): Partial<ShopRow> {
  const {
    attributionPrecedence: precedence,
    minimumPayoutCentsByCurrency: minimums,
    minimumAffiliatePayoutCentsByCurrency: affiliateMinimums,
    timeZone,
    apiEnabled,
    storeWebhookSecret: secret,
    stripeWebhookSecret: stripeSecret,
    storeDomain: domain,
    storeDomainAliases: aliases,
    siteDomains,
    ...plain
  } = body
  const columns: Partial<ShopRow> = { ...plain }
  const { legacyMinimumPayout: legacy, currency = ctx.shop.currency } = plain
  if (typeof legacy === 'string' && scaleExactly(Number(legacy), minorUnitDigits(currency)) === null)
    throw invalidField(
      'invalid_body',
      'legacyMinimumPayout',
      `must have at most ${minorUnitDigits(currency)} decimals in ${currency}.`,
    )
  if (precedence !== undefined) columns.attributionPrecedence = JSON.stringify(precedenceOf(precedence))
  if (minimums !== undefined) columns.minimumPayoutCentsByCurrency = JSON.stringify(sortedByName(minimums))
  if (affiliateMinimums !== undefined)
    columns.minimumAffiliatePayoutCentsByCurrency = JSON.stringify(sortedByName(affiliateMinimums))
  if (timeZone !== undefined) columns.timeZone = toTimeZone(timeZone)
  if (apiEnabled !== undefined) columns.apiEnabled = apiEnabled ? 1 : 0
  // Encrypting a secret twice gives two different texts, so a sent secret always counts as a change.
  if (secret !== undefined)
    columns.storeWebhookSecret = secret === null ? null : sealStoreSecret(ctx, ctx.shop.id, secret)
  if (stripeSecret !== undefined)
    columns.stripeWebhookSecret = stripeSecret === null ? null : sealStoreSecret(ctx, ctx.shop.id, stripeSecret.trim())
  if (domain !== undefined) columns.storeDomain = domain === null ? null : toDomain('storeDomain', domain)
  if (aliases !== undefined) columns.storeDomainAliases = toDomains('storeDomainAliases', aliases)
  if (siteDomains !== undefined) columns.siteDomains = toDomains('siteDomains', siteDomains)
  const differs = ([name, value]: [string, unknown]) => value !== undefined && value !== ctx.shop[name as keyof ShopRow]
  return Object.fromEntries(Object.entries(columns).filter(differs)) as Partial<ShopRow>
}

const toDomains = (name: string, texts: string[]): string =>
  JSON.stringify([...new Set(texts.map((text, at) => toDomain(`${name}[${at}]`, text)))])

/** All four kinds of evidence in order of precedence, as a list or as a preset's name. */
export function precedenceOf(input: components['schemas']['PrecedenceInput']): Settings['attributionPrecedence'] {
  if (typeof input === 'string') return [...PRECEDENCE_PRESETS[input]]
  if (new Set(input).size < PRECEDENCE_PRESETS.default.length) {
    throw invalidField(
      'invalid_body',
      'attributionPrecedence',
      `must contain each of ${PRECEDENCE_PRESETS.default.join(', ')} once.`,
    )
  }
  return input
}

const sortedByName = (minimums: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(minimums).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Minimum payouts in currencies other than the shop's own, in cents of each. */
export const minimumsByCurrency = ({ minimumPayoutCentsByCurrency }: ShopRow): Record<string, number> =>
  JSON.parse(minimumPayoutCentsByCurrency)

/** The minimum per affiliate in a batch, in cents by currency. */
export const affiliateMinimumsByCurrency = (
  shop: Pick<ShopRow, 'minimumAffiliatePayoutCentsByCurrency'>,
): Record<string, number> => JSON.parse(shop.minimumAffiliatePayoutCentsByCurrency)

/** An API key's shop. */
export const readShop = ({
  shop: { id, name, plan, currency, timeZone, isTest },
}: Context): components['schemas']['ShopInfo'] => ({
  id,
  name,
  plan,
  currency,
  timeZone,
  isTest: isTest === 1,
})

function toSettings(shop: ShopRow): Settings {
  return {
    shopId: shop.id,
    name: shop.name,
    plan: shop.plan,
    currency: shop.currency,
    minimumPayoutCents: shop.minimumPayoutCents,
    minimumPayoutCentsByCurrency: minimumsByCurrency(shop),
    minimumAffiliatePayoutCentsByCurrency: affiliateMinimumsByCurrency(shop),
    timeZone: shop.timeZone,
    legacyMinimumPayout: shop.legacyMinimumPayout,
    taxWithholdingBps: shop.taxWithholdingBps,
    attributionPrecedence: JSON.parse(shop.attributionPrecedence),
    clickTouch: shop.clickTouch,
    apiEnabled: shop.apiEnabled === 1,
    isTest: shop.isTest === 1,
    hasStoreWebhookSecret: shop.storeWebhookSecret !== null,
    hasStripeWebhookSecret: shop.stripeWebhookSecret !== null,
    storeDomain: shop.storeDomain,
    storeDomainAliases: JSON.parse(shop.storeDomainAliases),
    siteDomains: JSON.parse(shop.siteDomains),
    updatedAt: shop.updatedAt,
  }
}

/** Each changed setting's old and new value. For a secret, only that it changed. */
function settingsDiff(before: ShopRow, after: ShopRow): Record<string, unknown> {
  const [was, is] = [toSettings(before), toSettings(after)]
  const names = (Object.keys(is) as (keyof Settings)[]).filter(
    (name) => name !== 'updatedAt' && JSON.stringify(was[name]) !== JSON.stringify(is[name]),
  )
  const isNew = (name: 'storeWebhookSecret' | 'stripeWebhookSecret') => before[name] !== after[name]
  return {
    changes: Object.fromEntries(names.map((name) => [name, { from: was[name], to: is[name] }])),
    ...(isNew('storeWebhookSecret') && { storeWebhookSecret: 'changed' }),
    ...(isNew('stripeWebhookSecret') && { stripeWebhookSecret: 'changed' }),
  }
}
