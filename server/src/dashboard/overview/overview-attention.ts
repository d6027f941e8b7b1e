import type { Attention } from '../../domains/analytics/attention.ts'
import { listDuplicates } from '../../domains/orders/reported.ts'
import { readBlocked } from '../../domains/payments/lines.ts'
import { sourceOrder } from '../../engine/restriction-texts.ts'
import { payeeLink } from '../affiliates/payee.ts'
import { disabledItems } from '../developers/webhooks.ts'
import { count, counted, money } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { readForPage } from '../kit/report-cache.ts'
import type { PageRequest } from '../kit/route.ts'
import { urlWithQuery } from '../kit/url.ts'
import { inNoBatch, inOpenBatches, readWaitingKept } from '../payouts/payout-waiting.ts'

const MAX_DUPLICATES = 5

/** Items that need a decision. */
export async function attentionList(request: PageRequest, attention: Attention): Promise<Html> {
  const { ctx, isOwner } = request
  const [duplicates, unpaid, blocked, disabled] = await Promise.all([
    attention.pendingCommissions > 0 ? listDuplicates(ctx, MAX_DUPLICATES) : [],
    isOwner && attention.unpaidCommissions > 0 ? unpaidItems(request, attention) : [],
    isOwner && attention.hasOpenBatch ? blockedItems(request, attention) : [],
    disabledItems(request),
  ])
  // Only owners approve.
  const review = isOwner ? 'Review' : 'View'
  const items = [
    attention.pendingCommissions > 0 &&
      item(
        `${counted(attention.pendingCommissions, 'commission awaits approval', 'commissions await approval')}: ${attention.pendingSums.map(({ cents, currency }) => money(cents, currency)).join(', ')}`,
        { to: '/admin/commissions', text: review },
      ),
    ...duplicates.map(({ orderId, name, duplicateOf }) =>
      item(`Order ${name} awaits approval, because it may be the same as ${sourceOrder(duplicateOf)}`, {
        to: urlWithQuery('/admin/orders', { id: orderId }),
        text: review,
      }),
    ),
    attention.pendingAffiliates > 0 &&
      item(counted(attention.pendingAffiliates, 'affiliate awaits approval', 'affiliates await approval'), {
        to: '/admin/affiliates?status=PENDING',
        text: review,
      }),
    ...unpaid,
    ...blocked,
    ...disabled.map((text) => item(text, { to: '/admin/webhooks', text: 'Open webhooks' })),
  ].filter((entry) => entry !== false)
  return items.length ? html`<ul class="todo" aria-label="Needs attention">${items}</ul>` : html``
}

/** Unpaid approved commissions, in no batch or in open ones. The totals match the Payouts page. */
async function unpaidItems(request: PageRequest, { unpaidCommissions }: Attention): Promise<Html[]> {
  const { value } = await readWaitingKept(request)
  if (!value)
    return [
      item(counted(unpaidCommissions, 'approved commission is unpaid', 'approved commissions are unpaid'), {
        to: '/admin/payouts',
        text: 'Open payouts',
      }),
    ]
  const waiting = inNoBatch(value.sums)
  const open = inOpenBatches(value.sums)
  return [
    ...(waiting ? [item(`${waiting} after tax`, { to: '/admin/payouts', text: 'Open payouts' })] : []),
    ...(open ? [item(`${open} after tax`, { to: '/admin/payouts?status=OPEN', text: 'Open batches' })] : []),
  ]
}

/** Affiliates who cannot be paid, with a link to what is missing. */
async function blockedItems({ ctx }: PageRequest, { commissions }: Attention): Promise<Html[]> {
  const { value } = await readForPage(ctx, {
    key: ['blocked'],
    cost: commissions,
    read: readBlocked,
  })
  const items = (value?.blocked ?? []).map(({ batchId, currency, lines, cents, affiliates }) => {
    const names = affiliates.map(
      ({ id, name }, index) =>
        html`${index > 0 ? ', ' : ''}<a href="${payeeLink(id, `/admin/payouts/${batchId}?state=BLOCKED`)}">${isolated(name)}</a>`,
    )
    const more = lines > affiliates.length ? ` and ${count(lines - affiliates.length)} more` : ''
    const text = counted(lines, 'payment is', 'payments are')
    return html`<li><span>${text} blocked, ${money(cents, currency)}: ${names}${more}</span><a class="button small" href="/admin/payouts/${batchId}?state=BLOCKED">Open the payout<span class="visually-hidden">: ${text} blocked</span></a></li>`
  })
  const unread = value?.unread ?? 0
  if (unread === 0) return items
  const text = `${counted(unread, items.length ? 'more open batch' : 'open batch', items.length ? 'more open batches' : 'open batches')} may have blocked payments`
  return [...items, item(text, { to: '/admin/payouts?status=OPEN', text: 'Open payouts' })]
}

const item = (text: string, link: { to: string; text: string }): Html =>
  html`<li><span>${text}</span><a class="button small" href="${link.to}">${link.text}<span class="visually-hidden">: ${text}</span></a></li>`
