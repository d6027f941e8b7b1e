import { type ChainCheck, checkChains } from '../accounts/audit-log.ts'
import { isPostgresUrl } from '../config.ts'
import type { Deps } from '../core/context.ts'
import { isEncryptionKeyValid } from '../core/installation.ts'
import { findBadRows } from './check-rows.ts'
import {
  countMismatchedOrders,
  countOrphans,
  listUnbalancedDebts,
  listWrongCounts,
  listWrongHeads,
  listWrongRefundTotals,
  listWrongTotals,
} from './consistency.ts'

export interface CheckReport {
  ok: boolean
  /** One sentence per problem; empty when there is none. */
  problems: string[]
  audit: ChainCheck
}

/**
 * Checks the consistency of the database: files, rows, decisions, totals of batches and refunds, carried debts,
 * references, audit chains, and the encryption key when there is a vault. {@link describeCoverage} lists what it cannot detect.
 */
export async function check({ db, vault }: Pick<Deps, 'db'> & Partial<Pick<Deps, 'vault'>>): Promise<CheckReport> {
  const damage = (await db.findDamage()).map((line) => `The database is damaged: ${line}`)
  try {
    const { problems, audit } = await checkData({ db, vault })
    return { ok: damage.length + problems.length === 0, problems: [...damage, ...problems], audit }
  } catch (error) {
    if (damage.length === 0) throw error
    const rest = `The remaining checks failed: ${(error as Error).message}.`
    return { ok: false, problems: [...damage, rest], audit: { shops: 0, rows: 0, breaks: [], heads: [] } }
  }
}

async function checkData({ db, vault }: Parameters<typeof check>[0]): Promise<Omit<CheckReport, 'ok'>> {
  const problems: string[] = []
  for (const { id, stored, summed } of await listWrongTotals(db.read)) {
    problems.push(
      `Payout batch ${id} stores a net total of ${stored} cents, but its commissions add up to ${summed}, or its counts differ.`,
    )
  }
  for (const { commissionId, stored, summed } of await listWrongRefundTotals(db.read)) {
    problems.push(
      `The refunds of commission ${commissionId} add up to ${summed} cents of goods, but ${stored} are stored.`,
    )
  }
  for (const id of await listUnbalancedDebts(db.read)) {
    problems.push(`The carried debt ${id} does not consist of two commissions that add up to 0.`)
  }
  for (const { table, column, rows } of await countOrphans(db.read)) {
    problems.push(`${rows} rows of ${table} reference a ${column} that does not exist in their shop.`)
  }
  const mismatched = await countMismatchedOrders(db.read)
  if (mismatched > 0) problems.push(`${mismatched} orders reference the commission of another order.`)
  for (const { list, shopId, scope, counted, rows } of await listWrongCounts(db.read)) {
    const of = scope ? ` (${scope})` : ''
    problems.push(
      `Shop ${shopId} has ${rows} rows of ${list}${of}, but ${counted} are counted, or under other keys; repair with check --recount.`,
    )
  }
  problems.push(...(await findBadRows({ db })))
  if (vault && !(await isEncryptionKeyValid({ db, vault })))
    problems.push('The encryption key does not belong to this database.')
  const audit = await checkChains({ db })
  for (const { shopId, seq, reason } of audit.breaks) {
    problems.push(`The audit of shop ${shopId} is broken at row ${seq}: ${BREAK_REASONS[reason]}.`)
  }
  for (const { shopId, head, last } of await listWrongHeads(db.read)) {
    const stored = head === null ? 'has no stored head' : `has row ${head} stored as its head, or another hash`
    problems.push(`The audit of shop ${shopId} ends at row ${last}, but ${stored}.`)
  }
  return { problems, audit }
}

const BREAK_REASONS = {
  MISSING: 'the row is missing',
  CHANGED: 'the row was changed after it was written',
  UNLINKED: 'the row does not follow the one before it',
}

interface CheckScope {
  /** A `DATABASE_URL`. */
  url: string
  /** Whether the encryption key was compared. */
  key?: boolean
  /** Whether the checksum of a backup was compared. */
  checksum?: boolean
}

/** What a successful check has verified, and what it cannot detect; one line each. */
export function describeCoverage({ url, key, checksum }: CheckScope): string[] {
  const isPostgres = isPostgresUrl(url)
  const verified = [
    ...(isPostgres ? [] : ['the structure of the file and its indexes']),
    ...(checksum ? ['the SHA-256 of the backup'] : []),
    'that every row is readable',
    'that replaying the stored facts of each order gives the stored decision',
    'totals of payout batches and refunds, references between rows, and counts of lists',
    'the chain of every audit and its stored head',
    ...(key ? ['the encryption key'] : []),
  ]
  return [
    `Verified: ${verified.join('; ')}.`,
    'Not detectable: a value that was replaced by another valid one and from which nothing is computed, such as a name, and the loss of the latest changes. The SHA-256 of a backup detects the first; audit.heads from an earlier check --json, stored elsewhere, detects the second.',
    ...(isPostgres ? ['The files of PostgreSQL are not read: use its data checksums and pg_amcheck.'] : []),
  ]
}
