import { ConflictError, type PayoutCreate, type PayoutPreview } from '@referral/sdk'

export interface BatchesByCurrency {
  batches: PayoutPreview[]
  /** Currencies whose commissions make no batch, and why. */
  rejected: { currency: string; error: Error }[]
}

const codeOf = (error: unknown) => (error as { code?: string } | undefined)?.code ?? ''

/** There is nothing in the period, or less than the minimum. */
export const isNothingToPay = (error: unknown): boolean =>
  ['no_eligible_commissions', 'payout_below_threshold', 'payout_below_threshold_after_claim'].includes(codeOf(error))

const currenciesOf = (error: unknown): string[] =>
  error instanceof ConflictError ? (error.response.headers.get('X-Payout-Currencies')?.split(', ') ?? []) : []

/** Makes one batch for each currency that has commissions. The 409 of a mixed period lists them in a header. */
export async function createPerCurrency(
  make: (body: PayoutCreate) => Promise<PayoutPreview>,
  body: PayoutCreate,
): Promise<BatchesByCurrency> {
  try {
    return { batches: [await make(body)], rejected: [] }
  } catch (error) {
    if (codeOf(error) !== 'payout_mixed_currencies') throw error
    const batches: PayoutPreview[] = []
    const refused: BatchesByCurrency['rejected'] = []
    for (const currency of currenciesOf(error)) {
      try {
        batches.push(await make({ ...body, currency }))
      } catch (error) {
        if (!isNothingToPay(error)) throw error
        refused.push({ currency, error: error as Error })
      }
    }
    if (batches.length + refused.length === 0) throw error
    return { batches, rejected: refused }
  }
}
