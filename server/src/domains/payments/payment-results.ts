import { readBankMessage } from './results/bank.ts'
import { type ReportedResults, rejectContradictions } from './results/result.ts'
import { readPaypalDetails, readTable } from './results/services.ts'

export type { ReportedResults } from './results/result.ts'

// A pure module, which the command line contains, too.

/**
 * Reads what a bank or a payment service reports: pain.002, camt.053 and camt.054, the payouts of PayPal as CSV or JSON, the
 * transfers of Wise, and results as CSV.
 *
 * @param file how messages call it
 * @throws UnreadableFileError
 */
export function readPaymentResults(report: string, file: string): ReportedResults {
  const results = readResults(report.replace(/^\ufeff/, ''), file)
  rejectContradictions(results, file)
  return results
}

function readResults(text: string, file: string): ReportedResults {
  const [first] = text.trimStart()
  if (first === '<') return readBankMessage(text, file)
  return first === '{' ? readPaypalDetails(text, file) : readTable(text, file)
}
