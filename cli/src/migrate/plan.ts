import type { AffiliateStatus, AffiliateUpdate } from '@referral/sdk'
import { findColumn, mapColumns } from '../csv/headers.ts'
import type { Csv, CsvRow } from '../csv/read.ts'
import { usageError } from '../exit.ts'
import { CONTACT_FIELDS, type Provider } from './providers.ts'

/** An affiliate as the export tells. */
export interface SourceAffiliate {
  row: CsvRow
  email: string
  name: string
  firstName: string | undefined
  lastName: string | undefined
  status: AffiliateStatus
  /** What old links carry. */
  ref: string | undefined
  /** The first of its coupons. */
  coupon: string | undefined
  contact: AffiliateUpdate
  /** Said about this row. */
  notes: string[]
  /** What the export has and this service cannot keep, whatever else is there. */
  leftOut: string[]
}

/**
 * The slug of an affiliate who is created under an old ref: letters, digits and dashes stay, a dot or an underscore between
 * them becomes a dash. Undefined for any other ref, whose slug could not be told from the ref alone.
 */
export const slugOf = (ref: string): string | undefined =>
  ref.length <= 60 && /^[a-z0-9]+(?:[-._][a-z0-9]+)*$/i.test(ref) ? ref.toLowerCase().replace(/[._]/g, '-') : undefined

/** Discount codes have at most 9 characters, all visible, and none of 0, o and O, also not as fullwidth letters. */
export const isValidCode = (code: string): boolean =>
  [...code].length <= 9 &&
  /^[^\s\p{Cc}\p{Cf}]+$/u.test(code) &&
  /\P{Default_Ignorable_Code_Point}/u.test(code) &&
  !/[0oO]/.test(code + code.normalize('NFKC'))

/** What addresses are matched by. The service also compares the spellings of a domain, and refuses the second one. */
export const addressKey = (email: string): string => email.trim().normalize('NFC').toLowerCase().normalize('NFC')

/** What the rows of an export mean; rows without an e-mail address are told apart. */
export function planImport(
  { header, rows }: Csv,
  provider: Provider,
  asked: readonly string[] | undefined,
): { mapping: Record<string, string>; newcomers: SourceAffiliate[]; failed: { row: CsvRow; problem: string }[] } {
  const mapping = mapColumns(header, provider.columns, asked)
  if (!mapping.email)
    throw usageError('Which column is email?', `Add --map email=Column. Columns: ${header.filter(Boolean).join(', ')}.`)
  const id = provider.id && findColumn(header, provider.id)
  const failed: { row: CsvRow; problem: string }[] = []
  const newcomers: SourceAffiliate[] = []
  const seen = new Set<string>()
  for (const row of rows) {
    const newcomer = parseAffiliate(row, { mapping, provider, id })
    const key = addressKey(newcomer.email)
    if (row.problem) failed.push({ row, problem: row.problem })
    else if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(newcomer.email)) failed.push({ row, problem: 'no e-mail address' })
    else if (seen.has(key)) failed.push({ row, problem: `${newcomer.email} stands in an earlier row` })
    else newcomers.push(newcomer)
    seen.add(key)
  }
  return { mapping, newcomers, failed }
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
  const [coupon, ...others] = (cell('coupon') ?? '').split(/[\s,;|]+/).filter(Boolean)
  const leftOut = others.map((code) => `code ${code}: an affiliate has one code`)
  const said = cell('status')
  const status = said === undefined ? 'PENDING' : provider.statuses[said.toLowerCase().replace(/[^a-z0-9]/g, '')]
  if (!status) notes.push(`status ${said} is not known; PENDING`)
  const [link, ...links] = refsInLinks(cell('link'), provider.linkParameter)
  const ref = cell('ref') ?? link ?? (id && !mapping.ref ? row.cells[id]?.trim() || undefined : undefined)
  for (const other of new Set(links)) if (other !== ref) leftOut.push(`link ${other}: an affiliate has one link`)
  if (cell('paypal')) leftOut.push(`PayPal address ${cell('paypal')}: payee details are not kept`)
  if (/[1-9]/.test(cell('balance') ?? '')) leftOut.push(`balance ${cell('balance')}: pay it where it was earned`)
  return { row, email, name, firstName, lastName, status: status ?? 'PENDING', ref, coupon, contact, notes, leftOut }
}

/** The codes in links: `https://shop.example/?via=adam`. */
const refsInLinks = (links: string | undefined, parameter: string): string[] =>
  (links ?? '').split(/[\s,;|]+/).flatMap((link) => {
    const code = URL.canParse(link) ? new URL(link).searchParams.get(parameter) : null
    return code ? [code] : []
  })

/** Whether old links work: as they are, with another `ref`, as `affiliateCode`, or no longer. */
export type RefState = 'kept' | 'as slug' | 'as code' | 'lost' | 'none'
