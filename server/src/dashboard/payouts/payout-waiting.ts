import { isCurrency } from '../../contract/is-currency.ts'
import { affiliateMinimumsByCurrency } from '../../domains/accounts/settings.ts'
import {
  approvedCurrencies,
  countWaiting,
  IN_NEW_BATCH,
  readWaiting,
  sumOf,
  WAITING_PARTS,
  type WaitingAffiliate,
  type WaitingList,
  type WaitingPart,
  type WaitingSums,
} from '../../domains/payouts/waiting.ts'
import { blockedText } from '../../engine/payment-line.ts'
import { payeeLink } from '../affiliates/payee.ts'
import { empty, tabs } from '../kit/components.ts'
import { select } from '../kit/form.ts'
import { counted, count as counts, money } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { type Cached, figuresNotice, loadingNotice, readForPage } from '../kit/report-cache.ts'
import { OWNER_ONLY, type PageRequest, type Route, type View } from '../kit/route.ts'
import { nameOf } from '../kit/status.ts'
import { type Cell, type Column, inCard, nameColumn, numberColumn, pageOf, pager, table } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'

const PATH = '/admin/payouts'
const LIST = `${PATH}/waiting`

export const payoutWaitingRoutes: Route[] = [
  { path: '/payouts/waiting', roles: OWNER_ONLY, audit: 'payouts.accessed', show: list },
]

export const BALANCE_NAMES: Record<WaitingPart, string> = {
  PAYABLE: 'Payable now',
  BLOCKED: 'Blocked by payee details',
  LATE: 'Approved after its month was paid',
  ON_HOLD: 'On hold',
  BELOW_MINIMUM: 'Below the minimum',
  DEBT: 'Owed for refunds',
  HELD_BACK: 'Archived or rejected',
}

type Read = Awaited<ReturnType<typeof readWaiting>>

/** Commissions awaiting payout. The cache key includes the minimums, because they decide what is payable. */
export async function readWaitingKept(
  { ctx }: PageRequest,
  list?: WaitingList,
): Promise<Cached<Read> & { approved: number }> {
  const approved = await countWaiting(ctx)
  const stored = await readForPage(ctx, {
    key: ['waiting', minimumsOf({ ctx }), list],
    cost: approved,
    read: (readCtx) => readWaiting(readCtx, list && { list }),
  })
  return { ...stored, approved }
}

/** Settings that decide what a batch contains. */
export const minimumsOf = ({ ctx: { shop } }: Pick<PageRequest, 'ctx'>) => [
  shop.currency,
  shop.minimumPayoutCents,
  shop.minimumPayoutCentsByCurrency,
  shop.minimumAffiliatePayoutCentsByCurrency,
  shop.legacyMinimumPayout,
]

/** Approved commissions that are not in a batch: what can be paid, and why the rest cannot. */
export async function waitingSection(request: PageRequest): Promise<Html> {
  const { value, readAt, approved } = await readWaitingKept(request)
  const waiting = value?.sums.filter((sum) => sumOf(sum, WAITING_PARTS).commissions > 0)
  if (waiting?.length === 0) return html``
  const content = waiting
    ? html`${sumTable(waiting)}${notes(waiting, value?.sums ?? [])}${figuresNotice(readAt, request.zone)}`
    : loadingNotice(
        `Calculating the balances of ${counted(approved, 'approved commission')}, including those in open batches…`,
      )
  return html`<h2>Awaiting payout</h2>${content}`
}

function sumTable(waiting: WaitingSums[]): Html {
  // Few shops have open debts or a hold.
  const parts = WAITING_PARTS.filter(
    (part) => !['DEBT', 'ON_HOLD'].includes(part) || waiting.some((totals) => totals.parts[part]),
  )
  const columns: Column[] = [
    'Currency',
    ...parts.map((part) => numberColumn(BALANCE_NAMES[part])),
    numberColumn('Not in a batch'),
    { label: 'Actions', kind: 'actions' },
  ]
  const rows = waiting.map((totals): Cell[] => [
    totals.currency,
    ...parts.map((part) => partCell(totals, part)),
    sumCell(totals.currency, sumOf(totals, WAITING_PARTS), 'commission'),
    sumOf(totals, IN_NEW_BATCH).commissions > 0
      ? html`<a class="button small" href="${urlWithQuery(`${PATH}/new`, { currency: totals.currency })}">Create a batch<span class="visually-hidden"> in ${totals.currency}</span></a>`
      : '',
  ])
  return table('Awaiting payout', columns, rows, 'figures')
}

function partCell({ currency, parts }: WaitingSums, part: WaitingPart): Cell {
  const sum = parts[part]
  if (!sum) return '–'
  return html`<a href="${urlWithQuery(LIST, { currency, why: part })}">${money(sum.netPayableCents, currency)}</a><small>${counted(sum.affiliates, 'affiliate')}</small>`
}

const sumCell = (currency: string, sum: { commissions: number; netPayableCents: number }, label: string): Html =>
  html`${money(sum.netPayableCents, currency)}<small>${counted(sum.commissions, label)}</small>`

/** Notes on the batch minimum, and on what is in an open batch. */
function notes(waiting: WaitingSums[], all: WaitingSums[]): Html {
  const minimums = waiting.flatMap((totals) => {
    const { currency, minimumPayoutCents } = totals
    const { netPayableCents } = sumOf(totals, IN_NEW_BATCH)
    if (minimumPayoutCents === null)
      return [
        `No batch in ${currency} can be created: the legacy minimum and the current minimum differ. Choose one in the settings.`,
      ]
    if (netPayableCents > 0 && netPayableCents < minimumPayoutCents)
      return [
        `${money(netPayableCents, currency)} is below the minimum payout of ${money(minimumPayoutCents, currency)}.`,
      ]
    return []
  })
  const open = inOpenBatches(all, 'more commission')
  return html`${minimums.map((text) => html`<p class="notice wait">${text}</p>`)}${open ? html`<p class="hint">After tax. ${open}.</p>` : html`<p class="hint">After tax.</p>`}`
}

/** For example, `3 approved commissions are not in a batch: 1.00 EUR, 2.00 USD`. Undefined if there are none. */
export function inNoBatch(all: WaitingSums[]): string | undefined {
  const unbatched = all.map((totals) => ({ currency: totals.currency, ...sumOf(totals, WAITING_PARTS) }))
  const waiting = unbatched.filter(({ commissions }) => commissions > 0)
  const total = waiting.reduce((sum, { commissions }) => sum + commissions, 0)
  if (total === 0) return undefined
  const sums = waiting.map(({ netPayableCents, currency }) => money(netPayableCents, currency)).join(', ')
  return `${counted(total, 'approved commission is', 'approved commissions are')} not in a batch: ${sums}`
}

/**
 * For example, `3 commissions are in open batches and not paid yet: 1.00 EUR, 2.00 USD`. Undefined if there are none.
 */
export function inOpenBatches(all: WaitingSums[], noun = 'commission'): string | undefined {
  const open = all.filter((totals) => totals.inOpenBatches.commissions > 0)
  const total = open.reduce((sum, totals) => sum + totals.inOpenBatches.commissions, 0)
  if (total === 0) return undefined
  const sums = open.map((totals) => money(totals.inOpenBatches.netPayableCents, totals.currency)).join(', ')
  return `${counted(total, `${noun} is`, `${noun}s are`)} in open batches and not paid yet: ${sums}`
}

const LEADS: Record<(typeof WAITING_PARTS)[number], string> = {
  PAYABLE: 'These affiliates can be paid with a new batch.',
  BLOCKED:
    'A new batch includes these affiliates, but their payments cannot be sent until their payee details are entered or corrected.',
  ON_HOLD: 'The program’s terms hold these for now. A later batch that includes earlier commissions pays them.',
  BELOW_MINIMUM: 'Not included in a batch until the balance reaches the minimum per affiliate',
  DEBT: 'Refunds after payment exceed what the affiliate has earned since. A batch carries the debt forward.',
  HELD_BACK: 'Affiliates who are archived or rejected are not paid.',
}

/** Affiliates awaiting payout, grouped by what will happen to their commissions. */
async function list(request: PageRequest): Promise<View> {
  const { query, ctx, zone } = request
  const part = WAITING_PARTS.find((waitingPart) => waitingPart === query.get('why')) ?? 'PAYABLE'
  const chosen = query.get('currency') ?? ''
  const currency = isCurrency(chosen) ? chosen : ctx.shop.currency
  const minimumCents = affiliateMinimumsByCurrency(ctx.shop)[currency]
  const { value, readAt } = await readWaitingKept(request, { currency, parts: [part], ...pageOf(query) })
  const view = {
    title: `Awaiting payout in ${currency}`,
    crumb: { to: PATH, text: 'Payouts' },
    lead:
      part === 'BELOW_MINIMUM'
        ? `${LEADS[part]}${minimumCents ? `: ${money(minimumCents, currency)}` : ''}.`
        : LEADS[part],
  }
  if (!value?.affiliates) return { ...view, body: loadingNotice('Calculating the approved commissions…') }
  const { data, pagination } = value.affiliates
  const currencyTotals = value.sums.find((sum) => sum.currency === currency)
  return {
    ...view,
    body: html`${value.sums.length > 1 ? html`<div class="toolbar">${currencyTabs(value.sums, currency, part)}</div>` : ''}
${partTabs(currencyTotals, currency, part)}
${
  data.length
    ? affiliateTable('Affiliates', data, { currency, path: urlWithQuery(LIST, { currency, why: part }) })
    : empty('No affiliates in this group', '', 'payouts')
}
${pager(LIST, query, pagination)}${figuresNotice(readAt, zone)}`,
  }
}

const currencyTabs = (sums: WaitingSums[], current: string, part: WaitingPart): Html =>
  tabs(
    'By currency',
    sums.map(({ currency }) => ({
      to: urlWithQuery(LIST, { currency, why: part }),
      text: currency,
      isCurrent: currency === current,
    })),
    'segments',
  )

const partTabs = (totals: WaitingSums | undefined, currency: string, current: WaitingPart): Html =>
  tabs(
    'By reason',
    WAITING_PARTS.filter((part) => part !== 'DEBT' || totals?.parts.DEBT || part === current).map((part) => ({
      to: urlWithQuery(LIST, { currency, why: part }),
      text: `${BALANCE_NAMES[part]}: ${money(totals?.parts[part]?.netPayableCents ?? 0, currency)}`,
      isCurrent: part === current,
      count: totals?.parts[part]?.affiliates ?? 0,
    })),
  )

const COLUMNS: Column[] = [
  nameColumn('Affiliate'),
  inCard('lead', numberColumn('Balance')),
  inCard('inline', numberColumn('Commissions')),
  inCard('bare', 'Payee details'),
]

/** Affiliates with their balance, and the reason it cannot be paid. */
export const affiliateTable = (
  name: string,
  list: WaitingAffiliate[],
  { currency, path }: { currency: string; path: string },
): Html =>
  table(
    name,
    COLUMNS,
    list.map((affiliate) => row(affiliate, currency, path)),
  )

const row = (waitingAffiliate: WaitingAffiliate, currency: string, path: string): Cell[] => [
  html`<a href="/admin/affiliates/${waitingAffiliate.affiliateId}">${isolated(waitingAffiliate.name || waitingAffiliate.affiliateId)}</a><small>${isolated(waitingAffiliate.email)}</small>`,
  money(waitingAffiliate.netPayableCents, currency),
  counts(waitingAffiliate.commissions),
  html`${waitingAffiliate.reason ? blockedText({ ...waitingAffiliate, currency }) : nameOf(waitingAffiliate.method ?? '')}${waitingAffiliate.part === 'HELD_BACK' ? '' : html`<small><a href="${payeeLink(waitingAffiliate.affiliateId, path)}">${waitingAffiliate.method ? 'Change details' : 'Enter details'}<span class="visually-hidden"> of ${isolated(waitingAffiliate.name)}</span></a></small>`}`,
]

/** The currency field for a new batch, with the amount awaiting payout in each currency, and the selected currency. */
export async function currencyChoice(
  request: PageRequest,
  chosen: string | undefined,
): Promise<{ field: Html; currency: string | undefined }> {
  const { value } = await readWaitingKept(request)
  const options = value
    ? value.sums
        .filter((option) => sumOf(option, IN_NEW_BATCH).commissions > 0)
        .map((option) => {
          const sum = money(sumOf(option, IN_NEW_BATCH).netPayableCents, option.currency)
          return [option.currency, `${option.currency} (${sum} awaiting payout)`] as const
        })
    : // The totals are not ready yet.
      (await approvedCurrencies(request.ctx)).map((option) => [option, option] as const)
  const has = (currency: string) => options.some(([option]) => option === currency)
  const shopCurrency = request.ctx.shop.currency
  const currency = chosen ?? (has(shopCurrency) ? shopCurrency : options[0]?.[0])
  if (currency === undefined) return { field: html``, currency }
  const all = has(currency) ? options : [...options, [currency, currency] as const]
  return { field: select('currency', 'Currency', all, currency), currency }
}
