import * as backtest from '../analytics/backtest.ts'
import type { components } from '../contract/schema.d.ts'
import { isLargeList } from '../core/list-size.ts'
import { twoBars } from './chart.ts'
import { field, select } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import { figuresOf, readKept, stillReading } from './kept.ts'
import { filterForm, filterInput, givenOf, readPeriod } from './list-filter.ts'
import { findProgram } from './program.ts'
import { RATE_TYPES, typedNumber, typedRate } from './program-form.ts'
import type { PageRequest, Route, View } from './route.ts'
import { rolesAndAuditOf, validateBody } from './route.ts'
import { count, counted, empty, facts, money, urlWithQuery } from './show.ts'
import { nameColumn, numberColumn, table } from './table.ts'

type Backtest = components['schemas']['Backtest']

const FIELDS = ['commissionType', 'commissionPercent', 'cookieDurationDays', 'from', 'to']

export const backtestRoutes: Route[] = [
  { path: '/programs/:id/backtest', ...rolesAndAuditOf('runBacktest'), show, filters: FIELDS },
]

/** What past orders would have earned under other terms. Nothing is stored. */
async function show(request: PageRequest): Promise<View> {
  const { ctx, query } = request
  const one = await findProgram(request)
  const path = `/admin/programs/${one.id}/backtest`
  const rate = typedRate({ commissionType: one.commissionType, rate: one.defaultCommissionBps }, ctx.shop.currency)
  const value = (name: string, otherwise: string) => field(query, name) ?? otherwise
  const isSubmitted = query.has('commissionPercent')
  return {
    title: 'What if…',
    crumb: { to: `/admin/programs/${one.id}`, text: one.name },
    lead: 'Re-evaluates past orders with different terms and compares the results. Nothing is changed.',
    subjectId: one.id,
    isEmpty: !isSubmitted,
    body: html`${filterForm(request, {
      path,
      fields: html`${select('commissionType', 'Commission', RATE_TYPES, value('commissionType', one.commissionType))}
${filterInput(request, { name: 'commissionPercent', label: 'Rate', value: value('commissionPercent', rate), required: true, maxlength: 20 })}
${filterInput(request, { name: 'cookieDurationDays', label: 'Click window (days)', type: 'number', value: value('cookieDurationDays', String(one.cookieDurationDays)), required: true })}
${filterInput(request, { name: 'from', label: 'Orders from', type: 'date', value: value('from', monthsAgo(ctx.now())) })}
${filterInput(request, { name: 'to', label: 'to', type: 'date', value: value('to', '') })}`,
      button: 'Compare',
      label: 'Other terms',
      isMain: true,
    })}
${request.problem ? '' : isSubmitted ? await compare(request, one) : empty('Choose other terms', 'The form shows the current ones.', 'programs')}`,
  }
}

async function compare(request: PageRequest, program: Awaited<ReturnType<typeof findProgram>>): Promise<Html> {
  const { ctx, query, zone } = request
  const terms = readTerms(request, program.id)
  const { value, readAt } = await readKept(ctx, {
    key: ['backtest', program, [...query]],
    isLarge: await isLargeList(ctx, { list: 'commissions' }),
    read: (own) => backtest.run(own, terms),
  })
  if (!value) return stillReading('The orders are being compared.')
  return html`${result(value)}${readAt === null ? '' : html`<p class="hint">${figuresOf(readAt, zone)}</p>`}`
}

const DAY_MS = 86_400_000
const monthsAgo = (now: number) => new Date(now - 90 * DAY_MS).toISOString().slice(0, 10)

/** The body of the operation. @throws ApiError 400 for fields that are not terms. */
function readTerms(request: PageRequest, programId: string) {
  const { query } = request
  return validateBody('runBacktest', {
    programId,
    commissionType: field(query, 'commissionType'),
    commissionPercent: typedNumber('commissionPercent', query.get('commissionPercent')),
    cookieDurationDays: typedNumber('cookieDurationDays', query.get('cookieDurationDays') ?? '30'),
    ...readPeriod(request, givenOf(query, FIELDS)),
  })
}

function result({ orders, changed, totals, affiliates, examples, truncated }: Backtest): Html {
  if (orders === 0) return empty('No orders in this period', 'Choose a longer one.', 'orders')
  const hint = truncated ? html`<p class="hint">Only the newest ${count(orders)} orders are compared.</p>` : ''
  return html`${facts(
    [
      ['Orders compared', count(orders)],
      ['Decided differently', count(changed)],
      ...totals.map(
        ({ currency, deltaCents }) => [`Commission in ${currency}`, difference(deltaCents, currency)] as const,
      ),
    ],
    'stats',
  )}${hint}
<h2>In total</h2>
${LEGEND}
${compareTable(
  'In total',
  'Currency',
  totals.map((one) => ({ ...one, name: one.currency })),
)}
<h2>By affiliate</h2>
${
  affiliates.length
    ? compareTable(
        'By affiliate',
        'Affiliate',
        affiliates.slice(0, MAX_SHOWN).map((one) => ({ ...one, name: one.name ?? one.affiliateId })),
      )
    : html`<p>No affiliate would earn more or less.</p>`
}
${affiliates.length > MAX_SHOWN ? html`<p class="hint">${counted(affiliates.length - MAX_SHOWN, 'affiliate')} more.</p>` : ''}
${examples.length ? exampleTable(examples) : ''}`
}

const MAX_SHOWN = 25

const LEGEND = html`<p class="legend"><span><svg viewBox="0 0 20 10" aria-hidden="true"><rect class="bar" width="20" height="10"></rect></svg>As recorded</span><span><svg viewBox="0 0 20 10" aria-hidden="true"><rect class="bar second" width="20" height="10"></rect></svg>With the other terms</span></p>`

const difference = (cents: number, currency: string): Html =>
  html`<span class="${cents > 0 ? 'bad-text' : cents < 0 ? 'good-text' : ''}">${cents > 0 ? '+' : ''}${money(cents, currency)}</span>`

interface Compared {
  name: string
  currency: string
  currentCents: number
  proposedCents: number
  deltaCents: number
}

/** The largest amount of each currency, so that its bars have one scale. */
const scalesOf = (rows: Compared[]): Map<string, number> =>
  new Map(
    [...Map.groupBy(rows, ({ currency }) => currency)].map(([currency, own]) => [
      currency,
      Math.max(1, ...own.flatMap(({ currentCents, proposedCents }) => [currentCents, proposedCents].map(Math.abs))),
    ]),
  )

const compareTable = (title: string, first: string, rows: Compared[], scales = scalesOf(rows)): Html =>
  html`<div class="compare">${table(
    title,
    [
      nameColumn(first),
      'Compared',
      numberColumn('As recorded'),
      numberColumn('Other terms'),
      numberColumn('Difference'),
    ],
    rows.map(({ name, currency, currentCents, proposedCents, deltaCents }) => [
      isolated(name),
      twoBars(currentCents, proposedCents, {
        label: `${money(currentCents, currency)} now, ${money(proposedCents, currency)} with the other terms`,
        most: scales.get(currency) ?? 1,
      }),
      money(currentCents, currency),
      money(proposedCents, currency),
      difference(deltaCents, currency),
    ]),
  )}</div>`

const exampleTable = (examples: Backtest['examples']): Html =>
  html`<h2>Orders that change</h2>${table(
    'Orders that change',
    ['Order', numberColumn('As recorded'), numberColumn('Other terms'), numberColumn('Difference')],
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
