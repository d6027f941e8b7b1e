import { isPostgresUrl } from '../db/url.ts'

interface Checked {
  /** A `DATABASE_URL`. */
  url: string
  /** Whether the encryption key was compared. */
  key?: boolean
  /** Whether the checksum of a backup was compared. */
  checksum?: boolean
}

/** What a check that finds nothing has shown, and what no check can see; a line each. */
export function coverageOf({ url, key, checksum }: Checked): string[] {
  const isPostgres = isPostgresUrl(url)
  const verified = [
    ...(isPostgres ? [] : ['the structure of the file and its indexes']),
    ...(checksum ? ['the SHA-256 of the backup'] : []),
    'that every row can be read',
    'that the engine decides each order from its stored facts as it did',
    'totals of payout batches and refunds, references between rows, and counts of lists',
    'the chain of every audit',
    ...(key ? ['the encryption key'] : []),
  ]
  return [
    `Verified: ${verified.join('; ')}.`,
    'Not visible to a check: a value that was replaced by another valid one and that nothing is computed from, such as a name, and the loss of the newest changes. The SHA-256 of a backup shows the first; audit.heads of an earlier check --json, kept elsewhere, shows the second.',
    ...(isPostgres ? ['The files of PostgreSQL are not read: use its data checksums and pg_amcheck.'] : []),
  ]
}
