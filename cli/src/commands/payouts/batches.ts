import {
  ConflictError,
  type PayoutBatch,
  type PayoutCreate,
  type PayoutPreview,
  type ReferralClient,
} from '@referral/sdk'
import { CliError, exitCode, notFoundError } from '../../errors.ts'
import { formatMoney } from '../../money.ts'

export type BatchWithLines = PayoutBatch & Required<Pick<PayoutBatch, 'lines'>>

/** Reads a batch with one line per affiliate. */
export async function readBatch(client: ReferralClient, id: string): Promise<BatchWithLines> {
  const { data } = await client.payouts.list({ id, include: 'lines' })
  const [batch] = data
  if (!batch || batch.id !== id)
    throw notFoundError(`Payout batch ${id} does not exist in your shop.`, 'Run `referral payouts list`.')
  if (batch.progress) {
    const { movedCommissions, commissions } = batch.progress
    const text = `Batch ${id} is PROCESSING: ${movedCommissions} of ${commissions} commissions have moved.`
    throw new CliError(exitCode.conflict, text, { code: 'payout_processing', hint: 'Retry when it is complete.' })
  }
  return { ...batch, lines: batch.lines ?? [] }
}

/** The amount a batch pays, without returned payments, which the next batch pays. */
export const dueCentsOf = ({ totals, returnedCents = 0 }: PayoutBatch): number => totals.netPayableCents - returnedCents

/** Rejects a batch whose total differs from the expected one. */
export function checkTotal(batch: PayoutBatch, expected: number | undefined, hint: string): void {
  const { id, currency, returnedCents } = batch
  const due = dueCentsOf(batch)
  if (expected === undefined || expected === due) return
  const returned = returnedCents
    ? `; ${formatMoney(returnedCents, currency)} was returned and is in the next batch`
    : ''
  throw new CliError(
    exitCode.conflict,
    `Batch ${id} pays ${formatMoney(due, currency)}, not the expected ${formatMoney(expected, currency)}${returned}.`,
    { code: 'payout_total_mismatch', hint },
  )
}

export interface BatchesByCurrency {
  batches: PayoutPreview[]
  /** Currencies without a batch, and why none can be created. */
  rejected: { currency: string; error: Error }[]
}

const codeOf = (error: unknown) => (error as { code?: string } | undefined)?.code ?? ''

/** Whether the period has no commissions, or less than the minimum payout. */
export const isNothingToPay = (error: unknown): boolean =>
  ['no_eligible_commissions', 'payout_below_threshold', 'payout_below_threshold_after_claim'].includes(codeOf(error))

const currenciesOf = (error: unknown): string[] =>
  error instanceof ConflictError ? (error.response.headers.get('X-Payout-Currencies')?.split(', ') ?? []) : []

/** Creates one batch per currency. The 409 response for several currencies lists them in a header. */
export async function createPerCurrency(
  create: (body: PayoutCreate) => Promise<PayoutPreview>,
  body: PayoutCreate,
): Promise<BatchesByCurrency> {
  try {
    return { batches: [await create(body)], rejected: [] }
  } catch (error) {
    if (codeOf(error) !== 'payout_mixed_currencies') throw error
    const batches: PayoutPreview[] = []
    const rejected: BatchesByCurrency['rejected'] = []
    for (const currency of currenciesOf(error)) {
      try {
        batches.push(await create({ ...body, currency }))
      } catch (error) {
        if (!isNothingToPay(error)) throw error
        rejected.push({ currency, error: error as Error })
      }
    }
    if (batches.length + rejected.length === 0) throw error
    return { batches, rejected }
  }
}
