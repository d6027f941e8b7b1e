import { type Call, pickData, pickReply, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { CallOptions } from '../options.ts'
import type { components } from '../schema.ts'
import type { Query, RequestBody } from '../types.ts'

type Schemas = components['schemas']

/** Decisions about commissions. */
export const commissions = (core: Core) => ({
  /**
   * Approves a pending commission. It becomes eligible for the next payout batch.
   *
   * @param id The commission's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `commission_not_found`.
   * @throws {ConflictError} `commission_move_not_allowed` when its status does not allow it, or
   *   `commission_is_adjustment`.
   *
   * @example
   * const { orderStatus } = await admin.commissions.approve(pending.id)
   */
  approve: (id: string, options?: CallOptions): Call<Schemas['Commission']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/commissions/{id}/approve', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Rejects a commission that is in no batch. It can be reopened.
   *
   * @param id The commission's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `commission_not_found`.
   * @throws {ConflictError} `commission_move_not_allowed` when its status does not allow it, or
   *   `commission_is_adjustment`.
   *
   * @example
   * const { orderStatus } = await admin.commissions.reject(commission.id)
   */
  reject: (id: string, options?: CallOptions): Call<Schemas['Commission']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/commissions/{id}/reject', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Cancels an unpaid commission, permanently, and removes it from its batch.
   *
   * @param id The commission's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `commission_not_found`.
   * @throws {ConflictError} `commission_move_not_allowed` when its status does not allow it, or
   *   `commission_is_adjustment`.
   *
   * @example
   * const { orderStatus } = await admin.commissions.cancel(commission.id)
   */
  cancel: (id: string, options?: CallOptions): Call<Schemas['Commission']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/commissions/{id}/cancel', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Reverses a paid commission. Its amount is deducted from the affiliate's next payout.
   *
   * @param id The commission's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `commission_not_found`.
   * @throws {ConflictError} `commission_move_not_allowed` when its status does not allow it, or
   *   `commission_is_adjustment`.
   *
   * @example
   * const { orderStatus } = await admin.commissions.reverse(paid.id)
   */
  reverse: (id: string, options?: CallOptions): Call<Schemas['Commission']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/commissions/{id}/reverse', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Decides a rejected commission again, with the current statuses of its affiliates. It becomes pending.
   *
   * @param id The commission's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `commission_not_found`.
   * @throws {ConflictError} `commission_move_not_allowed`, or `commission_still_restricted`.
   *
   * @example
   * const { orderStatus } = await admin.commissions.reopen(rejected.id)
   */
  reopen: (id: string, options?: CallOptions): Call<Schemas['Commission']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/commissions/{id}/reopen', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Refunds an order, wholly or in part. The same refund ID again changes nothing.
   *
   * @param id The commission's ID.
   * @param body `amountCents` is goods net of discount, without shipping and tax. Defaults to everything that is left.
   * @param options Options of this call.
   * @throws {NotFoundError} `commission_not_found`.
   * @throws {ConflictError} `refund_exceeds_order`, or `commission_move_not_allowed`.
   *
   * @example
   * const { data, refund } = await admin.commissions.refund(commission.id, { externalRefundId: 're-1', amountCents: 3000 })
   */
  refund: (id: string, body: RequestBody<'refundCommission'>, options?: CallOptions): Call<Schemas['RefundReply']> =>
    startCall(core, {
      options,
      body,
      send: (init) => core.api.POST('/admin/v1/commissions/{id}/refund', { ...init, params: { path: { id } } }),
      pick: pickReply,
    }),

  /**
   * Approves, rejects, cancels, reverses or reopens up to 500 commissions, oldest first. Repeat the call while
   * `remaining` is above 0.
   *
   * @param body The action, and either `ids` or `filter`. `dryRun` only counts.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_body` or `period_invalid`.
   *
   * @example
   * const { changed, remaining } = await admin.commissions.moderate({ action: 'approve', filter: { status: 'PENDING' } })
   */
  moderate: (body: RequestBody<'moderateCommissions'>, options?: CallOptions): Call<Schemas['ModerationResult']> =>
    startCall(core, {
      options,
      body,
      send: (init) => core.api.POST('/admin/v1/commissions/moderate', init),
      pick: pickData,
    }),
})

/** A shop's batches, as its owner manages them. */
export const payouts = (core: Core) => ({
  /**
   * Cancels an unpaid batch. Its commissions become eligible for another batch.
   *
   * @param id The batch's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `payout_not_found`.
   * @throws {ConflictError} `payout_not_cancelable`.
   *
   * @example
   * const { status } = await admin.payouts.cancel(batch.id)
   */
  cancel: (id: string, options?: CallOptions): Call<Schemas['PayoutBatchReply']['data']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/payouts/{id}/cancel', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Lists a batch's payments, one for each affiliate with an amount to pay, and their sums by state.
   *
   * @param id The batch's ID.
   * @param query A state, and the page.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {NotFoundError} `payout_not_found`.
   *
   * @example
   * const { data, totals } = await admin.payouts.lines(batch.id, { state: 'BLOCKED' })
   */
  lines: (id: string, query?: Query<'listPayoutLines'>, options?: CallOptions): Call<Schemas['PaymentLineList']> =>
    startCall(core, {
      options,
      send: (init) =>
        core.api.GET('/admin/v1/payouts/{id}/lines', { ...init, params: { path: { id }, ...(query && { query }) } }),
      pick: pickReply,
    }),

  /**
   * Returns an affiliate's statement for a month of the shop.
   *
   * @param affiliateId The affiliate's ID.
   * @param month Such as `2026-10`.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {NotFoundError} `affiliate_not_found`.
   *
   * @example
   * const { currencies, lines } = await admin.payouts.statement(affiliate.id, '2026-10')
   */
  statement: (affiliateId: string, month: string, options?: CallOptions): Call<Schemas['Statement']> =>
    startCall(core, {
      options,
      send: (init) =>
        core.api.GET('/admin/v1/affiliates/{affiliateId}/statement', {
          ...init,
          params: { path: { affiliateId }, query: { month } },
        }),
      pick: (body) => (body.lines ? body : undefined),
    }),

  /**
   * Returns a statement as CSV, or as a page for printing.
   *
   * @param affiliateId The affiliate's ID.
   * @param query The month, such as `2026-10`, and the format.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {NotFoundError} `affiliate_not_found`.
   *
   * @example
   * const csv = await admin.payouts.statementFile(affiliate.id, { month: '2026-10', format: 'csv' })
   */
  statementFile: (
    affiliateId: string,
    query: NonNullable<Query<'getStatementFile'>>,
    options?: CallOptions,
  ): Call<string> =>
    startCall(core, {
      options,
      send: (init) =>
        core.api.GET('/admin/v1/affiliates/{affiliateId}/statement/file', {
          ...init,
          params: { path: { affiliateId }, query },
        }),
      pick: (text) => text,
    }),

  /**
   * Exports what all affiliates earned, returned and were paid in a month of the shop, as CSV.
   *
   * @param month Such as `2026-10`.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {BadRequestError} `invalid_parameter` when the month is not one.
   *
   * @example
   * const csv = await admin.payouts.ledger('2026-10')
   */
  ledger: (month: string, options?: CallOptions): Call<string> =>
    startCall(core, {
      options,
      send: (init) => core.api.GET('/admin/v1/ledger', { ...init, params: { query: { month } } }),
      pick: (text) => text,
    }),
})

/** How orders were decided. */
export const orders = (core: Core) => ({
  /**
   * Explains the decision about an order: each piece of evidence, the restriction, and the calculation.
   *
   * @param externalOrderId The ID that the order was reported with.
   * @param options Options of this call.
   * @throws {NotFoundError} `order_not_found` when the order was not reported.
   *
   * @example
   * const { summary, evidence } = await admin.orders.explain('order-05')
   */
  explain: (externalOrderId: string, options?: CallOptions): Call<Schemas['ExplanationReply']['data']> =>
    startCall(core, {
      options,
      send: (init) =>
        core.api.GET('/admin/v1/orders/{externalOrderId}/explanation', {
          ...init,
          params: { path: { externalOrderId } },
        }),
      pick: pickData,
    }),
})

/** Other settings, tried on past orders. */
export const backtests = (core: Core) => ({
  /**
   * Decides the orders of a period again with other settings, and returns who would have earned more or less. Changes
   * nothing.
   *
   * @param body The period, and at least one setting.
   * @param options Options of this call.
   * @throws {BadRequestError} `period_invalid`, or `commission_percent_invalid`.
   * @throws {NotFoundError} `program_not_found`.
   *
   * @example
   * const { changed, totals } = await admin.backtests.run({ from: '2026-10-01', commissionPercent: 10 })
   */
  run: (body: RequestBody<'runBacktest'>, options?: CallOptions): Call<Schemas['Backtest']> =>
    startCall(core, { options, body, send: (init) => core.api.POST('/admin/v1/backtests', init), pick: pickData }),
})
