import { affiliateNames } from '../affiliates/affiliates.ts'
import { explain } from '../commissions/explain.ts'
import type { components } from '../contract/schema.d.ts'
import { field, input } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import { type PageRequest, type Route, rolesAndAuditOf, type View } from './route.ts'
import { badge, empty, money, time } from './show.ts'
import { type Cell, type Column, nameColumn, numberColumn, table, wideColumn } from './table.ts'

const PATH = '/admin/orders'

export const orderRoutes: Route[] = [{ path: '/orders', ...rolesAndAuditOf('explainOrder'), show }]

async function show(request: PageRequest): Promise<View> {
  const id = field(request.query, 'id')
  const search = html`<form class="filters" method="get" action="${PATH}">
${input({ name: 'id', label: 'Order id', value: id, required: true, maxlength: 260, placeholder: '1001' })}
<button class="main">Explain</button></form>`
  if (!id) {
    const next = 'Enter an order id, or follow a link on the commissions page.'
    const body = html`<p class="lead">Shows how an order was attributed and how its commission was calculated.</p>${search}${empty('No order selected', next)}`
    return { title: 'Explain an order', body, isEmpty: true }
  }
  const found = await explain(request.ctx, id)
  const candidates = found.evidence.flatMap((kind) => kind.candidates)
  const names = await affiliateNames(
    request.ctx,
    candidates.flatMap(({ affiliateId, slugAffiliateId }) =>
      [affiliateId, slugAffiliateId].flatMap((one) => one ?? []),
    ),
  )
  const body = html`${search}${explanation(found, names)}`
  return { title: `Order ${found.externalOrderId}`, body, subjectId: found.orderId }
}

type Schemas = components['schemas']
type Explanation = Schemas['Explanation']
/** The names of affiliates by id. */
type Names = Map<string, string>

const KINDS: Record<Schemas['EvidenceKind'], string> = {
  COUPON: 'Coupon',
  DIRECT_LINK: 'Link',
  CONNECTED_CUSTOMER: 'Connected customer',
  CONNECTED_PRODUCT: 'Connected product',
}

/** Explains an order: the decision, the evidence considered, and the calculation line by line. */
export const explanation = (
  found: Explanation,
  names: Names,
): Html => html`<section class="card" aria-labelledby="decision"><h2 id="decision">Decision</h2>
<p class="lead">${badge(found.outcome)} ${found.summary}</p>
${found.restriction ? html`<p><code>${found.restriction.code}</code> ${found.restriction.because}</p>` : ''}
${facts(found, names)}</section>
<h2>Evidence</h2>
<p class="hint">In your shop’s order of precedence. The first kind with valid evidence wins. If there are several clicks, the ${found.clickTouch.toLowerCase()} one counts.</p>
<ol class="evidence">${found.evidence.map((one) => kind(one, names))}</ol>
<h2>Calculation</h2>
${arithmetic(found)}
<p class="hint">${replay(found)}</p>`

const facts = (found: Explanation, names: Names): Html => {
  const { affiliate, program, commission } = found
  return html`<dl class="facts">
<div><dt>Received</dt><dd>${time(found.receivedAt)}</dd></div>
<div><dt>Stored as</dt><dd><code>${isolated(found.orderId)}</code></dd></div>
<div><dt>Affiliate</dt><dd>${affiliate ? html`${nameIn(names, affiliate.id)} ${badge(affiliate.archived ? 'ARCHIVED' : affiliate.status)}` : 'none'}</dd></div>
<div><dt>Program at that time</dt><dd>${program ? rate(program, flatCurrencyOf(found)) : 'none'}</dd></div>
<div><dt>Current commission</dt><dd>${commission ? html`${money(commission.commissionAmountCents, commission.currency)} ${badge(commission.orderStatus)}` : 'none'}</dd></div>
</dl>`
}

/** The currency of flat rates: that of the last lines of the calculation. */
const flatCurrencyOf = ({ arithmetic, order }: Explanation): string =>
  arithmetic.at(-1)?.currency ?? String(order.currency)

function rate({ commissionType, rate }: NonNullable<Explanation['program']>, currency: string): string {
  if (commissionType === 'PERCENT_OF_SALE') return `${rate / 100}% of goods`
  return `${money(rate, currency)} ${commissionType === 'FLAT_PER_ITEM' ? 'per item' : 'per order'}`
}

const kind = ({ kind, because, candidates }: Schemas['ExplainedEvidence'], names: Names): Html => html`<li class="card">
<h3>${KINDS[kind]}</h3><p>${because}</p>
${
  candidates.length
    ? table(
        `Candidates: ${KINDS[kind]}`,
        CANDIDATE,
        candidates.map((one) => candidate(one, names)),
      )
    : ''
}</li>`

const CANDIDATE: Column[] = [
  nameColumn('Evidence'),
  nameColumn('Affiliate'),
  'Reason',
  'Outcome',
  wideColumn('Explanation'),
]

const candidate = (one: Schemas['ExplainedCandidate'], names: Names): Cell[] => [
  html`<small>${one.source}</small> <code class="break">${isolated(one.value)}</code>`,
  html`${one.affiliateId === null ? 'none' : nameIn(names, one.affiliateId)}${one.slugAffiliateId ? html` <small>also a slug of ${nameIn(names, one.slugAffiliateId)}</small>` : ''}`,
  html`<code>${one.reasonCode}</code>`,
  badge(one.outcome),
  one.because,
]

const nameIn = (names: Names, id: string): Html => isolated(names.get(id) ?? id)

const STEPS: Record<Schemas['ArithmeticLine']['step'], string> = {
  subtotal: 'Goods',
  discount: 'Discount',
  outside: 'Excluded',
  base: 'Base',
  group: 'Rate',
  restricted: 'Restricted',
  commission: 'Commission',
  tax: 'Tax',
  refund: 'Refund',
  now: 'Current',
}

const arithmetic = (found: Explanation): Html => {
  const columns = ['Step', wideColumn('Detail'), numberColumn('Amount')]
  const rows = found.arithmetic.map(({ step, text, cents, currency }) => ({
    className: step,
    cells: [STEPS[step], text, money(cents, currency)],
  }))
  return table('Calculation', columns, rows)
}

const replay = ({ replay }: Explanation): Html =>
  replay.identical
    ? html`Recomputed from the stored facts with engine ${replay.engineVersion}: identical.`
    : html`Recomputed with engine ${replay.engineVersion}: different from the recorded decision of engine ${replay.recordedEngineVersion}.`
