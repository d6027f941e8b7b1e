import type { Hono } from 'hono'
import { listOf } from '../affiliates/aliases.ts'
import { readBalance } from '../affiliates/balance.ts'
import { openPageLink } from '../affiliates/own-page.ts'
import { summarize } from '../analytics/analytics.ts'
import * as commissions from '../commissions/commissions.ts'
import { RESTRICTION_TEXTS } from '../commissions/explain.ts'
import { orderNameOf } from '../commissions/search.ts'
import type { components } from '../contract/schema.d.ts'
import type { Context } from '../core/context.ts'
import { LARGE, sizeOf } from '../core/list-size.ts'
import { limitPublic } from '../http/rate-limit.ts'
import { toApiError } from '../http/response.ts'
import { type Env, logFields, type Server } from '../http/server.ts'
import { type Html, html, isolated } from './html.ts'
import { readKept, stillReading } from './kept.ts'
import { signedOutLayout, standaloneLayout } from './layout.ts'
import { sendPage } from './problem.ts'
import { linkOf } from './referral-link.ts'
import { badge, copyable, count, empty, facts, money, time } from './show.ts'
import { type Column, inCard, numberColumn, pageOf, pager, table, wideColumn } from './table.ts'

type Commission = components['schemas']['Commission']

const PATH = '/affiliate'
const COLUMNS: Column[] = [
  'Order',
  inCard('bare', 'Date'),
  inCard('lead', numberColumn('Commission')),
  inCard('bare', 'Status'),
  inCard('bare', wideColumn('Why')),
]

/** Mounts the page of an affiliate, which a link opens without a sign-in. */
export function mountAffiliatePage(app: Hono<Env>, server: Server): void {
  app.get(PATH, async (c) => {
    const state = c.get('request')
    const query = new URL(c.req.url).searchParams
    try {
      await limitPublic(server, state)
      const page = await render({ ...server.deps, requestId: state.requestId }, query)
      return sendPage(c, { status: 200, page })
    } catch (thrown) {
      const error = toApiError(server, thrown as Error, logFields(state))
      const page = signedOutLayout('This page cannot be opened', html`<p class="lead">${error.message}</p>`)
      return sendPage(c, { ...error, status: error.status, page })
    }
  })
}

async function render(deps: Parameters<typeof openPageLink>[0], query: URLSearchParams): Promise<Html> {
  const { ctx, affiliate, expiresAt } = await openPageLink(deps, query.get('token') ?? '')
  const { timeZone, name: shop } = ctx.shop
  const asked = { affiliateId: affiliate.id, ...pageOf(query) }
  const earned = await sizeOf(ctx, { list: 'commissions', scope: affiliate.id })
  const kept = <T>(name: string, read: (ctx: Context) => Promise<T>) =>
    readKept(ctx, { key: ['own page', name, asked], isLarge: earned > LARGE, read })
  const [{ value: balance }, { value: list }, { value: sums }, aliases] = await Promise.all([
    kept('balance', (own) => readBalance(own, affiliate.id)),
    kept('commissions', (own) => commissions.list(own, asked)),
    kept('sums', (own) => summarize(own, { affiliateId: affiliate.id })),
    listOf(ctx, affiliate.id),
  ])
  const data = list?.data ?? []
  const also = (kind: (typeof aliases)[number]['kind'], shown: (value: string) => string) =>
    aliases.filter((one) => one.kind === kind).map(({ value }) => html`<code>${isolated(shown(value))}</code> `)
  const [links, codes] = [also('LINK', (value) => linkOf(ctx.shop, value)), also('CODE', (value) => value)]
  const rows = data.map((one) => [
    one.trackingMethod === 'ADJUSTMENT' ? 'Adjustment' : isolated(orderNameOf(one)),
    time(one.happenedAt, '–', timeZone),
    money(one.commissionAmountCents, one.currency),
    badge(one.orderStatus),
    reasonOf(one),
  ])
  return standaloneLayout(
    ctx,
    `Hello ${affiliate.name}`,
    html`<p class="lead">Your referrals at ${isolated(shop)}. This page is for you alone, and its link is valid until ${time(expiresAt, '–', timeZone)}.</p>
<section class="card" aria-labelledby="share"><h2 id="share">Share</h2>
${facts(
  [
    ['Your link', copyable('link', 'your link', linkOf(ctx.shop, affiliate.slug))],
    ['Your code', copyable('code', 'your code', affiliate.discountCode)],
    ['Links that work, too', links.length ? html`${links}` : undefined],
    ['Codes that work, too', codes.length ? html`${codes}` : undefined],
  ],
  'facts share',
)}</section>
<h2>Balance</h2>
${
  balance === undefined
    ? stillReading('Your commissions are being added up.')
    : balance.balances.length
      ? balance.balances.map((one) =>
          facts(
            [
              ['Awaiting approval', money(one.pendingCents, one.currency)],
              ['Approved', money(one.approvedCents, one.currency)],
              ['Being paid', money(one.batchedCents, one.currency)],
            ],
            'stats',
          ),
        )
      : html`<p>You have no unpaid balance.</p>`
}
<h2>Last 30 days</h2>
${
  sums
    ? facts(
        [
          ['Clicks', count(sums.totals.clicks)],
          ['Orders', count(sums.totals.orders)],
          ['Commission', money(sums.totals.commissionCents, ctx.shop.currency)],
        ],
        'stats',
      )
    : stillReading('Your last orders are being added up.')
}
<h2>Orders</h2>
${rows.length ? table('Orders', COLUMNS, rows) : list ? empty('No orders yet', 'Orders with your code or through your link appear here.', 'orders') : stillReading('Your orders are being counted.')}
${list && pager(PATH, query, list.pagination)}`,
  )
}

const WORDS: Partial<Record<Commission['orderStatus'], string>> = {
  PENDING: 'The shop has not approved it yet.',
  APPROVED: 'Approved. Paid with one of the next payouts.',
  ACCEPTED: 'Approved; part of the next payout.',
  PAYABLE: 'In a payout that is being paid.',
  PAID: 'Paid.',
  REJECTED: 'The shop did not approve it.',
  REVERSED: 'Taken back after it was paid.',
  CANCELED: 'The order was canceled.',
  REFUNDED: 'The order was fully refunded.',
}

/** Why a commission is what it is, in words for the affiliate. */
const reasonOf = ({ orderStatus, restrictionReasonCode: code }: Commission): string =>
  (code && RESTRICTION_TEXTS[code as keyof typeof RESTRICTION_TEXTS]) || (WORDS[orderStatus] ?? '')
