import { type Call, doneEarlier, pickAction, pickData, pickOne, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type {
  ActionReply,
  PayoutBatch,
  PayoutCreate,
  PayoutPreview,
  PayoutQuery,
  Unpaid,
  UnpaidQuery,
} from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import { listCall, type PagedCall } from '../pagination.ts'

/** Options of `payouts.pay`. */
export interface PayOptions extends CallOptions {
  /** The `netPayableCents` you approved, including payments that were returned. The payment fails with `payout_total_mismatch` if the total differs. */
  expectedTotalCents?: number | undefined
}

const path = '/api/v1/payouts'

const hasId = <T extends { id: string | null }>(batch: T): batch is T & { id: string } => batch.id !== null

/** Options of `payouts.get`. */
export interface GetPayoutOptions extends CallOptions {
  /** `lines` adds one line per affiliate. */
  include?: 'lines' | undefined
}

/**
 * Batches of commissions that are paid together.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { data } = await payouts(core).list()
 */
export const payouts = (core: Core) => {
  const listBatches = (query: PayoutQuery | undefined, options: CallOptions | undefined): PagedCall<PayoutBatch> =>
    listCall(core, {
      query,
      options,
      send: (init) => core.api.GET(path, init),
      pick: ({ data, pagination }) => (data.every(hasId) ? { data, pagination } : undefined),
    })

  return {
    /**
     * Lists payout batches, newest first. `include: 'lines'` adds one line per affiliate.
     *
     * @param query Filters and the page. `after` continues after an ID.
     * @param options Options of this call.
     * @throws {BadRequestError} `invalid_parameter`.
     *
     * @example
     * const { data } = await client.payouts.list({ status: 'OPEN' })
     */
    list: (query?: PayoutQuery, options?: CallOptions): PagedCall<PayoutBatch> => listBatches(query, options),

    /**
     * Returns a batch.
     *
     * @param id The batch's ID.
     * @param options The options of a call, and `include`.
     * @throws {NotFoundError} `payout_not_found`.
     *
     * @example
     * const { lines } = await client.payouts.get(batch.id, { include: 'lines' })
     */
    get: (id: string, options?: GetPayoutOptions): Call<PayoutBatch> =>
      startCall(core, {
        options,
        query: { id, include: options?.include },
        send: (init) => core.api.GET(path, init),
        pick: (reply, response, details) => {
          const batch = pickOne('payout_not_found')(reply, response, details)
          return hasId(batch) ? batch : undefined
        },
      }),

    /**
     * Creates a batch of the approved commissions of a period.
     *
     * @param body Both ends of the period are inclusive; a date without a time is midnight UTC.
     * @param options Options of this call, such as `idempotencyKey`.
     * @throws {NotFoundError} `no_eligible_commissions` when there is nothing to pay.
     * @throws {ConflictError} `payout_below_threshold`, or `payout_mixed_currencies` when `currency` is required.
     *
     * @example
     * const batch = await client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' })
     */
    create: (body: PayoutCreate, options?: WriteOptions): Call<PayoutBatch> =>
      startCall(core, {
        options,
        body,
        send: (init) => core.api.POST(path, init),
        pick: ({ data }) => (hasId(data) ? data : undefined),
      }),

    /**
     * Returns the batch that `create` would create. Writes nothing.
     *
     * @param body Both ends of the period are inclusive; a date without a time is midnight UTC.
     * @param options Options of this call.
     * @throws {NotFoundError} `no_eligible_commissions` when there is nothing to pay.
     * @throws {ConflictError} `payout_below_threshold`, or `payout_mixed_currencies` when `currency` is required.
     *
     * @example
     * const { totals } = await client.payouts.preview({ periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' })
     */
    preview: (body: PayoutCreate, options?: CallOptions): Call<PayoutPreview> =>
      startCall(core, {
        options,
        pick: pickData<PayoutPreview>,
        body: { ...body, dryRun: true },
        send: (init) => core.api.POST(path, init),
      }),

    /**
     * Returns the approved balances that a batch of the period does not pay, and why.
     *
     * @param query Both ends of the period, as for `create`.
     * @param options Options of this call.
     * @throws {BadRequestError} `invalid_parameter`, or `period_invalid` when the end is before the start.
     *
     * @example
     * const { reasons } = await client.payouts.unpaid({ periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' })
     */
    unpaid: (query: UnpaidQuery, options?: CallOptions): Call<Unpaid> =>
      startCall(core, {
        options,
        query,
        send: (init) => core.api.GET(`${path}/unpaid`, init),
        pick: (body): Unpaid | undefined => (body.reasons ? body : undefined),
      }),

    /**
     * Marks a batch and its commissions as `PAID`. This cannot be undone.
     *
     * @param id The batch's ID.
     * @param options The options of a call, and `expectedTotalCents`.
     * @throws {NotFoundError} `payout_not_found`.
     * @throws {ConflictError} `payout_already_paid`, `payout_not_payable` or `payout_total_mismatch`.
     *
     * @example
     * await client.payouts.pay(batch.id, { expectedTotalCents: batch.totals.netPayableCents })
     */
    pay: (id: string, options?: PayOptions): Call<ActionReply> =>
      startCall(core, {
        options,
        pick: pickAction,
        query: { id, action: 'pay', expectedTotalCents: options?.expectedTotalCents },
        send: (init) => core.api.PATCH(path, init),
        recover: async ({ code }) => {
          if (code !== 'payout_already_paid') return undefined
          const [batch] = (await listBatches({ id }, options)).data
          return batch?.status === 'PAID' ? doneEarlier(id) : undefined
        },
      }),
  }
}
