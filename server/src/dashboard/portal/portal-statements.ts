import { notFound } from '../../contract/errors.ts'
import { nowIso } from '../../core/context.ts'
import type { ReadCost } from '../../core/lists.ts'
import { toPage } from '../../core/pagination.ts'
import { localDate } from '../../core/time-zone.ts'
import type { OpenedPortal } from '../../domains/affiliates/portal-link.ts'
import { listMonths, type StatementMonth } from '../../domains/payments/statement-months.ts'
import { read, readFile, type StatementPage } from '../../domains/payments/statements.ts'
import { empty, facts } from '../kit/components.ts'
import { day, money, monthText } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { loadingNotice, readForPage } from '../kit/report-cache.ts'
import type { FileDownload } from '../kit/route.ts'
import { type Cell, type Column, inCard, numberColumn, pageOf, pager, table, wideColumn } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'

export const STATEMENTS_PATH = '/affiliate/statements'

/** A request for a page that a link opens. */
export interface PortalRequest extends OpenedPortal {
  query: URLSearchParams
  /** The cost of reading the affiliate's commissions. */
  cost: ReadCost
}

const MONTHS = 12
const MONTH_COLUMNS: Column[] = [
  'Month',
  inCard('inline', numberColumn('Opening balance')),
  inCard('inline', numberColumn('Earned')),
  inCard('inline', numberColumn('Paid')),
  inCard('lead', numberColumn('Closing balance')),
]

/** Months with a statement, each with its totals by currency. */
export async function monthsPage({ ctx, affiliate, query, cost }: PortalRequest): Promise<Html> {
  const listQuery = { page: pageOf(query).page, limit: MONTHS }
  const { value: list } = await readForPage(ctx, {
    key: ['own months', affiliate.id, listQuery, localDate(nowIso(ctx), ctx.shop.timeZone)],
    cost,
    read: (readCtx) => listMonths(readCtx, affiliate.id, listQuery),
  })
  if (!list) return loadingNotice('Calculating your statements…')
  if (list.pagination.total === 0)
    return empty('No statements yet', 'There is one for each month, starting with your first order.', 'payouts')
  const thisMonth = localDate(nowIso(ctx), ctx.shop.timeZone).slice(0, 7)
  const rows = list.data.map((month) => monthRow(month, { query, isCurrent: month.month === thisMonth }))
  return html`<p class="hint">Each statement lists what you earned and what you were paid in a month. If an order is approved later, the statement for its month changes.</p>
${table('Statements', MONTH_COLUMNS, rows)}
${pager(STATEMENTS_PATH, query, list.pagination)}`
}

function monthRow(
  { month, currencies }: StatementMonth,
  { query, isCurrent }: { query: URLSearchParams; isCurrent: boolean },
): Cell[] {
  const amounts = (name: 'openingCents' | 'earnedCents' | 'paidCents' | 'closingCents'): Cell =>
    currencies.length
      ? html`${currencies.map((currency) => html`<span class="line">${money(currency[name], currency.currency)}</span>`)}`
      : '–'
  return [
    html`<a href="${portalUrl(`${STATEMENTS_PATH}/${month}`, query)}">${monthText(month)}</a>${isCurrent ? html`<small>So far</small>` : ''}`,
    amounts('openingCents'),
    amounts('earnedCents'),
    amounts('paidCents'),
    amounts('closingCents'),
  ]
}

/** The URL of another page of the same link. */
export const portalUrl = (path: string, query: URLSearchParams, more: Record<string, string> = {}): string =>
  urlWithQuery(path, { token: query.get('token') ?? '', ...more })

const LINES = 50
const LINE_COLUMNS: Column[] = [
  inCard('bare', 'Date'),
  inCard('bare', wideColumn('What happened')),
  inCard('inline', numberColumn('Tax withheld')),
  inCard('lead', numberColumn('Amount')),
  inCard('inline', numberColumn('Balance')),
]

/** A statement with its lines, and links to its files. */
export async function statementPage({ ctx, affiliate, query, cost }: PortalRequest, month: string): Promise<Html> {
  const listQuery = { month, page: pageOf(query).page, limit: LINES }
  const { value: statement } = await readForPage(ctx, {
    key: ['own statement', affiliate.id, listQuery],
    cost,
    read: (readCtx) => read(readCtx, affiliate.id, listQuery),
  })
  if (!statement) return loadingNotice('Calculating your statement…')
  const path = `${STATEMENTS_PATH}/${month}`
  const file = (format: Format) => portalUrl(`${path}/file`, query, { format })
  const { pagination } = toPage([], listQuery, statement.lineCount)
  return html`<p class="crumb"><a href="${portalUrl(STATEMENTS_PATH, query)}">← All statements</a></p>
<div class="head"><h2>${monthText(month)}</h2><div class="actions"><a class="button" href="${file('html')}" target="_blank">Print<span class="visually-hidden"> (opens a new tab)</span></a><a class="button" href="${file('csv')}" download>Download as CSV</a></div></div>
${statement.currencies.map((currency) => sumsOf(currency))}
${
  statement.lines.length
    ? table('Lines', LINE_COLUMNS, linesOf(statement, ctx.shop.timeZone))
    : empty('Nothing happened in this month', 'No orders, refunds, or payments.', 'payouts')
}
${pager(path, query, pagination)}`
}

function sumsOf({ currency, ...sums }: StatementPage['currencies'][number]): Html {
  const { openingCents, ordersCents, refundsCents, adjustmentsCents, paymentsCents, closingCents, notApprovedCents } =
    sums
  const some = (name: string, cents: number) => [name, cents ? money(cents, currency) : undefined] as const
  return facts(
    [
      ['Opening balance', money(openingCents, currency)],
      ['Orders', money(ordersCents, currency)],
      some('Refunds', refundsCents),
      some('Adjustments', adjustmentsCents),
      ['Paid to you', money(0 - paymentsCents, currency)],
      ['Closing balance', money(closingCents, currency)],
      some('Awaiting approval', notApprovedCents),
    ],
    'stats',
  )
}

const linesOf = ({ lines }: StatementPage, zone: string): Cell[][] =>
  lines.map((line) => [
    day(line.at, zone),
    isolated(line.reason),
    line.taxWithheldCents ? money(line.taxWithheldCents, line.currency) : '–',
    money(line.amountCents, line.currency),
    money(line.balanceCents, line.currency),
  ])

const FILES = {
  csv: { type: 'text/csv; charset=utf-8' },
  html: { type: 'text/html; charset=utf-8' },
}
type Format = keyof typeof FILES

/**
 * Downloads a statement, the same file as the merchant's.
 *
 * @throws ApiError 404 `path_unknown` for another format.
 */
export async function statementFile(
  { ctx, affiliate, query }: PortalRequest,
  month: string,
): Promise<FileDownload & { format: Format }> {
  const format = query.get('format') ?? ''
  if (!isFormat(format)) throw notFound('path_unknown', 'No such file.')
  const content = await readFile(ctx, affiliate.id, { month, format })
  return { format, name: `statement-${month}.${format}`, ...FILES[format], content }
}

const isFormat = (text: string): text is Format => Object.hasOwn(FILES, text)
