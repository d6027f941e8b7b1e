import { invalidBody, invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { moderate } from '../../domains/commissions/moderation.ts'
import { refund } from '../../domains/commissions/refunds.ts'
import { typedCents } from '../kit/amount-input.ts'
import { field, form, hidden, input, limitsOf } from '../kit/form.ts'
import { day, money } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import type { PageRequest } from '../kit/route.ts'
import { validateBody } from '../kit/route.ts'
import { badge } from '../kit/status.ts'
import { nameColumn, numberColumn, pager, slice, table } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'

type Schemas = components['schemas']
type Commission = Schemas['Commission']

const PATH = '/admin/orders'

/** An order's refunds, and the cancellations and refunds that were reported before it. */
export function refundList(
  { refunds, notices, commission, order }: Schemas['Explanation'],
  path: string,
  query: URLSearchParams,
): Html {
  const pending = notices.filter(({ applied }) => !applied)
  const { data, pagination } = slice(refunds, query, 'refunds')
  const rows = data.map((refund) => [
    isolated(refund.externalRefundId),
    day(refund.occurredAt),
    money(refund.goodsCents, String(order.currency)),
    money(refund.commissionCents, commission?.currency ?? String(order.currency)),
    refund.reason ? isolated(refund.reason) : '–',
  ])
  const columns = ['Refund', 'Date', numberColumn('Goods'), numberColumn('Commission'), nameColumn('Reason')]
  return html`${refunds.length ? html`<h2>Refunds</h2>${table('Refunds', columns, rows)}${pager(path, query, pagination, 'refunds')}` : ''}
${pending.map((notice) => html`<p class="notice wait">${noticeName(notice)} was reported but is not applied yet. ${badge('PENDING')}</p>`)}`
}

function noticeName({ type, externalRefundId }: Schemas['OrderNotice']): Html {
  if (type === 'cancellation') return html`A cancellation`
  const refund = html`refund ${isolated(externalRefundId ?? '')}`
  return type === 'refund' ? html`The ${refund}` : html`The cancellation of the ${refund}`
}

const MOVES: Partial<Record<Commission['orderStatus'], readonly (readonly [action: Action, text: string])[]>> = {
  PENDING: [
    ['approve', 'Approve'],
    ['reject', 'Reject'],
    ['cancel', 'Cancel'],
  ],
  APPROVED: [
    ['reject', 'Reject'],
    ['cancel', 'Cancel'],
  ],
  ACCEPTED: [
    ['reject', 'Reject'],
    ['cancel', 'Cancel'],
  ],
  PAYABLE: [['cancel', 'Cancel']],
  PAID: [['reverse', 'Reverse']],
  REJECTED: [['reopen', 'Reopen']],
}
const DONE = {
  approve: 'approved',
  reject: 'rejected',
  cancel: 'canceled',
  reverse: 'reversed',
  reopen: 'reopened',
} as const
type Action = keyof typeof DONE

/** Explains each action. None of them changes the order in the store. */
const EFFECTS: Record<Action, string> = {
  approve: 'Approve: the commission is included in the next payout.',
  reject: 'Reject: the affiliate did not earn it. It can be reopened.',
  cancel: 'Cancel: the order was canceled in your store. This cannot be undone.',
  reverse: 'Reverse: the order was canceled after the payment. The next payout deducts what was paid.',
  reopen: 'Reopen: it awaits approval again.',
}

const BUTTONS: Partial<Record<Action, string>> = { approve: 'main', cancel: 'danger', reverse: 'danger' }

const REFUNDABLE = ['PENDING', 'APPROVED', 'ACCEPTED', 'PAYABLE', 'PAID']

/** An owner's actions on an order's commission. */
export function changes(
  request: PageRequest,
  commission: Commission,
  { refunds, arithmetic }: Schemas['Explanation'],
): Html {
  const goods = refunds.reduce(
    (left, { goodsCents }) => left - goodsCents,
    commission.orderSubtotalCents - commission.orderDiscountCents,
  )
  const earned = arithmetic.findLast(({ step }) => step === 'now')?.cents ?? 0
  const moves = MOVES[commission.orderStatus] ?? []
  const fields = html`${hidden('id', commission.id)}${hidden('orderId', commission.orderId)}`
  return html`${
    moves.length
      ? html`<section class="card" aria-labelledby="change"><h2 id="change">Change the commission</h2>${form(
          request,
          `${PATH}/move`,
          html`${fields}${moves.map(([action, text]) => html`<button name="action" value="${action}" class="${BUTTONS[action] ?? ''}">${text}</button> `)}`,
          'row',
        )}<p class="hint">${moves.map(([action], n) => html`${n > 0 ? html`<br>` : ''}${EFFECTS[action]}`)}</p></section>`
      : ''
  }
${
  REFUNDABLE.includes(commission.orderStatus)
    ? html`<section class="card narrow" aria-labelledby="refund"><h2 id="refund">Record a refund</h2>
<p class="hint">Refund the customer in your store first. This form only takes back the commission on the returned goods: an unpaid commission is reduced, a paid one gets a negative adjustment.</p>
${form(
  request,
  `${PATH}/refund`,
  html`${fields}<div class="fields">${input(request, { name: 'externalRefundId', label: 'Refund ID', ...limitsOf('refundCommission', 'externalRefundId'), hint: 'The refund’s ID in your store. Leave empty to generate one. Recording the same ID again changes nothing.' })}${hidden('ownRefundId', request.ctx.newId('rfd'))}
${input(request, { name: 'amount', field: 'amountCents', label: 'Goods refunded', suffix: `, in ${commission.orderCurrency}`, maxlength: 30, hint: `After discount, without shipping and tax. Leave empty to refund the rest: ${money(Math.max(0, goods), commission.orderCurrency)}, with ${money(earned, commission.currency)} of commission.` })}</div>
${input(request, { name: 'reason', label: 'Reason', ...limitsOf('refundCommission', 'reason') })}
${hidden('currency', commission.orderCurrency)}<button class="main">Record refund</button>`,
)}</section>`
    : ''
}`
}

/** The ID becomes part of a header. */
const MAX_ORDER_ID = 300

/** After an error, the order's page shows the form again. */
const orderOf = (request: PageRequest): string => {
  const id = (request.form.get('orderId') ?? '').slice(0, MAX_ORDER_ID)
  request.query.set('id', id)
  return urlWithQuery(PATH, { id })
}

export async function refundOrder(request: PageRequest) {
  const { ctx, form } = request
  const to = orderOf(request)
  const typed = field(form, 'amount')
  const currency = form.get('currency') ?? ctx.shop.currency
  const amountCents = typed === undefined ? undefined : typedCents(typed, currency)
  if (typed !== undefined && amountCents === undefined)
    throw invalidField('invalid_body', 'amountCents', 'must be written like 10.50.')
  const body = {
    externalRefundId: field(form, 'externalRefundId') ?? field(form, 'ownRefundId') ?? '',
    reason: field(form, 'reason') ?? null,
    ...(amountCents !== undefined && { amountCents }),
  }
  const reply = await refund(ctx, form.get('id') ?? '', validateBody('refundCommission', body))
  const { refund: done, data, alreadyRecorded } = reply
  const text = alreadyRecorded
    ? `Refund ${done.externalRefundId} was recorded before, with goods of ${money(done.goodsCents, data.orderCurrency)}. Nothing was changed.`
    : `Refund recorded. Commission changed by ${money(done.commissionCents, data.currency)}.`
  return { to, flash: { text } }
}

export async function moveOrder(request: PageRequest) {
  const { ctx, form } = request
  const to = orderOf(request)
  const action = form.get('action') ?? ''
  if (!Object.hasOwn(DONE, action)) throw invalidBody('Choose what to do with the commission.')
  const row = await moderate(ctx, action as Action, form.get('id') ?? '')
  return {
    to,
    flash: { text: `Commission ${DONE[action as Action]}: ${money(row.commissionAmountCents, row.currency)}.` },
  }
}
