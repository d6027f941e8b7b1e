import { readFileSync } from 'node:fs'
import * as csv from '@referral/server/parse-csv'
import { asUsageError, notFoundError } from '../errors.ts'

export type { Csv, CsvRow } from '@referral/server/parse-csv'

/** Reads a UTF-8 CSV file with a header, separated by commas, semicolons or tabs (RFC 4180). */
export function readCsv(file: string): csv.Csv {
  return parseCsv(decodeUtf8(readBytes(file), file), file)
}

/** @throws {CliError} not_found */
export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw notFoundError(code === 'ENOENT' ? `${file} does not exist.` : `Cannot read ${file}: ${code}.`)
  }
}

/** @throws {CliError} usage */
export const decodeUtf8 = (bytes: Buffer, file: string): string => asUsageError(() => csv.decodeUtf8(bytes, file))

/** @throws {CliError} usage */
export const parseCsv = (text: string, file: string): csv.Csv => asUsageError(() => csv.parseCsv(text, file))
