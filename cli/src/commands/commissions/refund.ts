import type { components } from '@referral/sdk'
import { CliError, exitCode, unwrap, usageError } from '../../errors.ts'
import { formatMoney } from '../../money.ts'
import { confirm } from '../../prompt.ts'
import type { Run } from '../../run.ts'

type RefundCreate = components['schemas']['RefundCreate']
type RefundReply = components['schemas']['RefundReply']

export interface RefundOptions {
  refundId: string
  amountCents?: number
  item?: string[]
  reason?: string
  yes?: boolean
}

/** Refunds a commission. Repeating a refund ID changes nothing. */
export async function refund(run: Run, id: string, options: RefundOptions): Promise<undefined> {
  const { refundId: externalRefundId, amountCents, reason, item = [] } = options
  if (amountCents !== undefined && item.length) throw usageError('Pass --amount-cents or --item, not both.')
  const body: RefundCreate = {
    externalRefundId,
    ...(amountCents === undefined ? {} : { amountCents }),
    ...(item.length ? { lineItems: item.map(parseItem) } : {}),
    ...(reason ? { reason } : {}),
  }
  if (run.dryRun) return run.printDryRun('POST', `/admin/v1/commissions/${encodeURIComponent(id)}/refund`, body)
  const what = amountCents === undefined && item.length === 0 ? 'the remaining amount' : 'this part'
  await confirm(run.context, `Refund ${what} of ${id}? This cannot be undone.`, options.yes)
  const started = performance.now()
  const result = await (await run.ownerClient()).POST('/admin/v1/commissions/{id}/refund', {
    params: { path: { id } },
    body,
  })
  const reply = unwrap(result)
  rejectDifferentRefund(body, reply)
  if (wasRecordedBefore(reply, result.response, performance.now() - started))
    run.reporter.info(`Refund ${externalRefundId} is already recorded; nothing was changed.`)
  run.printRecord(reply)
}

/** The service ignores a repeated refund ID, even with another amount, which must not look like success. */
function rejectDifferentRefund(request: RefundCreate, { refund, data }: RefundReply): void {
  if ((request.amountCents ?? null) === refund.amountCents && itemsKey(request) === itemsKey(refund)) return
  const amount = formatMoney(refund.goodsCents, data.currency)
  throw new CliError(
    exitCode.conflict,
    `Refund ${refund.externalRefundId} is already recorded with ${amount}. Use another refund id.`,
    { code: 'refund_recorded_otherwise', hint: 'Nothing was changed.' },
  )
}

type RefundItem = { variantId?: string | null; productId?: string | null; quantity: number }

const itemsKey = ({ lineItems }: { lineItems?: RefundItem[] | null }): string =>
  (lineItems ?? [])
    .map(({ variantId, productId, quantity }) => `${variantId ?? ''} ${productId ?? ''} ${quantity}`)
    .sort()
    .join()

/**
 * Whether the refund is older than the request. `Date` has a resolution of one second, so newer ones are not detected.
 */
function wasRecordedBefore({ refund }: RefundReply, { headers }: Response, durationMs: number): boolean {
  const respondedAt = Date.parse(headers.get('Date') ?? '')
  return Date.parse(refund.createdAt) < respondedAt - durationMs
}

/** Parses `variant:9001*2`: two items of a variant. */
export function parseItem(
  text: string,
): { variantId: string; quantity: number } | { productId: string; quantity: number } {
  const [, kind, id = '', quantity = '1'] = /^(variant|product):(.+?)(?:\*(\d+))?$/.exec(text) ?? []
  if (!kind) throw usageError(`An item must be variant:<id>*<quantity> or product:<id>*<quantity>, not ${text}.`)
  const count = { quantity: Number(quantity) }
  return kind === 'variant' ? { variantId: id, ...count } : { productId: id, ...count }
}
