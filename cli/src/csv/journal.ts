import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { usageError } from '../errors.ts'
import type { Reporter } from '../reporter.ts'
import type { Settings } from '../settings.ts'

const hash = (text: string) => createHash('sha256').update(text).digest('hex')

/** Identifies a report by its content, so that a corrected row counts as new. */
export const contentHash = (report: object): string => hash(JSON.stringify(report))

/**
 * Records which rows of a CSV file were sent, in a file next to it, so that another run sends only the rest. There is one
 * journal per service and key. It only saves requests: the service detects repeated reports itself.
 */
export class ImportJournal {
  /** Undefined for standard input, which has no journal. */
  readonly file: string | undefined
  readonly #known: Set<string>

  constructor(csvFile: string, { baseUrl, apiKey = '' }: Pick<Settings, 'baseUrl' | 'apiKey'>) {
    // A key's prefix is not secret and differs between shops.
    this.file =
      csvFile === '-' ? undefined : `${csvFile}.${hash(`${baseUrl}\n${apiKey.slice(0, 10)}`).slice(0, 8)}.sent`
    const text = this.file !== undefined && existsSync(this.file) ? readFileSync(this.file, 'utf8') : ''
    // Ignores a truncated last line.
    this.#known = new Set(text.split('\n').filter((line) => line.length === 64))
  }

  /** Excludes what earlier runs have sent. */
  selectNew<T>(all: readonly T[], hashOf: (row: T) => string, reporter: Reporter): T[] {
    const rest = all.filter((row) => !this.#known.has(hashOf(row)))
    if (rest.length < all.length)
      reporter.info(
        `skipped ${all.length - rest.length} of ${all.length}, which ${this.file} lists as sent; delete that file to send them again, as after a restore of the server`,
      )
    return rest
  }

  /** Checks before the first report that the journal can be written. */
  ensureWritable(): void {
    if (this.file === undefined) return
    try {
      appendFileSync(this.file, '', { mode: 0o600 })
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code
      throw usageError(
        `Cannot write ${this.file}: ${reason}.`,
        'It records which rows were sent. Copy the CSV file to a writable folder.',
      )
    }
  }

  /** Written before the next report is sent, so that a killed run can be continued. */
  add(line: string): void {
    if (this.#known.has(line)) return
    if (this.file !== undefined) appendFileSync(this.file, `${line}\n`, { mode: 0o600 })
    this.#known.add(line)
  }
}
