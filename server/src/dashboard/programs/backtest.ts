import type { components } from '../../contract/schema.d.ts'
import { rowsOf } from '../../core/lists.ts'
import * as backtest from '../../domains/analytics/backtest.ts'
import * as programs from '../../domains/programs/programs.ts'
import { pairChart } from '../kit/chart.ts'
import { empty, facts, tabs } from '../kit/components.ts'
import { field, limitsOf, select } from '../kit/form.ts'
import { count, counted, money, shortRate } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { dayOr, type FilterValues, filterForm, filterInput, filterValues, readPeriod } from '../kit/list-filter.ts'
import { figuresNotice, loadingNotice, readForPage } from '../kit/report-cache.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { rolesAndAuditOf, validateBody } from '../kit/route.ts'
import { nameColumn, numberColumn, table } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'
import { RATE_TYPES, typedNumber, typedRate } from './program-form.ts'

type Backtest = components['schemas']['Backtest']
type Program = components['schemas']['Program']
type Rule = components['schemas']['TermsRule']

const FIELDS = ['commissionType', 'commissionPercent', 'cookieDurationDays', 'promise', 'from', 'to']

/** Common rules that limit which of a customer's orders earn. */
const PROMISES: Record<string, Rule[]> = {
  year: [{ when: { customerMonth: { from: 12 } }, commissionPercent: null }],
  order: [{ when: { customerOrder: { from: 2 } }, commissionPercent: null }],
  all: [],
}
const PROMISE_NAMES = [
  ['', 'As in the terms at the time'],
  ['year', 'A customer’s first year'],
  ['order', 'A customer’s first order'],
  ['all', 'All orders'],
] as const

export const backtestRoutes: Route[] = [
  { path: '/programs/:id/backtest', ...rolesAndAuditOf('runBacktest'), show, hasFilter: true },
]

/** The terms to compare, as typed. */
interface Terms {
  commissionType: string
  commissionPercent: string
  cookieDurationDays: string
  /** One of {@link PROMISES}; empty for the terms each order was decided under. */
  promise: string
}

/** Shows what past orders would earn under other terms, starting with the current ones. Nothing is stored. */
async function show(request: PageRequest): Promise<View> {
  const { ctx, query } = request
  const program = await programs.find(ctx, request.params.id ?? '')
  const current = termsOf(program, ctx.shop.currency)
  const value = (name: keyof Terms) => field(query, name) ?? current[name]
  const proposed = {
    commissionType: value('commissionType'),
    commissionPercent: value('commissionPercent'),
    cookieDurationDays: value('cookieDurationDays'),
    promise: value('promise'),
  }
  const filterValues: FilterValues = { from: monthsAgo(ctx.now()), ...Object.fromEntries(query) }
  return {
    title: 'What if…',
    crumb: { to: `/admin/programs/${program.id}`, text: program.name },
    lead: 'Recalculates past orders under different terms and compares the results. Nothing is changed.',
    subjectId: program.id,
    body: html`${presets(request, program, proposed)}
${filterForm(request, {
  path: pathOf(program),
  fields: html`${select('promise', 'Pays', PROMISE_NAMES, proposed.promise)}${select('commissionType', 'Commission', RATE_TYPES, proposed.commissionType)}
${filterInput(request, { name: 'commissionPercent', label: 'Rate', value: proposed.commissionPercent, required: true, maxlength: 20 })}
${filterInput(request, { name: 'cookieDurationDays', label: 'Click window', suffix: ' (days)', type: 'number', value: proposed.cookieDurationDays, required: true, ...limitsOf('runBacktest', 'cookieDurationDays') })}`,
  more: {
    names: ['from', 'to'],
    fields: html`${filterInput(request, { name: 'from', label: 'Orders from', type: 'date', value: filterValues.from ?? '', maxlength: 10 })}
${filterInput(request, { name: 'to', label: 'to', type: 'date', value: filterValues.to ?? '', maxlength: 10 })}`,
  },
  button: 'Compare',
  label: 'Terms to compare',
  isMain: true,
})}
${request.problem ? '' : await compare(request, program, { proposed, values: filterValues })}`,
  }
}

const pathOf = ({ id }: Program) => `/admin/programs/${id}/backtest`

const termsOf = (program: Program, currency: string): Terms => ({
  commissionType: program.commissionType,
  commissionPercent: typedRate(
    { commissionType: program.commissionType, rate: program.defaultCommissionBps },
    currency,
  ),
  cookieDurationDays: String(program.cookieDurationDays),
  promise: '',
})

const isSame = (terms: Terms, other: Terms): boolean =>
  terms.commissionType === other.commissionType &&
  Number(terms.commissionPercent) === Number(other.commissionPercent) &&
  Number(terms.cookieDurationDays) === Number(other.cookieDurationDays) &&
  terms.promise === other.promise

/** How far the suggested rates are from the current one: two percentage points, or a tenth of an amount. */
const stepOf = ({ commissionType, defaultCommissionBps: rate }: Program): number =>
  commissionType === 'PERCENT_OF_SALE' ? 200 : Math.max(1, Math.round(rate / 10))
const MAX_PERCENT = 10_000
const CLICK_WINDOWS = [30, 60, 90]

/** Links to the current terms, to a higher and a lower rate, and to other click windows. */
function presets({ ctx, query }: PageRequest, program: Program, proposed: Terms): Html {
  const { commissionType, defaultCommissionBps: rate } = program
  const current = termsOf(program, ctx.shop.currency)
  const rates = [rate + stepOf(program), rate - stepOf(program)]
    .filter((cents) => cents > 0 && (commissionType !== 'PERCENT_OF_SALE' || cents <= MAX_PERCENT))
    .map((cents) => ({
      text: shortRate(commissionType, cents, ctx.shop.currency),
      terms: { ...current, commissionPercent: typedRate({ commissionType, rate: cents }, ctx.shop.currency) },
    }))
  const windows = CLICK_WINDOWS.filter((days) => days !== program.cookieDurationDays).map((days) => ({
    text: `${days} days`,
    terms: { ...current, cookieDurationDays: String(days) },
  }))
  return html`<div class="toolbar">${tabs(
    'Terms',
    [{ text: 'Current terms', terms: current }, ...rates, ...windows].map(({ text, terms }) => ({
      to: urlWithQuery(pathOf(program), {
        ...terms,
        from: query.get('from') ?? undefined,
        to: query.get('to') ?? undefined,
      }),
      text,
      isCurrent: isSame(terms, proposed),
    })),
    'segments',
  )}</div>`
}

async function compare(
  request: PageRequest,
  program: Program,
  { proposed, values }: { proposed: Terms; values: FilterValues },
): Promise<Html> {
  const { ctx, zone } = request
  const body = validateBody('runBacktest', {
    programId: program.id,
    commissionType: proposed.commissionType,
    commissionPercent: typedNumber('commissionPercent', proposed.commissionPercent),
    cookieDurationDays: typedNumber('cookieDurationDays', proposed.cookieDurationDays),
    ...(Object.hasOwn(PROMISES, proposed.promise) && { rules: PROMISES[proposed.promise] }),
    ...readPeriod(request, filterValues(new URLSearchParams(values), FIELDS)),
  })
  const { value, readAt } = await readForPage(ctx, {
    key: ['backtest', program, body],
    cost: rowsOf({ list: 'commissions' }),
    read: (readCtx) => backtest.run(readCtx, body),
  })
  if (!value) return loadingNotice('Comparing orders…')
  const title = isSame(proposed, termsOf(program, ctx.shop.currency))
    ? 'With the current terms'
    : 'With different terms'
  return html`<h2>${title}</h2><p class="hint">${periodText(values)}</p>${result(value, ctx.shop.currency)}${figuresNotice(readAt, zone)}`
}

function periodText({ from, to }: FilterValues): string {
  if (!from && !to) return 'All orders.'
  const [since, until] = [from && `from ${dayOr(from)}`, to && `until ${dayOr(to)}`]
  return `Orders ${[since, until].filter(Boolean).join(' ')}.`
}

const DAY_MS = 86_400_000
const monthsAgo = (now: number) => new Date(now - 90 * DAY_MS).toISOString().slice(0, 10)

function result(
  { orders, changed, affiliates, examples, truncated, ...figures }: Backtest,
  shopCurrency: string,
): Html {
  if (orders === 0) return empty('No orders in this period', 'Choose a longer one.', 'orders')
  const hint = truncated ? html`<p class="hint">Only the newest ${count(orders)} orders are compared.</p>` : ''
  // The shop's currency first.
  const totals = figures.totals.toSorted(
    (a, b) => Number(b.currency === shopCurrency) - Number(a.currency === shopCurrency),
  )
  const most = affiliates.toSorted((a, b) => Math.abs(b.deltaCents) - Math.abs(a.deltaCents))
  return html`${facts(
    [
      ['Orders compared', count(orders)],
      ['Orders affected', count(changed)],
      ...totals.map(
        ({ currency, deltaCents }) => [`Difference in ${currency}`, difference(deltaCents, currency)] as const,
      ),
    ],
    'stats',
  )}${hint}
<p class="hint">Amounts are as first decided, before refunds and cancellations.</p>
<div class="charts">${totals.map((total) => currencyCharts(total, most))}</div>
${LEGEND}
<details class="numbers"><summary>Show as table</summary>
${compareTable(
  'In total',
  'Currency',
  totals.map((total) => ({ ...total, name: total.currency })),
)}
${
  affiliates.length
    ? compareTable(
        'By affiliate',
        'Affiliate',
        most.slice(0, MAX_SHOWN).map((affiliate) => ({ ...affiliate, name: nameIn(affiliate) })),
      )
    : html`<p>No affiliate would earn more or less.</p>`
}
${affiliates.length > MAX_SHOWN ? html`<p class="hint">${counted(affiliates.length - MAX_SHOWN, 'affiliate')} more.</p>` : ''}</details>
${examples.length ? exampleTable(examples) : ''}`
}

type OfAffiliate = Backtest['affiliates'][number]
const nameIn = ({ name, affiliateId }: OfAffiliate): string => name ?? affiliateId

/** Charts of a currency's total commission, and of the affiliates with the largest differences. */
function currencyCharts(total: Backtest['totals'][number], most: OfAffiliate[]): Html {
  const { currency, currentCents, proposedCents, deltaCents } = total
  const show = (cents: number) => money(cents, currency)
  const people = most
    .filter((affiliate) => affiliate.currency === currency && affiliate.deltaCents !== 0)
    .slice(0, MAX_DRAWN)
  const all = pairChart(
    { name: `Commission in ${currency}`, total: show(proposedCents), note: difference(deltaCents, currency) },
    [{ name: 'All affiliates', current: currentCents, proposed: proposedCents }],
    show,
  )
  if (people.length === 0) return all
  const drawn = people.map((affiliate) => ({
    name: isolated(nameIn(affiliate)),
    current: affiliate.currentCents,
    proposed: affiliate.proposedCents,
  }))
  return html`${all}${pairChart({ name: `Largest differences in ${currency}` }, drawn, show)}`
}

const MAX_DRAWN = 6
const MAX_SHOWN = 25

const LEGEND = html`<p class="legend"><span><svg viewBox="0 0 20 10" aria-hidden="true"><rect class="bar" width="20" height="10"></rect></svg>As recorded</span><span><svg viewBox="0 0 20 10" aria-hidden="true"><rect class="bar second" width="20" height="10"></rect></svg>With these terms</span></p>`

const difference = (cents: number, currency: string): Html =>
  html`<span class="${cents > 0 ? 'bad-text' : cents < 0 ? 'good-text' : ''}">${cents > 0 ? '+' : ''}${money(cents, currency)}</span>`

interface Compared {
  name: string
  currency: string
  currentCents: number
  proposedCents: number
  deltaCents: number
}

const compareTable = (title: string, first: string, rows: Compared[]): Html =>
  table(
    title,
    [nameColumn(first), numberColumn('As recorded'), numberColumn('With these terms'), numberColumn('Difference')],
    rows.map(({ name, currency, currentCents, proposedCents, deltaCents }) => [
      isolated(name),
      money(currentCents, currency),
      money(proposedCents, currency),
      difference(deltaCents, currency),
    ]),
  )

const exampleTable = (examples: Backtest['examples']): Html =>
  html`<h2>Orders that change</h2>${table(
    'Orders that change',
    ['Order', numberColumn('As recorded'), numberColumn('With these terms'), numberColumn('Difference')],
    examples
      .slice(0, MAX_SHOWN)
      .map(({ orderId, current, proposed }) => [
        html`<a href="${urlWithQuery('/admin/orders', { id: orderId })}">${isolated(orderId.replace(/^\w+:/, ''))}</a>`,
        money(current.amountCents, current.currency),
        money(proposed.amountCents, proposed.currency),
        current.currency === proposed.currency
          ? difference(proposed.amountCents - current.amountCents, current.currency)
          : '–',
      ]),
  )}`
