import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { createPayout, listPayouts, payPayout } from '../generated/operations.ts'
import type { ActionReply, PayoutBatch, PayoutCreate, PayoutPreview, PayoutQuery } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import { listCall, type Page, type PagedCall } from '../pagination.ts'

/** Options of `payouts.pay`. */
export interface PayOptions extends CallOptions {
  /** The `netPayableCents` you approved. The payment fails with `payout_total_mismatch` if the total differs. */
  expectedTotalCents?: number | undefined
}

/** Batches of commissions that are paid together. */
export const payouts = (core: Core) => {
  const listBatches = (query: PayoutQuery | undefined, options: CallOptions | undefined): PagedCall<PayoutBatch> =>
    listCall(core, listPayouts, {
      query,
      options,
      pick: (body) => body as Page<PayoutBatch>,
      rowId: ({ id }) => id,
    })

  return {
    /**
     * Lists payout batches, newest first. `include: 'lines'` adds one line per affiliate.
     *
     * @example
     * const { data } = await client.payouts.list({ status: 'OPEN' })
     */
    list: (query?: PayoutQuery, options?: CallOptions): PagedCall<PayoutBatch> => listBatches(query, options),

    /**
     * Creates a batch of the approved commissions of a period.
     *
     * @param body Both ends of the period are inclusive; a date without a time is midnight UTC.
     * @throws {NotFoundError} `no_eligible_commissions` when there is nothing to pay.
     * @throws {ConflictError} `payout_below_threshold`, or `payout_mixed_currencies` when `currency` is required.
     *
     * @example
     * const batch = await client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' })
     */
    create: (body: PayoutCreate, options?: WriteOptions): Call<PayoutBatch> =>
      core.call(createPayout, { body, options, pick: ({ data }) => data as PayoutBatch }),

    /**
     * Returns the batch that `create` would create. Writes nothing.
     *
     * @param body Both ends of the period are inclusive; a date without a time is midnight UTC.
     * @throws {NotFoundError} `no_eligible_commissions` when there is nothing to pay.
     * @throws {ConflictError} `payout_below_threshold`, or `payout_mixed_currencies` when `currency` is required.
     *
     * @example
     * const { totals } = await client.payouts.preview({ periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' })
     */
    preview: (body: PayoutCreate, options?: CallOptions): Call<PayoutPreview> =>
      core.call(createPayout, { body: { ...body, dryRun: true }, options, pick: ({ data }) => data }),

    /**
     * Marks a batch and its commissions as `PAID`. This cannot be undone.
     *
     * @throws {NotFoundError} `payout_not_found`.
     * @throws {ConflictError} `payout_already_paid`, `payout_not_payable` or `payout_total_mismatch`.
     *
     * @example
     * await client.payouts.pay(batch.id, { expectedTotalCents: batch.totals.netPayableCents })
     */
    pay: (id: string, options?: PayOptions): Call<ActionReply> =>
      core.call(payPayout, {
        query: { id, action: 'pay', expectedTotalCents: options?.expectedTotalCents },
        options,
        pick: (body) => body,
        recoverLostResponse: async ({ code }) => {
          if (code !== 'payout_already_paid') return undefined
          const [batch] = (await listBatches({ id }, options)).data
          return batch?.status === 'PAID' ? { ok: true, message: 'Paid by an earlier attempt.', id } : undefined
        },
      }),
  }
}
