import { readBankMessage } from './results/bank.ts'
import { type ReportedResults, rejectContradictions } from './results/result.ts'
import { readPaypalDetails, readTable } from './results/services.ts'

export type { ReportedResults } from './results/result.ts'

// Pure, because the CLI bundles it as well.

/**
 * Reads a report from a bank or payment service: pain.002, camt.053, camt.054, PayPal payouts as CSV or JSON, Wise
 * transfers, and results as CSV.
 *
 * @param file the file's name in messages
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
