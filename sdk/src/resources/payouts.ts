import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { createPayout, listPayouts, payPayout } from '../generated/operations.ts'
import { list } from '../list.ts'
import type { ActionReply, PayoutBatch, PayoutCreate, PayoutPreview, PayoutQuery } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import type { Page, PagedCall } from '../paged.ts'

/** What may be asked of a payment. */
export interface PayOptions extends CallOptions {
  /** The `netPayableCents` you saw; another total is refused with a ConflictError (`payout_total_mismatch`). */
  expectedTotalCents?: number | undefined
}

/** Batches of commissions that are paid together (section 4.4). */
export const payouts = (core: Core) => {
  const batches = (query: PayoutQuery | undefined, options: CallOptions | undefined): PagedCall<PayoutBatch> =>
    list(core, listPayouts, { query, options, pick: (reply) => reply as Page<PayoutBatch>, key: ({ id }) => id })

  return {
    /** Newest first. `include: 'lines'` adds one line per affiliate. */
    list: (query?: PayoutQuery, options?: CallOptions): PagedCall<PayoutBatch> => batches(query, options),

    /**
     * Gathers the approved commissions of a period; both bounds are inclusive instants, and a date alone is midnight UTC.
     * Throws NotFoundError when there is nothing to pay, ConflictError below the minimum or for mixed currencies.
     */
    create: (body: PayoutCreate, options?: WriteOptions): Call<PayoutBatch> =>
      core.call(createPayout, { body, options, pick: (reply) => reply.data as PayoutBatch }),

    /** The batch that `create` would make. Writes nothing. */
    preview: (body: PayoutCreate, options?: CallOptions): Call<PayoutPreview> =>
      core.call(createPayout, { body: { ...body, dryRun: true }, options, pick: (reply) => reply.data }),

    /** Marks the batch and its commissions `PAID`. It cannot be undone. */
    pay: (id: string, options?: PayOptions): Call<ActionReply> =>
      core.call(payPayout, {
        query: { id, action: 'pay', expectedTotalCents: options?.expectedTotalCents },
        options,
        pick: (reply) => reply,
        echo: async ({ code }) => {
          if (code !== 'payout_already_paid') return undefined
          const [batch] = (await batches({ id }, options)).data
          return batch?.status === 'PAID' ? { ok: true, message: 'Paid by an earlier attempt.', id } : undefined
        },
      }),
  }
}
