import type { components } from '@referral/sdk'
import { confirm } from './ask.ts'
import { CliError, exit, usage } from './exit.ts'
import { showMoney } from './money.ts'
import type { Run } from './run.ts'
import { dataOf } from './unwrap.ts'

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
  if (amountCents !== undefined && item.length) throw usage('Give --amount-cents or --item, not both.')
  const body: RefundCreate = {
    externalRefundId,
    ...(amountCents === undefined ? {} : { amountCents }),
    ...(item.length ? { lineItems: item.map(readItem) } : {}),
    ...(reason ? { reason } : {}),
  }
  if (run.dryRun) return run.wouldSend('POST', `/admin/v1/commissions/${encodeURIComponent(id)}/refund`, body)
  const what = amountCents === undefined && item.length === 0 ? 'all that is left' : 'this part'
  await confirm(run.world, `Refund ${what} of ${id}? It cannot be undone.`, options.yes)
  const started = performance.now()
  const result = await (await run.owner()).POST('/admin/v1/commissions/{id}/refund', { params: { path: { id } }, body })
  const reply = dataOf(result)
  refuseOther(body, reply)
  if (wasBefore(reply, result.response, performance.now() - started))
    run.talk.note(`Refund ${externalRefundId} was recorded before; nothing was changed.`)
  run.record(reply)
}

/** The service keeps the first refund of an id whatever comes after it: another amount was not refunded. */
function refuseOther(asked: RefundCreate, { refund, data }: RefundReply): void {
  if ((asked.amountCents ?? null) === refund.amountCents && itemsOf(asked) === itemsOf(refund)) return
  const what = showMoney(refund.goodsCents, data.currency)
  throw new CliError(
    exit.conflict,
    `Refund ${refund.externalRefundId} was recorded before with ${what}; give another refund id.`,
    { code: 'refund_recorded_otherwise', hint: 'Nothing was changed.' },
  )
}

type Line = { variantId?: string | null; productId?: string | null; quantity: number }

const itemsOf = ({ lineItems }: { lineItems?: Line[] | null }): string =>
  (lineItems ?? [])
    .map(({ variantId, productId, quantity }) => `${variantId ?? ''} ${productId ?? ''} ${quantity}`)
    .sort()
    .join()

/** Surely older than the request; `Date` counts whole seconds, so what is younger than one is not told apart. */
function wasBefore({ refund }: RefundReply, { headers }: Response, tookMs: number): boolean {
  const answeredAt = Date.parse(headers.get('Date') ?? '')
  return Date.parse(refund.createdAt) < answeredAt - tookMs
}

/** `variant:9001*2`: two pieces of a variant. */
function readItem(text: string): { variantId: string; quantity: number } | { productId: string; quantity: number } {
  const [, kind, id = '', quantity = '1'] = /^(variant|product):(.+?)(?:\*(\d+))?$/.exec(text) ?? []
  if (!kind) throw usage(`An item is variant:<id>*<pieces> or product:<id>*<pieces>, not ${text}.`)
  const pieces = { quantity: Number(quantity) }
  return kind === 'variant' ? { variantId: id, ...pieces } : { productId: id, ...pieces }
}
