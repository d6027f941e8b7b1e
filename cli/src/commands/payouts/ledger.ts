import { unwrap } from '../../errors.ts'
import type { Run } from '../../run.ts'
import { monthOf } from '../statements/get.ts'

export interface LedgerOptions {
  month: string
}

/** Prints the ledger of a month as CSV. */
export async function printLedger(run: Run, options: LedgerOptions): Promise<undefined> {
  const month = await monthOf(run, options.month)
  run.printText(unwrap(await (await run.ownerClient()).GET('/admin/v1/ledger', { params: { query: { month } } })))
}
