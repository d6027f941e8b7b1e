import type { AffiliateStatus, AffiliateUpdate } from '@referral/sdk'
import { findColumn, mapColumns } from '../../csv/columns.ts'
import type { FailedRow } from '../../csv/failed-rows.ts'
import type { Csv, CsvRow } from '../../csv/parse.ts'
import { notFoundError, usageError } from '../../errors.ts'
import { detectOrderExportFormat } from '../events/order-export-formats.ts'
import { type PayeeDetails, parsePayee } from './payees.ts'
import { CONTACT_FIELDS, type Provider, STATUSES } from './providers.ts'

/** An affiliate in the export. */
export interface SourceAffiliate {
  row: CsvRow
  email: string
  name: string
  firstName: string | undefined
  lastName: string | undefined
  status: AffiliateStatus
  /** Why the row cannot be imported. */
  problem: string | undefined
  /** The code in the affiliate's old links. */
  ref: string | undefined
  /** The first coupon that can be a discount code. */
  coupon: string | undefined
  /** The other coupons, and other links' codes. */
  codes: string[]
  links: string[]
  payee: PayeeDetails | undefined
  contact: AffiliateUpdate
  notes: string[]
  /** Values in the export that the service does not support. */
  leftOut: string[]
}

/**
 * Returns the slug that the service derives from a ref: dots and underscores between letters and digits become dashes.
 *
 * @returns undefined if the ref's slug is not predictable
 */
export const slugOf = (ref: string): string | undefined =>
  ref.length <= 60 && /^[a-z0-9]+(?:[-._][a-z0-9]+)*$/i.test(ref) ? ref.toLowerCase().replace(/[._]/g, '-') : undefined

/** A discount code has at most 9 visible characters and no 0, o or O, including their full-width forms. */
export const isValidCode = (code: string): boolean =>
  [...code].length <= 9 &&
  /^[^\s\p{Cc}\p{Cf}]+$/u.test(code) &&
  /\P{Default_Ignorable_Code_Point}/u.test(code) &&
  !/[0oO]/.test(code + code.normalize('NFKC'))

/** Normalizes an email address for comparison. The service additionally normalizes the domain. */
export const emailKey = (email: string): string => email.trim().normalize('NFC').toLowerCase().normalize('NFC')

interface ImportPlan {
  mapping: Record<string, string>
  affiliates: SourceAffiliate[]
  failed: FailedRow[]
  /** Columns that are not read. */
  unusedColumns: string[]
}

/** Parses an export's rows. Rows without an email address fail. */
export function planImport(
  { header, rows }: Csv,
  provider: Provider,
  overrides: readonly string[] | undefined,
): ImportPlan {
  if (detectOrderExportFormat(header) !== 'csv')
    throw usageError('This looks like an order export. Use referral events import.')
  if (rows.length === 0) throw notFoundError('The file has no affiliates.')
  const mapping = mapColumns(header, provider.columns, overrides)
  if (!mapping.email)
    throw usageError(
      'No column for email was found.',
      `Add --map email=Column. Columns: ${header.filter(Boolean).join(', ')}.`,
    )
  const id = provider.id && findColumn(header, provider.id)
  const failed: FailedRow[] = []
  const affiliates: SourceAffiliate[] = []
  const seen = new Set<string>()
  for (const row of rows) {
    const affiliate = parseAffiliate(row, { mapping, provider, id })
    const key = emailKey(affiliate.email)
    const problem = row.problem ?? affiliate.problem
    if (problem) failed.push({ row, problem })
    else if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(affiliate.email)) failed.push({ row, problem: 'no email address' })
    else if (seen.has(key)) failed.push({ row, problem: `${affiliate.email} is already in an earlier row` })
    else affiliates.push(affiliate)
    seen.add(key)
  }
  // The error column in a file of failed rows is not data.
  const read = new Set([...Object.values(mapping), id, 'error'])
  return { mapping, affiliates, failed, unusedColumns: header.filter((name) => name !== '' && !read.has(name)) }
}

interface ParseSettings {
  mapping: Record<string, string>
  provider: Provider
  id: string | undefined
}

function parseAffiliate(row: CsvRow, { mapping, provider, id }: ParseSettings): SourceAffiliate {
  const cell = (field: string) => row.cells[mapping[field] ?? '']?.trim() || undefined
  const [firstName, lastName, email = ''] = [cell('firstName'), cell('lastName'), cell('email')]
  const name = cell('name') ?? ([firstName, lastName].filter(Boolean).join(' ') || (email.split('@')[0] ?? ''))
  const contact = Object.fromEntries(CONTACT_FIELDS.flatMap((field) => (cell(field) ? [[field, cell(field)]] : [])))
  const notes: string[] = []
  const coupons = (cell('coupon') ?? '').split(SEPARATORS).filter(Boolean)
  const coupon = coupons.find(isValidCode)
  const codes = coupons.filter((code) => code !== coupon)
  const leftOut: string[] = []
  const statusText = cell('status')
  const status = statusText === undefined ? 'PENDING' : STATUSES[statusText.toLowerCase().replace(/[^a-z0-9]/g, '')]
  const problem = status ? undefined : `unknown status ${statusText}; use approved, pending or rejected`
  const refs = [...(cell('ref') ?? '').split(SEPARATORS), ...refsInLinks(cell('link'), provider.linkParameter)]
  const [ref = id && !mapping.ref ? row.cells[id]?.trim() || undefined : undefined, ...links] = refs.filter(Boolean)
  const payee = parsePayee(cell, name)
  if (/[1-9]/.test(cell('balance') ?? '')) leftOut.push(`balance ${cell('balance')}: pay it in the old service`)
  const names = { ref, coupon, codes, links }
  return {
    row,
    email,
    name,
    firstName,
    lastName,
    status: status ?? 'PENDING',
    problem,
    ...names,
    payee,
    contact,
    notes,
    leftOut,
  }
}

/** Separates several coupons or links in one cell. */
const SEPARATORS = /[\s,;|]+/

/** Extracts the refs from links such as `https://shop.example/?via=adam`. */
export const refsInLinks = (links: string | undefined, parameter: string): string[] =>
  (links ?? '').split(SEPARATORS).flatMap((link) => {
    const code = URL.canParse(link) ? new URL(link).searchParams.get(parameter) : null
    return code ? [code] : []
  })

/** Whether old links keep working: as the slug, as an additional link name, or not at all. */
export type RefState = 'kept' | 'as alias' | 'lost' | 'none'
