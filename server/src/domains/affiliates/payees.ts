import { electronicFormatIBAN, isSEPACountry, isValidBIC, isValidIBAN } from 'ibantools'
import { affiliateNotFound, invalidField, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { mutate, recordAccess } from '../../core/mutate.ts'
import type { Vault } from '../../core/vault.ts'
import { deleteRows, findRow } from '../../database/rows.ts'
import type { PayeeRow } from '../../database/tables.ts'
import { findAffiliate, findAffiliatesById, upsertPayee } from './queries.ts'

type Schemas = components['schemas']

/** The stored details: text without surrounding whitespace, IBAN and BIC in their electronic form. */
export type PayeeDetails = Schemas['PaypalPayee'] | Schemas['WisePayee'] | Required<Schemas['SepaPayee']>

/** Details are sealed for one affiliate, so that a row that is moved to another affiliate cannot be read. */
export const boundOfPayee = (affiliateId: string) => `payee:${affiliateId}`

export const sealPayee = (vault: Vault, affiliateId: string, details: PayeeDetails): string =>
  vault.seal(JSON.stringify(details), boundOfPayee(affiliateId))

/** Decrypts payee details; null when no encryption key fits. */
export function openPayee(
  vault: Vault,
  { affiliateId, details }: Pick<PayeeRow, 'affiliateId' | 'details'>,
): PayeeDetails | null {
  const text = vault.open(details, boundOfPayee(affiliateId))
  return text === null ? null : JSON.parse(text)
}

/**
 * Returns the masked payee details of an affiliate, and records the access.
 *
 * @throws ApiError 404 `affiliate_not_found` or `payee_not_found`.
 */
export async function getPayee(ctx: Context, affiliateId: string): Promise<Schemas['Payee']> {
  const row = await findRow(ctx.db.read, 'payees', { shopId: ctx.shop.id, affiliateId })
  if (!row) {
    const [affiliate] = await findAffiliatesById(ctx.db.read, ctx.shop.id, [affiliateId])
    throw affiliate ? payeeNotFound() : affiliateNotFound()
  }
  await recordAccess(ctx, 'payee.shown', affiliateId)
  return toPayee(ctx, row)
}

/**
 * Replaces the payee details of an affiliate.
 *
 * @throws ApiError 400 `payee_invalid`, 404 `affiliate_not_found`.
 */
export async function setPayee(ctx: Context, affiliateId: string, body: Body<'setPayee'>): Promise<Schemas['Payee']> {
  const details = toDetails(body)
  return mutate(ctx, async (trx) => {
    if (!(await findAffiliate(trx, ctx.shop.id, affiliateId))) throw affiliateNotFound()
    const before = await findRow(trx, 'payees', { shopId: ctx.shop.id, affiliateId })
    const updatedAt = nowIso(ctx)
    const row = {
      affiliateId,
      method: details.method,
      details: sealPayee(ctx.vault, affiliateId, details),
      createdAt: before?.createdAt ?? updatedAt,
      updatedAt,
    }
    await upsertPayee(trx, ctx.shop.id, row)
    const audit = { action: 'payee.set', subjectId: affiliateId, data: { method: details.method } }
    return { result: toPayee(ctx, row), audit }
  })
}

/** @throws ApiError 404 `payee_not_found`. */
export async function removePayee(ctx: Context, affiliateId: string): Promise<Schemas['ActionReply']> {
  return mutate(ctx, async (trx) => {
    if ((await deleteRows(trx, 'payees', { shopId: ctx.shop.id, affiliateId })) === 0) throw payeeNotFound()
    return {
      result: { ok: true as const, message: 'Payee details removed.', id: affiliateId },
      audit: { action: 'payee.deleted', subjectId: affiliateId },
    }
  })
}

const payeeNotFound = () => notFound('payee_not_found', 'This affiliate has no payee details.')

const payeeInvalid = (field: string, rule: string) =>
  invalidField('payee_invalid', field, `${rule} Compare it with a bank statement.`)

/** @throws ApiError 400 `payee_invalid`. */
function toDetails(body: Body<'setPayee'>): PayeeDetails {
  if (body.method === 'PAYPAL') return { method: body.method, email: body.email.trim() }
  if (body.method === 'WISE') return { method: body.method, email: body.email.trim(), name: body.name.trim() }
  return {
    method: body.method,
    name: body.name.trim(),
    ...toAccount(body),
    streetName: textOrNull(body.streetName),
    buildingNumber: textOrNull(body.buildingNumber),
    postalCode: textOrNull(body.postalCode),
    townName: body.townName.trim(),
    country: body.country,
  }
}

const textOrNull = (text: string | null | undefined): string | null => text?.trim() || null

/**
 * Validates a bank account in a SEPA country and returns its electronic form.
 *
 * @param at The path of the account in the request, such as `debtor.`.
 * @throws ApiError 400 `payee_invalid`.
 */
export function toAccount(
  input: { iban: string; bic?: string | null | undefined },
  at = '',
): { iban: string; bic: string | null } {
  const iban = electronicFormatIBAN(input.iban) ?? ''
  if (!isValidIBAN(iban)) throw payeeInvalid(`${at}iban`, 'must be a complete IBAN, with its country code.')
  const country = iban.slice(0, 2)
  if (!isSEPACountry(country)) throw invalidField('payee_invalid', `${at}iban`, 'must belong to a SEPA country.')
  const bic = input.bic?.replace(/\s/g, '').toUpperCase() || null
  if (bic !== null && !isValidBIC(bic)) throw payeeInvalid(`${at}bic`, 'must be a BIC, like DEUTDEFF.')
  if (bic !== null && !countriesOfBics(country).includes(bic.slice(4, 6)))
    throw payeeInvalid(`${at}bic`, 'must belong to the country of the IBAN.')
  return { iban, bic }
}

/** Territories whose accounts belong to banks of another country. */
const BANKS_OF_TERRITORIES: Record<string, string[]> = {
  // Overseas departments have IBANs of France, and banks with their own country code.
  FR: ['GF', 'GP', 'MQ', 'RE', 'YT', 'PM', 'BL', 'MF'],
  GB: ['GG', 'IM', 'JE'],
}
const countriesOfBics = (country: string): string[] => [country, ...(BANKS_OF_TERRITORIES[country] ?? [])]

const toPayee = (ctx: Context, row: Omit<PayeeRow, 'shopId'>): Schemas['Payee'] => {
  const details = openPayee(ctx.vault, row)
  return {
    affiliateId: row.affiliateId,
    method: row.method,
    account: details && maskedAccount(details),
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

/** Shows enough to recognize an account, but not enough to use it. */
function maskedAccount(details: PayeeDetails): string {
  if (details.method === 'SEPA') return `${details.iban.slice(0, 4)}…${details.iban.slice(-4)}`
  const [first = ''] = details.email
  return `${first}…${details.email.slice(details.email.lastIndexOf('@'))}`
}
