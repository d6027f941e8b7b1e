import { ConflictError, type PayoutCreate, type PayoutPreview } from '@referral/sdk'

export interface Gathered {
  batches: PayoutPreview[]
  /** Currencies whose commissions make no batch, and why. */
  refused: { currency: string; error: Error }[]
}

const codeOf = (error: unknown) => (error as { code?: string } | undefined)?.code ?? ''

/** There is nothing in the period, or less than the minimum. */
export const isTooLittle = (error: unknown): boolean =>
  ['no_eligible_commissions', 'payout_below_threshold', 'payout_below_threshold_after_claim'].includes(codeOf(error))

const currenciesOf = (error: unknown): string[] =>
  error instanceof ConflictError ? (error.response.headers.get('X-Payout-Currencies')?.split(', ') ?? []) : []

/** Makes one batch for each currency that has commissions. The 409 of a mixed period lists them in a header. */
export async function batchPerCurrency(
  make: (body: PayoutCreate) => Promise<PayoutPreview>,
  body: PayoutCreate,
): Promise<Gathered> {
  try {
    return { batches: [await make(body)], refused: [] }
  } catch (error) {
    if (codeOf(error) !== 'payout_mixed_currencies') throw error
    const batches: PayoutPreview[] = []
    const refused: Gathered['refused'] = []
    for (const currency of currenciesOf(error)) {
      try {
        batches.push(await make({ ...body, currency }))
      } catch (error) {
        if (!isTooLittle(error)) throw error
        refused.push({ currency, error: error as Error })
      }
    }
    if (batches.length + refused.length === 0) throw error
    return { batches, refused }
  }
}
