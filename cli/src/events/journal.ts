import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { ConversionInput } from '@referral/sdk'
import { usageError } from '../exit.ts'
import type { Settings } from '../settings.ts'

const hash = (text: string) => createHash('sha256').update(text).digest('hex')

/** What stands for an order with its content: the same row on another day is the same, a corrected one is new. */
export const orderHash = (order: ConversionInput): string => hash(JSON.stringify(order))

/**
 * Which orders of a file a service has taken, in a file beside it, so that a second run sends only the rest. It belongs
 * to one service and key: what staging has taken is news to production. Losing it is harmless, since the service
 * knows repeated orders too; it saves requests.
 */
export class ImportJournal {
  /** Undefined for standard input, of which nothing is remembered: the service knows repeated orders. */
  readonly file: string | undefined
  readonly #known: Set<string>

  constructor(csvFile: string, { baseUrl, apiKey = '' }: Pick<Settings, 'baseUrl' | 'apiKey'>) {
    // The visible beginning of the key tells shops apart without giving anything away.
    this.file =
      csvFile === '-' ? undefined : `${csvFile}.${hash(`${baseUrl}\n${apiKey.slice(0, 10)}`).slice(0, 8)}.sent`
    const text = this.file !== undefined && existsSync(this.file) ? readFileSync(this.file, 'utf8') : ''
    // A last line that was cut off in the middle is no order.
    this.#known = new Set(text.split('\n').filter((line) => line.length === 64))
  }

  has(order: ConversionInput): boolean {
    return this.#known.has(orderHash(order))
  }

  /** Finds out before the first order whether it can be written. */
  ensureWritable(): void {
    if (this.file === undefined) return
    try {
      appendFileSync(this.file, '', { mode: 0o600 })
    } catch (cause) {
      const why = (cause as NodeJS.ErrnoException).code
      throw usageError(
        `${this.file} cannot be written: ${why}.`,
        'It remembers what was sent: copy the orders to a folder of yours.',
      )
    }
  }

  /** Written before the next order is sent: a killed run knows what it did. */
  add(order: ConversionInput): void {
    const line = orderHash(order)
    if (this.#known.has(line)) return
    if (this.file !== undefined) appendFileSync(this.file, `${line}\n`, { mode: 0o600 })
    this.#known.add(line)
  }
}
