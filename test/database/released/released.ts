import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** What a released version left in a database, and what its callers still hold. */
export interface Released {
  version: string
  apiKey: string
  ownerToken: string
  /** In base64. */
  encryptionKey: string
  /** A request with its key and response. */
  answered: { idempotencyKey: string; body: object; status: number; reply: object }
  /** The statements that created its schema. */
  sqlite: string[]
  postgres: string[]
  /** Rows by table, the record of its migrations included. */
  rows: Record<string, Record<string, unknown>[]>
}

const folder = fileURLToPath(new URL('./', import.meta.url))

/** Every version that was ever released, by its name. */
export const released: Released[] = globSync('*.json', { cwd: folder })
  .sort()
  .map((name) => JSON.parse(readFileSync(folder + name, 'utf8')))
