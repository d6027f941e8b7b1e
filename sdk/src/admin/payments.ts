import { type Call, pickAction, pickData, pickReply, recoverRemoval, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { ActionReply } from '../models.ts'
import type { CallOptions } from '../options.ts'
import type { components } from '../schema.ts'
import type { Query, RequestBody } from '../types.ts'

type Schemas = components['schemas']

/** How affiliates are paid. */
export const payees = (core: Core) => ({
  /**
   * Returns the payee details of an affiliate, with a masked account.
   *
   * @param affiliateId The affiliate's ID.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {NotFoundError} `affiliate_not_found` or `payee_not_found`.
   *
   * @example
   * await admin.payees.set(affiliateId, { method: 'PAYPAL', email: 'noor@example.com' })
   * const { account } = await admin.payees.get(affiliateId) // n…@example.com
   */
  get: (affiliateId: string, options?: CallOptions): Call<Schemas['Payee']> =>
    startCall(core, {
      options,
      send: (init) =>
        core.api.GET('/admin/v1/affiliates/{id}/payee', { ...init, params: { path: { id: affiliateId } } }),
      pick: pickData,
    }),

  /**
   * Sets how an affiliate is paid, replacing the current details.
   *
   * @param affiliateId The affiliate's ID.
   * @param body The method and its details.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {BadRequestError} `payee_invalid` when the IBAN or the BIC is invalid.
   * @throws {NotFoundError} `affiliate_not_found`.
   *
   * @example
   * await admin.payees.set(affiliateId, { method: 'PAYPAL', email: 'noor@example.com' })
   */
  set: (affiliateId: string, body: RequestBody<'setPayee'>, options?: CallOptions): Call<Schemas['Payee']> =>
    startCall(core, {
      options,
      body,
      send: (init) =>
        core.api.PUT('/admin/v1/affiliates/{id}/payee', { ...init, params: { path: { id: affiliateId } } }),
      pick: pickData,
    }),

  /**
   * Deletes an affiliate's payee details.
   *
   * @param affiliateId The affiliate's ID.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {NotFoundError} `payee_not_found`.
   *
   * @example
   * await admin.payees.set(affiliateId, { method: 'PAYPAL', email: 'noor@example.com' })
   * await admin.payees.delete(affiliateId)
   */
  delete: (affiliateId: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      send: (init) =>
        core.api.DELETE('/admin/v1/affiliates/{id}/payee', { ...init, params: { path: { id: affiliateId } } }),
      pick: pickAction,
      recover: recoverRemoval(affiliateId),
    }),
})

/** Payment files, and what became of their payments. */
export const payoutFiles = (core: Core) => ({
  /**
   * Sends a batch's ready lines in a payment file. The same ID again returns the same file.
   *
   * @param id Your ID of the file.
   * @param body The batch and the format.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {BadRequestError} `payee_invalid` when the debtor's IBAN or BIC is invalid.
   * @throws {NotFoundError} `payout_not_found`.
   * @throws {ConflictError} `payout_nothing_to_send`, or `payout_file_exists` for another file with this ID.
   *
   * @example
   * await admin.payees.set(affiliateId, { method: 'PAYPAL', email: 'noor@example.com' })
   * const { lines, totalCents } = await admin.payoutFiles.create('october', { batchId: batch.id, format: 'paypal' })
   */
  create: (id: string, body: RequestBody<'createPayoutFile'>, options?: CallOptions): Call<Schemas['PayoutFile']> =>
    startCall(core, {
      options,
      body,
      send: (init) => core.api.PUT('/admin/v1/payout-files/{id}', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Discards a file that was never uploaded: its lines are ready again. Repeating it changes nothing.
   *
   * @param id The file's ID.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {NotFoundError} `payout_file_not_found`.
   * @throws {ConflictError} `payout_file_not_discardable` when a payment was reconciled or an order refunded, and `payout_already_paid`.
   *
   * @example
   * await admin.payees.set(affiliateId, { method: 'PAYPAL', email: 'noor@example.com' })
   * await admin.payoutFiles.create('october', { batchId: batch.id, format: 'paypal' })
   * const { status } = await admin.payoutFiles.discard('october')
   */
  discard: (id: string, options?: CallOptions): Call<Schemas['PayoutFile']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/payout-files/{id}/discard', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Lists the payments to write to a file, with the payee details.
   *
   * @param id The file's ID.
   * @param query The position and the number of lines.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {NotFoundError} `payout_file_not_found`.
   * @throws {ConflictError} `payout_file_unfinished` until the file is complete.
   *
   * @example
   * await admin.payees.set(affiliateId, { method: 'PAYPAL', email: 'noor@example.com' })
   * await admin.payoutFiles.create('october', { batchId: batch.id, format: 'paypal' })
   * const { data, hasMore } = await admin.payoutFiles.lines('october')
   */
  lines: (id: string, query?: Query<'listPayoutFileLines'>, options?: CallOptions): Call<Schemas['PayoutFileLines']> =>
    startCall(core, {
      options,
      send: (init) =>
        core.api.GET('/admin/v1/payout-files/{id}/lines', {
          ...init,
          params: { path: { id }, ...(query && { query }) },
        }),
      pick: pickReply,
    }),

  /**
   * Lists a batch's payment files, newest first.
   *
   * @param batchId The batch's ID.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {NotFoundError} `payout_not_found`.
   *
   * @example
   * const files = await admin.payoutFiles.list(batch.id)
   */
  list: (batchId: string, options?: CallOptions): Call<Schemas['PayoutFile'][]> =>
    startCall(core, {
      options,
      send: (init) => core.api.GET('/admin/v1/payouts/{id}/files', { ...init, params: { path: { id: batchId } } }),
      pick: pickData,
    }),

  /**
   * Records what a bank or payment service reports about payments. Repeating a result changes nothing.
   *
   * @param body At most 500 results.
   * @param options Timeouts, retries, headers and a signal for this call.
   * @throws {BadRequestError} `invalid_body`.
   *
   * @example
   * const { settled, returned, results } = await admin.payoutFiles.reconcile({
   *   results: [{ paymentReference: 'PLN01KAH0000000000000000000Y1', outcome: 'SETTLED' }],
   * })
   */
  reconcile: (
    body: RequestBody<'reconcilePayouts'>,
    options?: CallOptions,
  ): Call<Schemas['ReconciliationReply']['data']> =>
    startCall(core, {
      options,
      body,
      send: (init) => core.api.POST('/admin/v1/payout-lines/reconcile', init),
      pick: pickData,
    }),
})
