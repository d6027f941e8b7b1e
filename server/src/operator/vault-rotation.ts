import { sql } from 'kysely'
import type { Deps } from '../core/context.ts'
import { ENCRYPTION_KEY_CHECK, installationContext } from '../core/installation.ts'
import { mutate } from '../core/mutate.ts'
import type { TableName } from '../database/personal-data.ts'
import { pagesOf, type Row, readPrimaryKey } from '../database/table-keys.ts'
import { boundOfStore } from '../domains/accounts/store-connection.ts'
import { boundOfPayee } from '../domains/affiliates/payees.ts'
import { debtorOf } from '../domains/payments/files.ts'
import { boundOfErasure } from '../domains/privacy/erasure.ts'
import { isOfNewestKey } from '../domains/privacy/person.ts'
import { listErasures } from '../domains/privacy/queries.ts'

interface SealedColumn {
  table: TableName
  column: string
  /** What the values are bound to. */
  boundOf: (row: Row) => string
}

/** Every column whose values are sealed. A test compares them with what a full database contains. */
export const SEALED_COLUMNS: SealedColumn[] = [
  { table: 'shops', column: 'storeWebhookSecret', boundOf: ({ id }) => boundOfStore(String(id)) },
  { table: 'shops', column: 'stripeWebhookSecret', boundOf: ({ id }) => boundOfStore(String(id)) },
  { table: 'subscriptions', column: 'secret', boundOf: ({ id }) => String(id) },
  { table: 'subscriptions', column: 'previousSecret', boundOf: ({ id }) => String(id) },
  { table: 'payees', column: 'details', boundOf: ({ affiliateId }) => boundOfPayee(String(affiliateId)) },
  { table: 'payoutLines', column: 'details', boundOf: ({ id }) => String(id) },
  { table: 'payoutFiles', column: 'debtor', boundOf: ({ id }) => debtorOf(String(id)) },
  { table: 'erasures', column: 'subject', boundOf: ({ id }) => boundOfErasure(String(id)) },
  { table: 'installationSettings', column: 'value', boundOf: () => ENCRYPTION_KEY_CHECK },
]

/** Rows that are read and changed at a time. */
const PAGE_SIZE = 100

interface VaultReport {
  /** How many values were encrypted again. */
  rotated: number
  /** Values that are still encrypted with an earlier key, by column. */
  earlier: Record<string, number>
  /** Values that no key decrypts, by column. */
  unreadable: Record<string, number>
  /** Erasures whose person can be compared with an earlier key only. */
  erasures: number
}

/**
 * Encrypts every sealed value with the newest key, in small transactions. It continues where an interrupted run stopped,
 * because values under the newest key stay. Afterwards, it counts what is left.
 */
export async function rotateVault(deps: Deps, isDryRun = false): Promise<VaultReport> {
  let rotated = 0
  for (const sealed of isDryRun ? [] : SEALED_COLUMNS)
    for await (const values of outdatedValues(deps, sealed)) rotated += await replaceValues(deps, sealed, values)
  const report: VaultReport = { rotated, earlier: {}, unreadable: {}, erasures: 0 }
  for (const sealed of SEALED_COLUMNS) {
    const name = `${sealed.table}.${sealed.column}`
    for await (const values of outdatedValues(deps, sealed))
      for (const { after } of values) {
        const counts = after === null ? report.unreadable : report.earlier
        counts[name] = (counts[name] ?? 0) + 1
      }
  }
  const erasures = await listErasures(deps.db.read)
  report.erasures = erasures.filter(({ person }) => !isOfNewestKey(deps.vault, person)).length
  if (rotated > 0) await recordRotation(deps, rotated)
  return report
}

interface OutdatedValue {
  row: Row
  before: string
  /** Under the newest key; null when no key decrypts it. */
  after: string | null
}

/** The values of a column that are not encrypted with the newest key, a page at a time. */
async function* outdatedValues(
  { db, vault }: Pick<Deps, 'db' | 'vault'>,
  { table, column, boundOf }: SealedColumn,
): AsyncGenerator<OutdatedValue[], void> {
  for await (const rows of pagesOf(db.read, table, { limit: PAGE_SIZE })) {
    const values = rows.flatMap((row): OutdatedValue[] => {
      const before = row[column]
      if (typeof before !== 'string' || (table === 'installationSettings' && row.name !== ENCRYPTION_KEY_CHECK))
        return []
      const after = vault.reseal(before, boundOf(row))
      return after === before ? [] : [{ row, before, after }]
    })
    if (values.length > 0) yield values
  }
}

/** Replaces the values that did not change since they were read. Returns how many. */
async function replaceValues({ db }: Deps, { table, column }: SealedColumn, values: OutdatedValue[]): Promise<number> {
  let replaced = 0
  const shopOf = ({ row }: OutdatedValue) => String(table === 'shops' ? row.id : row.shopId)
  for (const [shopId, ofShop] of Map.groupBy(values, shopOf))
    replaced += await db.transact(
      async (trx) => {
        let changed = 0
        const names = await readPrimaryKey(trx, table)
        for (const { row, before, after } of ofShop) {
          if (after === null) continue
          const key = sql.join(
            names.map((name) => sql`${sql.ref(name)} = ${row[name]}`),
            sql` and `,
          )
          const { numAffectedRows } = await sql`
            update ${sql.table(table)} set ${sql.ref(column)} = ${after}
            where ${key} and ${sql.ref(column)} = ${before}`.execute(trx)
          changed += Number(numAffectedRows ?? 0)
        }
        return changed
      },
      table === 'installationSettings' ? undefined : shopId,
    )
  return replaced
}

const recordRotation = (deps: Deps, values: number) =>
  mutate(installationContext(deps), async () => ({
    result: undefined,
    audit: { action: 'vault.rotated', subjectId: null, data: { values } },
  }))

const total = (counts: Record<string, number>) => Object.values(counts).reduce((sum, count) => sum + count, 0)

/** Whether no stored value needs an earlier key. */
export const isRotated = ({ earlier, unreadable }: VaultReport): boolean => total(earlier) + total(unreadable) === 0

export function describeRotation(report: VaultReport): string[] {
  const { rotated, earlier, unreadable, erasures } = report
  const counts = (values: Record<string, number>) => Object.entries(values).map(([name, count]) => `${name}\t${count}`)
  return [
    `Values encrypted again with the newest key: ${rotated}.`,
    ...(total(earlier) > 0 ? ['These values are encrypted with an earlier key:', ...counts(earlier)] : []),
    ...(total(unreadable) > 0 ? ['No key decrypts these values:', ...counts(unreadable)] : []),
    ...(isRotated(report)
      ? [
          'No stored value needs an earlier key. Remove it 30 days after every server was restarted with the newest key first: until then, it recognizes retries of requests, and tokens and page links of affiliates.',
        ]
      : [
          'Earlier keys may not go yet. Put the newest key first on every server, append all earlier ones, restart the servers, and run this command.',
        ]),
    'Keep earlier keys with the backups from before: to restore one, append its key and run this command again.',
    ...(erasures > 0 ? [`Erasures that only an earlier key can repeat after a restore: ${erasures}.`] : []),
  ]
}
