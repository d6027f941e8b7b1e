import { unwrap } from '../../errors.ts'
import { toJson } from '../../output/text.ts'
import { requirePeriod } from '../../period.ts'
import type { Run } from '../../run.ts'

export interface StatementOptions {
  month: string
  format: 'json' | 'csv' | 'html'
}

/** Prints an affiliate's statement in a file's format. */
export async function printStatement(run: Run, affiliateId: string, options: StatementOptions): Promise<undefined> {
  const { format } = options
  const month = await monthOf(run, options.month)
  const client = await run.ownerClient()
  const path = { affiliateId }
  if (format === 'json') {
    const init = { params: { path, query: { month } } }
    const statement = unwrap(await client.GET('/admin/v1/affiliates/{affiliateId}/statement', init))
    if (run.style.fields) run.printRecord(statement)
    else run.printText(`${toJson(statement)}\n`)
    return undefined
  }
  const init = { params: { path, query: { month, format } } }
  run.printText(unwrap(await client.GET('/admin/v1/affiliates/{affiliateId}/statement/file', init)))
}

const DAYS_MS = 15 * 86_400_000

/** A month's name. `last` and `this` follow the shop's time zone. */
export async function monthOf(run: Run, month: string): Promise<string> {
  if (/^\d{4}-/.test(month)) return month
  const { from } = await requirePeriod({ month }, run)
  // The middle of a month has the same name in every time zone.
  return new Date(Date.parse(from) + DAYS_MS).toISOString().slice(0, 7)
}

export interface LedgerOptions {
  month: string
}

/** Prints a month's ledger as CSV. */
export async function printLedger(run: Run, options: LedgerOptions): Promise<undefined> {
  const month = await monthOf(run, options.month)
  run.printText(unwrap(await (await run.ownerClient()).GET('/admin/v1/ledger', { params: { query: { month } } })))
}
