import { sql } from 'kysely'
import { digestOfAudit } from '../../core/audit.ts'
import { type Context, nowIso } from '../../core/context.ts'
import type { Transaction } from '../../database/database.ts'
import type { TableName } from '../../database/personal-data.ts'
import { type Row, readPrimaryKey } from '../../database/table-keys.ts'
import type { AffiliateRow, AuditRow } from '../../database/tables.ts'
import { CODE_ALPHABET, CODE_LENGTH, codeKey } from '../../engine/affiliate-codes.ts'
import { searchText } from '../affiliates/affiliates.ts'
import type { PayeeDetails } from '../affiliates/payees.ts'
import { type Concern, ERASED_NAME } from './concern.ts'
import type { Person } from './person.ts'

/** New column values, or the row's deletion. */
export type Change = Row | 'delete'

interface Concerned {
  table: TableName
  row: Row
  concern: Concern
}

/** The change to a row that concerns the erased person. Undefined if it needs no change. */
export function toStoredChange(ctx: Context, person: Person, { table, row, concern }: Concerned): Change | undefined {
  const { isOwn, changes } = concern
  if (table === 'payees') return isOwn ? 'delete' : undefined
  if (table === 'payoutLines' && isOwn) return withoutNothing({ ...changes, ...sealedLine(ctx, row) })
  if (Object.keys(changes).length === 0) return undefined
  switch (table) {
    case 'affiliates':
      return { ...changes, ...affiliateColumns(person, { ...row, ...changes } as unknown as AffiliateRow, isOwn) }
    case 'audits':
      // The chain stays verifiable: its hashes cover the replaced text's digest. Without its salt, the digest matches
      // no text.
      return { ...changes, salt: null, digest: digestOfAudit(row as unknown as AuditRow) }
    case 'webhookEvents':
      return { ...changes, erasedAt: nowIso(ctx) }
    default:
      return changes
  }
}

const withoutNothing = (changes: Row): Row | undefined => (Object.keys(changes).length === 0 ? undefined : changes)

/** Derived columns. An erased affiliate's code is derived from the pseudonym. */
function affiliateColumns(person: Person, row: AffiliateRow, isOwn: boolean): Row {
  if (!isOwn) return { searchText: searchText(row), version: row.version + 1 }
  const letters = Buffer.from(person.pseudonym(`code ${row.id}`))
  const discountCode = [...letters.subarray(-CODE_LENGTH)]
    .map((byte) => CODE_ALPHABET[byte % CODE_ALPHABET.length])
    .join('')
  return { discountCode, codeKey: codeKey(discountCode), searchText: searchText(row), version: row.version + 1 }
}

const ERASED_PAYEES: { [Method in PayeeDetails['method']]: Extract<PayeeDetails, { method: Method }> } = {
  PAYPAL: { method: 'PAYPAL', email: 'affiliate@erased.invalid' },
  WISE: { method: 'WISE', email: 'affiliate@erased.invalid', name: ERASED_NAME },
  SEPA: {
    method: 'SEPA',
    name: ERASED_NAME,
    iban: 'ERASED',
    bic: null,
    streetName: null,
    buildingNumber: null,
    postalCode: null,
    townName: 'Erased',
    country: 'ZZ',
  },
}

/** A made payment's details, without the account. */
function sealedLine({ vault }: Context, { id, method, details }: Row): Row {
  const erased = {
    name: ERASED_NAME,
    email: 'affiliate@erased.invalid',
    payee: ERASED_PAYEES[method as PayeeDetails['method']],
  }
  const text = JSON.stringify(erased)
  return vault.open(String(details), String(id)) === text ? {} : { details: vault.seal(text, String(id)) }
}

/**
 * Changes rows unless they have changed since they were read; then the change is computed again. Returns how many rows were
 * changed.
 */
export async function changeRows(
  trx: Transaction,
  table: TableName,
  rows: { row: Row; change: Change }[],
  changeOf: (row: Row) => Change | undefined,
): Promise<number> {
  const keys = await readPrimaryKey(trx, table)
  const matches = (row: Row) =>
    sql.join(
      keys.map((key) => sql`${sql.ref(key)} = ${row[key]}`),
      sql` and `,
    )
  const current = await Promise.all(
    rows.map(({ row }) => sql<Row>`select * from ${sql.table(table)} where ${matches(row)}`.execute(trx)),
  )
  const changed = rows.map(async ({ row, change: planned }, i) => {
    const [before] = current[i]!.rows
    if (!before) return 0
    const change = isEqual(before, row) ? planned : changeOf(before)
    if (change === undefined) return 0
    const columns = Object.entries(change)
    const set = sql.join(columns.map(([column, value]) => sql`${sql.ref(column)} = ${value}`))
    if (change === 'delete') await sql`delete from ${sql.table(table)} where ${matches(row)}`.execute(trx)
    else await sql`update ${sql.table(table)} set ${set} where ${matches(row)}`.execute(trx)
    return 1
  })
  return (await Promise.all(changed)).reduce<number>((sum, count) => sum + count, 0)
}

const isEqual = (a: Row, b: Row): boolean => Object.keys(a).every((column) => a[column] === b[column])
