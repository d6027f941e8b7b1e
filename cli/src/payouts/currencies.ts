import type { PayoutCreate, PayoutPreview } from '@referral/sdk'

export interface Gathered {
  batches: PayoutPreview[]
  /** Currencies whose commissions make no batch, and why. */
  refused: { currency: string; error: Error }[]
}

const codeOf = (error: unknown) => (error as { code?: string } | undefined)?.code ?? ''

/** There is nothing in the period, or less than the minimum. */
export const isTooLittle = (error: unknown): boolean =>
  ['no_eligible_commissions', 'payout_below_threshold', 'payout_below_threshold_after_claim'].includes(codeOf(error))

/** A batch is of one currency: one batch for each that has commissions. The refusal of a mixed one names them. */
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
    for (const currency of (error as Error).message.match(/\b[A-Z]{3}\b/g) ?? []) {
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
