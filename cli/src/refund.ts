import type { components } from '@referral/sdk'
import { confirm } from './ask.ts'
import { CliError, exitCode, usageError } from './exit.ts'
import { formatMoney } from './money.ts'
import type { Run } from './run.ts'
import { unwrap } from './unwrap.ts'

type RefundCreate = components['schemas']['RefundCreate']
type RefundReply = components['schemas']['RefundReply']

export interface RefundOptions {
  refundId: string
  amountCents?: number
  item?: string[]
  reason?: string
  yes?: boolean
}

/** Takes back what a returned order earned. The same refund id again changes nothing. */
export async function refund(run: Run, id: string, options: RefundOptions): Promise<undefined> {
  const { refundId: externalRefundId, amountCents, reason, item = [] } = options
  if (amountCents !== undefined && item.length) throw usageError('Give --amount-cents or --item, not both.')
  const body: RefundCreate = {
    externalRefundId,
    ...(amountCents === undefined ? {} : { amountCents }),
    ...(item.length ? { lineItems: item.map(parseItem) } : {}),
    ...(reason ? { reason } : {}),
  }
  if (run.dryRun) return run.printDryRun('POST', `/admin/v1/commissions/${encodeURIComponent(id)}/refund`, body)
  const what = amountCents === undefined && item.length === 0 ? 'all that is left' : 'this part'
  await confirm(run.context, `Refund ${what} of ${id}? It cannot be undone.`, options.yes)
  const started = performance.now()
  const result = await (await run.ownerClient()).POST('/admin/v1/commissions/{id}/refund', {
    params: { path: { id } },
    body,
  })
  const reply = unwrap(result)
  rejectDifferentRefund(body, reply)
  if (wasRecordedBefore(reply, result.response, performance.now() - started))
    run.reporter.info(`Refund ${externalRefundId} was recorded before; nothing was changed.`)
  run.printRecord(reply)
}

/** The service keeps the first refund of an id whatever comes after it: another amount was not refunded. */
function rejectDifferentRefund(asked: RefundCreate, { refund, data }: RefundReply): void {
  if ((asked.amountCents ?? null) === refund.amountCents && itemsKey(asked) === itemsKey(refund)) return
  const what = formatMoney(refund.goodsCents, data.currency)
  throw new CliError(
    exitCode.conflict,
    `Refund ${refund.externalRefundId} was recorded before with ${what}; give another refund id.`,
    { code: 'refund_recorded_otherwise', hint: 'Nothing was changed.' },
  )
}

type RefundItem = { variantId?: string | null; productId?: string | null; quantity: number }

const itemsKey = ({ lineItems }: { lineItems?: RefundItem[] | null }): string =>
  (lineItems ?? [])
    .map(({ variantId, productId, quantity }) => `${variantId ?? ''} ${productId ?? ''} ${quantity}`)
    .sort()
    .join()

/** Surely older than the request; `Date` counts whole seconds, so what is younger than one is not told apart. */
function wasRecordedBefore({ refund }: RefundReply, { headers }: Response, tookMs: number): boolean {
  const answeredAt = Date.parse(headers.get('Date') ?? '')
  return Date.parse(refund.createdAt) < answeredAt - tookMs
}

/** `variant:9001*2`: two pieces of a variant. */
function parseItem(text: string): { variantId: string; quantity: number } | { productId: string; quantity: number } {
  const [, kind, id = '', quantity = '1'] = /^(variant|product):(.+?)(?:\*(\d+))?$/.exec(text) ?? []
  if (!kind) throw usageError(`An item is variant:<id>*<pieces> or product:<id>*<pieces>, not ${text}.`)
  const pieces = { quantity: Number(quantity) }
  return kind === 'variant' ? { variantId: id, ...pieces } : { productId: id, ...pieces }
}
