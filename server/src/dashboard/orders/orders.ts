import type { components } from '../../contract/schema.d.ts'
import { affiliateNames } from '../../domains/affiliates/affiliates.ts'
import { explain } from '../../domains/commissions/explain.ts'
import * as customers from '../../domains/customers/customers.ts'
import { findOrderName } from '../../domains/orders/reported.ts'
import { facts } from '../kit/components.ts'
import { field } from '../kit/form.ts'
import { count, money, rateText, time, UNDONE } from '../kit/format.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { downloadList, showList } from '../kit/list-page.ts'
import { ALL_ROLES, type PageRequest, type Route, rolesAndAuditOf, type View } from '../kit/route.ts'
import { badge, nameOf as nameText } from '../kit/status.ts'
import {
  type Cell,
  type Column,
  inCard,
  nameColumn,
  numberColumn,
  PAGE_SIZE,
  pager,
  slice,
  table,
  wideColumn,
} from '../kit/table.ts'
import { changes, moveOrder, refundList, refundOrder } from './order-changes.ts'
import { orderListPage } from './order-list.ts'

const PATH = '/admin/orders'

export const orderRoutes: Route[] = [
  { path: '/orders', ...rolesAndAuditOf('explainOrder'), show, hasFilter: true },
  {
    path: '/orders.csv',
    roles: ALL_ROLES,
    audit: 'orders.exported',
    show: (request) => downloadList(request, orderListPage(request)),
  },
  { path: '/orders/refund', ...rolesAndAuditOf('refundCommission'), act: refundOrder, page: show },
  { path: '/orders/move', ...rolesAndAuditOf('cancelCommission'), act: moveOrder, page: show },
]

async function show(request: PageRequest): Promise<View> {
  const text = field(request.query, 'id')
  return text ? await showOrder(request, text) : showList(request, orderListPage(request))
}

async function showOrder(request: PageRequest, text: string): Promise<View> {
  const { ctx, isOwner } = request
  const explained = await explain(ctx, text)
  const candidates = explained.evidence.flatMap((kind) => kind.candidates)
  const ids = candidates.flatMap(({ affiliateId, slugAffiliateId }) => [affiliateId, slugAffiliateId])
  const names = await affiliateNames(
    ctx,
    [...ids, explained.affiliate?.id ?? null].filter((id) => id !== null),
  )
  const name = (await findOrderName(ctx, explained.orderId)) || explained.externalOrderId
  const customer = await customers.findNamed(ctx, explained.order)
  return {
    title: `Order ${name}`,
    crumb: { to: PATH, text: 'Orders' },
    badges: explained.commission ? badge(explained.commission.orderStatus) : badge(explained.outcome),
    subjectId: explained.orderId,
    body: html`${orderStats(explained, names)}
<div class="columns"><div>
${explanation(explained, names, request.query)}
${refundList(explained, PATH, request.query)}
</div><div>
<section class="card" aria-labelledby="record"><h2 id="record">Record</h2>${decisionFacts(explained, { zone: request.zone, customer })}</section>
${isOwner && explained.commission ? changes(request, explained.commission, explained) : ''}
</div></div>`,
  }
}

type Schemas = components['schemas']
type Explanation = Schemas['Explanation']
type Line = Schemas['ArithmeticLine']
/** Affiliate names by ID. */
type Names = Map<string, string>

const KINDS: Record<Schemas['EvidenceKind'], string> = {
  COUPON: 'Coupon',
  DIRECT_LINK: 'Link',
  CONNECTED_CUSTOMER: 'Connected customer',
  CONNECTED_PRODUCT: 'Connected product',
}

/** Explains an order: the decision, the evidence considered, and the calculation line by line. */
const explanation = (
  explained: Explanation,
  names: Names,
  query: URLSearchParams,
): Html => html`<section class="card" aria-labelledby="decision"><h2 id="decision">Decision</h2>
<p>${badge(shownOutcome(explained))} ${isolated(explained.summary)}</p></section>
<h2>Evidence</h2>
<p class="hint">In your shop’s order of precedence. The first kind with valid evidence wins. If there are several clicks, the ${explained.clickTouch.toLowerCase()} one counts.</p>
<ol class="evidence card">${explained.evidence.map((group) => kind(group, names, query))}</ol>
${explained.terms.length ? html`<h2>Terms</h2><ul class="card">${explained.terms.map((text) => html`<li>${text}</li>`)}</ul>` : ''}
<h2>Calculation</h2>
${arithmetic(explained)}
<p class="hint">${replay(explained)}</p>`

/** The commission's status if an affiliate was credited and nothing of the commission remains. */
const shownOutcome = ({ outcome, commission }: Explanation): string =>
  outcome === 'CREDITED' && commission && UNDONE.has(commission.orderStatus) ? commission.orderStatus : outcome

/** An order's key figures. */
function orderStats(explained: Explanation, names: Names): Html {
  const { affiliate, arithmetic } = explained
  const amountOf = (step: string) => arithmetic.findLast((line) => line.step === step)
  const [base, commission, now] = [amountOf('base'), amountOf('commission'), amountOf('now')]
  const shown = (line: typeof base) => (line ? money(line.cents, line.currency) : undefined)
  return facts(
    [
      ['Goods', shown(base)],
      [now ? 'Original commission' : 'Commission', shown(commission) ?? 'none'],
      ['Current commission', shown(now)],
      [
        'Affiliate',
        affiliate ? html`<a href="/admin/affiliates/${affiliate.id}">${nameIn(names, affiliate.id)}</a>` : 'none',
      ],
    ],
    'stats',
  )
}

const decisionFacts = (
  explained: Explanation,
  { zone, customer }: { zone: string; customer: string | undefined },
): Html => {
  const { affiliate, program, commission, order } = explained
  const name = String(order.customerId || order.customerEmail)
  return facts(
    [
      ['Ordered', time(String(order.orderAt), '–', zone)],
      ['Received', time(explained.receivedAt, '–', zone)],
      ['Program', program ? rateText(program.commissionType, program.rate, flatCurrencyOf(explained)) : 'none'],
      ['Affiliate', affiliate ? badge(affiliate.archived ? 'ARCHIVED' : affiliate.status) : undefined],
      ['Commission', commission ? badge(commission.orderStatus) : 'none'],
      ['Customer', customer && html`<a href="/admin/customers/${customer}">${isolated(name)}</a>`],
      ['Order ID', html`<code>${isolated(explained.externalOrderId)}</code>`],
    ],
    'facts one',
  )
}

/** The currency of flat rates, taken from the calculation's last line. */
const flatCurrencyOf = ({ arithmetic, order }: Explanation): string =>
  arithmetic.at(-1)?.currency ?? String(order.currency)

function kind({ kind, because, candidates }: Schemas['ExplainedEvidence'], names: Names, query: URLSearchParams): Html {
  // An order with a thousand lines has a thousand products. The winner is on the first page.
  const isLong = candidates.length > PAGE_SIZE
  const ordered = isLong
    ? candidates.toSorted((a, b) => Number(b.outcome === 'WON') - Number(a.outcome === 'WON'))
    : candidates
  const { data, pagination } = slice(ordered, query, kind)
  const rows = data.map((evidence) => candidate(evidence, names))
  return html`<li>
<h3>${KINDS[kind]}</h3><p>${because}</p>
${rows.length ? table(`Candidates: ${KINDS[kind]}`, CANDIDATE, rows) : ''}${pager(PATH, query, pagination, kind)}</li>`
}

const CANDIDATE: Column[] = [
  nameColumn('Evidence'),
  nameColumn('Affiliate'),
  inCard('lead', 'Outcome'),
  wideColumn('Explanation'),
]

/** Where evidence came from. */
const SOURCES: Record<string, string> = {
  couponCode: 'Discount code',
  affiliateCode: 'Affiliate code',
  clickId: 'Click',
  ref: 'Link name',
  sessionId: 'Session’s click',
  customerId: 'Customer ID',
  customerEmail: 'Customer email',
  variantId: 'Variant',
  productId: 'Product',
}

const candidate = (evidence: Schemas['ExplainedCandidate'], names: Names): Cell[] => [
  html`<small>${SOURCES[evidence.source] ?? evidence.source}</small> <code class="break">${isolated(evidence.value)}</code>`,
  html`${evidence.affiliateId === null ? 'none' : nameIn(names, evidence.affiliateId)}${evidence.slugAffiliateId ? html` <small>also a link name of ${nameIn(names, evidence.slugAffiliateId)}</small>` : ''}`,
  badge(evidence.outcome),
  html`<small>${nameText(evidence.reasonCode)}</small>${isolated(evidence.because)}`,
]

const nameIn = (names: Names, id: string): Html => isolated(names.get(id) ?? id)

const STEPS: Record<Schemas['ArithmeticLine']['step'], string> = {
  subtotal: 'Goods',
  discount: 'Discount',
  outside: 'Excluded',
  base: 'Base',
  group: 'Rate',
  cap: 'Cap',
  restricted: 'Restricted',
  commission: 'Commission',
  tax: 'Tax',
  refund: 'Refund',
  canceled: 'Canceled',
  now: 'Current',
}

const arithmetic = (explained: Explanation): Html => {
  const columns = ['Step', wideColumn('Detail'), inCard('lead', numberColumn('Amount'))]
  // Nothing is withheld if nothing of the commission remains.
  const isWithheld = explained.arithmetic.findLast(({ step }) => step === 'now')?.cents !== 0
  const lines = explained.arithmetic.filter(({ step, cents }) => step !== 'tax' || (isWithheld && cents !== 0))
  const rows = withSumOfRefunds(lines).map(({ step, text, cents, currency }) => ({
    className: step,
    cells: [STEPS[step], step === 'restricted' ? nameText(text) : text, money(cents, currency)],
  }))
  const { tax, payable } = payableOf(explained)
  if (!payable) return table('Calculation', columns, rows, 'ledger')
  return table(
    'Calculation',
    columns,
    [...rows.filter(({ className }) => className !== 'tax'), ...tax, payable],
    'ledger',
  )
}

/**
 * What the affiliate receives: the remaining commission less tax. Later changes to a paid commission are separate rows.
 */
function payableOf({ arithmetic, commission }: Explanation) {
  const now = arithmetic.findLast(({ step }) => step === 'now')
  if (!commission || !now?.cents || now.cents !== commission.commissionAmountCents) return { tax: [] }
  const { taxWithheldCents: withheld, orderStatus, currency } = commission
  const tax = { className: 'tax', cells: ['Tax', 'Withheld from the current commission', money(-withheld, currency)] }
  const text = orderStatus === 'PAID' ? ['Paid', 'Paid to the affiliate'] : ['To pay', 'What the affiliate receives']
  const payable = { className: 'total', cells: [...text, money(now.cents - withheld, currency)] }
  return { tax: withheld ? [tax] : [], payable }
}

/** Many refunds become one line of the calculation, because the list below has each. */
function withSumOfRefunds(lines: Line[]): Line[] {
  const refunds = lines.filter(({ step }) => step === 'refund')
  const [first] = refunds
  if (!first || refunds.length <= PAGE_SIZE) return lines
  const cents = refunds.reduce((sum, line) => sum + line.cents, 0)
  const sum = { ...first, text: `${count(refunds.length)} refunds, listed below`, cents }
  return lines.flatMap((line) => (line === first ? [sum] : line.step === 'refund' ? [] : [line]))
}

const replay = ({ replay }: Explanation): Html =>
  replay.identical
    ? html`Calculated again from the stored order: the same result.`
    : html`Calculated again with the current rules of the server: another result. The recorded one counts.`
