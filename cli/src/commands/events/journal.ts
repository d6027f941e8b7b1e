import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { ConversionInput } from '@referral/sdk'
import { usageError } from '../../errors.ts'
import type { Settings } from '../../settings.ts'

const hash = (text: string) => createHash('sha256').update(text).digest('hex')

/** Identifies an order by its content, so that a corrected row counts as new. */
export const orderHash = (order: ConversionInput): string => hash(JSON.stringify(order))

/**
 * Records which orders of a CSV file were sent, in a file next to it, so that another run sends only the rest. There is one
 * journal per service and key. It only saves requests: the service detects repeated orders itself.
 */
export class ImportJournal {
  /** Undefined for standard input, which has no journal. */
  readonly file: string | undefined
  readonly #known: Set<string>

  constructor(csvFile: string, { baseUrl, apiKey = '' }: Pick<Settings, 'baseUrl' | 'apiKey'>) {
    // The prefix of a key is not secret and differs between shops.
    this.file =
      csvFile === '-' ? undefined : `${csvFile}.${hash(`${baseUrl}\n${apiKey.slice(0, 10)}`).slice(0, 8)}.sent`
    const text = this.file !== undefined && existsSync(this.file) ? readFileSync(this.file, 'utf8') : ''
    // Ignores a truncated last line.
    this.#known = new Set(text.split('\n').filter((line) => line.length === 64))
  }

  has(order: ConversionInput): boolean {
    return this.#known.has(orderHash(order))
  }

  /** Checks before the first order that the journal can be written. */
  ensureWritable(): void {
    if (this.file === undefined) return
    try {
      appendFileSync(this.file, '', { mode: 0o600 })
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code
      throw usageError(
        `Cannot write ${this.file}: ${reason}.`,
        'It records which orders were sent. Copy the CSV file to a writable folder.',
      )
    }
  }

  /** Written before the next order is sent, so that a killed run can be continued. */
  add(order: ConversionInput): void {
    const line = orderHash(order)
    if (this.#known.has(line)) return
    if (this.file !== undefined) appendFileSync(this.file, `${line}\n`, { mode: 0o600 })
    this.#known.add(line)
  }
}
