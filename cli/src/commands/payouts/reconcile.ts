import { statSync } from 'node:fs'
import type { components, ReferralClient } from '@referral/sdk'
import { type ReportedResults, readPaymentResults } from '@referral/server/payment-results'
import { decodeUtf8, readBytes } from '../../csv/parse.ts'
import { asUsageError, type ExitCode, exitCode, toFailure, unwrap, usageError } from '../../errors.ts'
import { formatMoney } from '../../money.ts'
import type { Run } from '../../run.ts'
import { readFile } from './payment-file.ts'

type PaymentResult = components['schemas']['PaymentResult']
type Reconciled = components['schemas']['ReconciledResult']

/** Larger files would not fit into memory when parsed. */
const MAX_BYTES = 100 * 1024 * 1024
/** The API's limit for one request. */
const MAX_RESULTS = 500

/** Reads a file from a bank or payment service, and records its results. */
export async function reconcile(run: Run, file: string): Promise<ExitCode | undefined> {
  const reported = readResults(file)
  const { kind, pending, problems, others } = reported
  const client = await run.ownerClient()
  const results = [...reported.results, ...(await resultsOfFiles(run, client, reported))]
  const done: Reconciled[] = []
  for (let start = 0; start < results.length; start += MAX_RESULTS) {
    const body = { results: results.slice(start, start + MAX_RESULTS), ...(run.dryRun && { dryRun: true }) }
    const { data } = unwrap(await client.POST('/admin/v1/payout-lines/reconcile', { body }))
    done.push(...data.results)
  }
  run.printRows<Reconciled>(done, ['paymentReference', 'result', 'affiliateId', 'amountCents'])
  for (const [i, payment] of done.entries()) {
    const warning = describe(payment, results[i])
    if (warning) run.reporter.warn(`${payment.paymentReference}: ${warning}`)
  }
  for (const problem of problems) run.reporter.warn(problem)
  for (const { paymentReference, status } of pending)
    run.reporter.info(`${paymentReference}: ${status || 'no status'} is not final; nothing was changed`)
  const count = (...some: Reconciled['result'][]) => done.filter(({ result }) => some.includes(result)).length
  const toReview = count('unknown', 'amount_mismatch', 'settled_twice')
  run.reporter.info(
    `${kind}: ${count('settled')} settled, ${count('returned')} returned, ${count('already_settled', 'already_returned')} already recorded, ${toReview} to review, ${problems.length} unreadable, ${pending.length} pending, ${others} of other payments`,
  )
  if (run.dryRun) run.reporter.info('Dry run: nothing was recorded.')
  return toReview + problems.length > 0 ? exitCode.partial : undefined
}

function readResults(file: string): ReportedResults {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
  if (size > MAX_BYTES) throw usageError(`${file} is larger than 100 MiB.`, 'Split it, or export a shorter period.')
  const text = decodeUtf8(readBytes(file), file)
  return asUsageError(() => readPaymentResults(text, file))
}

/** Results for payment files that were settled or rejected as a whole. */
async function resultsOfFiles(run: Run, client: ReferralClient, { files }: ReportedResults): Promise<PaymentResult[]> {
  const results: PaymentResult[] = []
  for (const { id, outcome, reason, date } of files) {
    try {
      const { lines } = await readFile(client, { id })
      for (const { paymentReference } of lines) results.push({ paymentReference, outcome, reason, date })
    } catch (error) {
      if (toFailure(error).code !== 'payout_file_not_found') throw error
      run.reporter.warn(`Payment file ${id} is unknown; its status ${outcome} was ignored.`)
    }
  }
  return results
}

/** Why a person should review a result, or undefined. */
function describe({ result, amountCents }: Reconciled, payment: PaymentResult | undefined): string | undefined {
  if (result === 'unknown') return 'unknown payment reference: no payment file of this shop contains it'
  if (result === 'settled_twice') return 'settled twice, with different references; check whether it was paid twice'
  if (result !== 'amount_mismatch') return undefined
  const reported = formatMoney(payment?.amountCents ?? 0, payment?.currency ?? '')
  return `reported with ${reported}, but ${formatMoney(amountCents ?? 0, payment?.currency ?? '')} was sent; nothing was changed`
}
