import type { Hono, Context as HonoContext } from 'hono'
import type { components } from '../../contract/schema.d.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { rowsOf } from '../../core/lists.ts'
import type { ShopRow } from '../../database/tables.ts'
import { listOf } from '../../domains/affiliates/aliases.ts'
import { openPortal, shopOfLink } from '../../domains/affiliates/portal-link.ts'
import { summarize } from '../../domains/analytics/analytics.ts'
import * as commissions from '../../domains/commissions/commissions.ts'
import { readBalance } from '../../domains/ledger/balance.ts'
import { STATEMENT_STYLE } from '../../domains/payments/statement-files.ts'
import { summaryFor } from '../../domains/programs/terms.ts'
import type { RestrictionCode } from '../../engine/facts.ts'
import { restrictionTexts } from '../../engine/restriction-texts.ts'
import { limitPublic } from '../../http/rate-limit.ts'
import { inlineStyleSource, pageHeaders, toApiError } from '../../http/response.ts'
import { type Env, logFields, type Server } from '../../http/server.ts'
import { adjustedOrders, orderOf } from '../commissions/commission-list.ts'
import { copyable, empty, facts, tabs } from '../kit/components.ts'
import { count, day, earned, money, rateText, time } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { loadingNotice, readForPage } from '../kit/report-cache.ts'
import { badge } from '../kit/status.ts'
import {
  type Cell,
  type Column,
  inCard,
  numberColumn,
  PageOutOfRange,
  pageOf,
  pager,
  table,
  wideColumn,
} from '../kit/table.ts'
import { linkOf } from '../kit/url.ts'
import { signedOutLayout, standaloneLayout } from '../layout.ts'
import { approvedText } from '../payouts/payout-summary.ts'
import { sendFile, sendPage } from '../send.ts'
import {
  monthsPage,
  type PortalRequest,
  portalUrl,
  STATEMENTS_PATH,
  statementFile,
  statementPage,
} from './portal-statements.ts'

type Commission = components['schemas']['Commission']
type Balance = components['schemas']['Balance']

const PATH = '/affiliate'
const COLUMNS: Column[] = [
  'Order',
  inCard('bare', 'Date'),
  inCard('lead', numberColumn('Commission')),
  inCard('bare', 'Status'),
  inCard('bare', wideColumn('Details')),
]

const tokenOf = (c: HonoContext<Env>): string => new URL(c.req.url).searchParams.get('token') ?? ''

/** The page for an expired or revoked link. */
const endedPage = ({ name, storeDomain }: ShopRow): Html =>
  signedOutLayout(
    'This link is no longer valid',
    html`<p class="lead">You need a new link to open your page at ${isolated(name)}.</p>
<p>Ask ${isolated(name)} for one: reply to the message that contained this link${storeDomain ? html`, or use the contact page on <a href="${`https://${storeDomain}/`}">${storeDomain}</a>` : ''}. Links expire, so that a forwarded one does not work forever.</p>`,
    undefined,
    name,
  )

/** Mounts an affiliate's own pages, which a link opens without sign-in. */
export function mountPortal(app: Hono<Env>, server: Server): void {
  const mount = (path: string, render: (request: PortalRequest, c: HonoContext<Env>) => Promise<Html | Response>) =>
    app.get(path, async (c) => {
      const state = c.get('request')
      try {
        await limitPublic(server, state)
        const query = new URL(c.req.url).searchParams
        const opened = await openPortal({ ...server.deps, requestId: state.requestId }, tokenOf(c))
        const page = await render(
          { ...opened, query, cost: rowsOf({ list: 'commissions', scope: opened.affiliate.id }) },
          c,
        )
        // The link may have expired during the request.
        await opened.ctx.recheck?.(opened.ctx.db.read)
        return page instanceof Response ? page : sendPage(c, { status: 200, page })
      } catch (thrown) {
        if (thrown instanceof PageOutOfRange) return c.redirect(thrown.to, 303)
        const error = toApiError(server, thrown as Error, logFields(state))
        const shop = error.code === 'session_expired' ? await shopOfLink(server.deps, tokenOf(c)) : undefined
        const page = shop
          ? endedPage(shop)
          : signedOutLayout('This page cannot be opened', html`<p class="lead">${error.message}</p>`)
        return sendPage(c, { ...error, status: error.status, page })
      }
    })
  const month = (c: HonoContext<Env>) => c.req.param('month') ?? ''
  mount(PATH, async (request) => frame(request, 'OVERVIEW', await overview(request)))
  mount(STATEMENTS_PATH, async (request) => frame(request, 'STATEMENTS', await monthsPage(request)))
  mount(`${STATEMENTS_PATH}/:month`, async (request, c) =>
    frame(request, 'STATEMENTS', await statementPage(request, month(c))),
  )
  mount(`${STATEMENTS_PATH}/:month/file`, async (request, c) => {
    const { format, content, ...file } = await statementFile(request, month(c))
    if (format !== 'html') return sendFile(c, { ...file, content })
    return c.html(String(content), 200, {
      ...pageHeaders({ style: inlineStyleSource(STATEMENT_STYLE) }),
      'Cache-Control': 'no-store',
    })
  })
}

function frame(
  { ctx, affiliate, expiresAt, query }: PortalRequest,
  current: 'OVERVIEW' | 'STATEMENTS',
  body: Html,
): Html {
  const links = tabs('Your pages', [
    { to: portalUrl(PATH, query), text: 'Overview', isCurrent: current === 'OVERVIEW' },
    { to: portalUrl(STATEMENTS_PATH, query), text: 'Statements', isCurrent: current === 'STATEMENTS' },
  ])
  return standaloneLayout(
    ctx,
    `Hello ${affiliate.name}`,
    html`<p class="lead">Your referrals at ${isolated(ctx.shop.name)}. This page is only for you. Its link is valid until ${time(expiresAt, '–', ctx.shop.timeZone)}.</p>
${links}${body}`,
  )
}

async function overview(request: PortalRequest): Promise<Html> {
  const { ctx, affiliate, query } = request
  const listQuery = { affiliateId: affiliate.id, ...pageOf(query) }
  const cached = <T>(name: string, read: (ctx: Context) => Promise<T>) =>
    readForPage(ctx, { key: ['own page', name, listQuery], cost: request.cost, read })
  const [{ value: balance }, { value: list }, { value: sums }, aliases, terms] = await Promise.all([
    cached('balance', (readCtx) => readBalance(readCtx, affiliate.id)),
    cached('commissions', (readCtx) => commissions.list(readCtx, listQuery)),
    cached('sums', (readCtx) => sumsByCurrency(readCtx, affiliate.id)),
    listOf(ctx, affiliate.id),
    summaryFor(ctx, affiliate),
  ])
  const also = (kind: (typeof aliases)[number]['kind'], shown: (value: string) => string) =>
    aliases.filter((aliase) => aliase.kind === kind).map(({ value }) => html`<code>${isolated(shown(value))}</code> `)
  const [links, codes] = [also('LINK', (value) => linkOf(ctx.shop, value)), also('CODE', (value) => value)]
  return html`<section class="card" aria-labelledby="share"><h2 id="share">Share</h2>
${facts(
  [
    ['Your link', copyable('link', 'your link', linkOf(ctx.shop, affiliate.slug))],
    ['Your code', copyable('code', 'your code', affiliate.discountCode)],
    ['Other links', links.length ? html`${links}` : undefined],
    ['Other codes', codes.length ? html`${codes}` : undefined],
    ['Your terms', terms ?? undefined],
  ],
  'facts share',
)}</section>
<h2>Balance</h2>
${balance === undefined ? loadingNotice('Calculating your balance…') : balanceOf(balance.balances)}
<h2>Last 30 days</h2>
${
  sums
    ? facts(
        [
          ['Clicks', count(sums[0]?.totals.clicks ?? 0)],
          ['Orders', count(sums.reduce((all, { totals }) => all + totals.orders, 0))],
          [
            'Commission',
            html`${sums.map(({ totals, currency }) => html`<span class="line">${money(totals.commissionCents, currency)}</span>`)}`,
          ],
        ],
        'stats',
      )
    : loadingNotice('Calculating the last 30 days…')
}
<h2>Orders</h2>
${list ? await orderTable(request, list.data) : loadingNotice('Counting your orders…')}
${list && pager(PATH, query, list.pagination)}`
}

/** The last 30 days' totals by currency, the shop's currency first. */
async function sumsByCurrency(ctx: Context, affiliateId: string) {
  const first = await summarize(ctx, { affiliateId })
  const others = first.currencies.filter((currency) => currency !== first.currency)
  const rest = await Promise.all(others.map((currency) => summarize(ctx, { affiliateId, currency })))
  const all = [first, ...rest].filter(({ totals }) => totals.orders > 0 || totals.commissionCents !== 0)
  return all.length > 0 ? all : [first]
}

/** Amounts before tax. If tax is withheld, also the approved amount after tax. */
const amountsOf = ({ currency, ...cents }: Balance, hasTax: boolean): (readonly [name: string, text: string])[] => {
  const net = cents.approvedCents + cents.batchedCents - cents.taxWithheldCents
  return [
    ['Awaiting approval', money(cents.pendingCents, currency)],
    ['Approved', approvedText({ currency, ...cents })],
    ['Being paid', money(cents.batchedCents, currency)],
    ...(hasTax
      ? ([
          ['Tax withheld', money(-cents.taxWithheldCents, currency)],
          ['You receive', money(net, currency)],
        ] as const)
      : []),
  ]
}

function balanceOf(balances: Balance[]): Html {
  const [first, ...others] = balances
  if (!first) return html`<p>You have no unpaid balance.</p>`
  const hasTax = balances.some(({ taxWithheldCents }) => taxWithheldCents !== 0)
  if (others.length === 0) return facts(amountsOf(first, hasTax), 'stats')
  return table(
    'Balance by currency',
    ['Currency', ...amountsOf(first, hasTax).map(([name]) => numberColumn(name))],
    balances.map((balance) => [balance.currency, ...amountsOf(balance, hasTax).map(([, text]) => text)]),
  )
}

async function orderTable(request: PortalRequest, list: Commission[]): Promise<Html> {
  const { ctx } = request
  if (list.length === 0) return empty('No orders yet', 'Orders with your code or link appear here.', 'orders')
  const { timeZone } = ctx.shop
  const orders = await adjustedOrders(ctx, list)
  const row = (commission: Commission): Cell[] => {
    const { order, reason } = orderOf(commission, { orders })
    return [
      isolated(order ?? 'Adjustment'),
      time(commission.happenedAt, '–', timeZone),
      earned(commission.commissionAmountCents, commission.currency, commission.orderStatus),
      badge(commission.orderStatus),
      html`${reason === undefined ? rateOf(commission) : html`${isolated(reason)}. `}${reasonOf(request, commission)}`,
    ]
  }
  return table('Orders', COLUMNS, list.map(row))
}

/** How the commission was calculated, such as `16% of 100.00 USD, of which 20.00 USD was refunded. `. */
function rateOf(commission: Commission): string {
  if (commission.commissionAmountCents <= 0 || commission.commissionType === null) return ''
  const { commissionType, commissionRateBps, commissionBaseCents, remainingBaseCents, orderCurrency } = commission
  if (commissionType !== 'PERCENT_OF_SALE') return 'Flat commission. '
  if (commissionRateBps === 0) return ''
  const isOneRate = Math.abs((remainingBaseCents * commissionRateBps) / 10_000 - commission.commissionAmountCents) <= 1
  const refunded = commissionBaseCents - remainingBaseCents
  const refund = refunded > 0 ? `, of which ${money(refunded, orderCurrency)} was refunded` : ''
  const goods = money(commissionBaseCents, orderCurrency)
  // Products can have their own rates.
  if (!isOneRate) return `For goods of ${goods}${refund}. `
  return `${rateText(commissionType, commissionRateBps, orderCurrency).replace('goods', goods)}${refund}. `
}

const WORDS: Partial<Record<Commission['orderStatus'], string>> = {
  PENDING: 'The shop has not approved it yet.',
  APPROVED: 'Included in the next payout.',
  ACCEPTED: 'Included in the next payout.',
  PAYABLE: 'Payment in progress.',
  REJECTED: 'The shop did not approve it.',
  REVERSED: 'Reversed after payment. The next payout deducts it.',
  CANCELED: 'It was canceled.',
  REFUNDED: 'The order was fully refunded.',
}

/** Explains a commission's status to the affiliate. */
function reasonOf({ ctx }: PortalRequest, commission: Commission): Html | string {
  const { orderStatus, restrictionReasonCode: code, paidAt, availableAt } = commission
  const zone = ctx.shop.timeZone
  if (code !== null) return restrictionTexts(code as RestrictionCode).affiliate
  const isApproved = orderStatus === 'APPROVED' || orderStatus === 'ACCEPTED'
  if (isApproved && availableAt && availableAt > nowIso(ctx)) return html`On hold until ${day(availableAt, zone)}.`
  if (orderStatus === 'PAID') return paidAt === null ? 'Paid.' : html`Paid on ${day(paidAt, zone)}.`
  return WORDS[orderStatus] ?? ''
}
