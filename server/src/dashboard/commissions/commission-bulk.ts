import { ApiError, conflict, invalidBody } from '../../contract/errors.ts'
import { rowsOf } from '../../core/lists.ts'
import { type MovableSums, moderateShown, sumMovable } from '../../domains/commissions/moderation.ts'
import { empty } from '../kit/components.ts'
import { form, hidden } from '../kit/form.ts'
import { count, counted, money } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import { type ListFilter, readFilter } from '../kit/list-page.ts'
import { figuresAsOf, loadingNotice, readForPage } from '../kit/report-cache.ts'
import type { PageRequest, Route, View } from '../kit/route.ts'
import { OWNER_ONLY, rolesAndAuditOf, validateBody } from '../kit/route.ts'
import { numberColumn, table } from '../kit/table.ts'
import { urlWithQuery } from '../kit/url.ts'
import { apiFilter, commissionList, conditionsText } from './commission-list.ts'

const LIST = '/admin/commissions'
const PATH = '/admin/commissions/all'

export const commissionBulkRoutes: Route[] = [
  { path: '/commissions/all', roles: OWNER_ONLY, audit: 'commissions.listed', show: preview },
  { path: '/commissions/all', ...rolesAndAuditOf('moderateCommissions'), act: moderateAll, page: preview },
]

/** A link to the page that approves or rejects everything that the filter matches. */
export const approveAllLink = ({ values }: ListFilter): Html =>
  values.order ? html`` : html`<a class="button main" href="${urlWithQuery(PATH, values)}">Approve or reject all…</a>`

const ACTIONS = { approve: 'approved', reject: 'rejected' } as const
type Action = keyof typeof ACTIONS
const isAction = (text: string): text is Action => Object.hasOwn(ACTIONS, text)

/** The API's filter. @throws ApiError 400 for a search by order, which the API does not have. */
function bodyOf(filter: ListFilter) {
  const { currency, min: minAmountCents, max: maxAmountCents, values } = filter
  if (values.order) throw invalidBody('Select an order’s commissions in the list.')
  return {
    ...apiFilter({ ...filter, status: 'PENDING' }),
    ...(currency && { currency }),
    ...(minAmountCents !== undefined && { minAmountCents }),
    ...(maxAmountCents !== undefined && { maxAmountCents }),
  }
}

const moderation = (action: Action, filter: ListFilter) =>
  validateBody('moderateCommissions', { action, filter: bodyOf(filter) })

const sumsOf = async (request: PageRequest, filter: ListFilter): Promise<MovableSums> =>
  sumMovable(request.ctx, 'approve', moderation('approve', filter).filter ?? {})

const total = (sums: MovableSums) => sums.reduce((all, { commissions }) => all + commissions, 0)

const inWords = (sums: MovableSums): string =>
  sums.length
    ? `${counted(total(sums), 'commission')} (${sums.map((sum) => money(sum.commissionCents, sum.currency)).join(', ')})`
    : 'none'

/** The totals as text. The form sends them back, and they are compared with the totals at that time. */
const shownText = (sums: MovableSums): string =>
  sums.map(({ currency, commissions, commissionCents }) => `${currency} ${commissions} ${commissionCents}`).join(', ')

const CHANGED =
  'The matching commissions changed after this page was shown. Nothing was changed. Review the new totals and confirm again.'

/** The filter with the affiliate's ID: the typed text may match someone else by the time the form is sent. */
const shownFilter = ({ values, affiliateId }: ListFilter) => ({
  ...values,
  ...(affiliateId && { affiliate: affiliateId }),
})

async function preview(request: PageRequest): Promise<View> {
  const { form: submitted } = request
  const list = await commissionList(request)
  const filter = await readFilter(request, list)
  const { zone } = request
  const back = urlWithQuery(LIST, filter.values)
  const conditions = conditionsText(list, filter)
  const { value: sums, readAt } = await readForPage(request.ctx, {
    key: ['bulk', filter.values, filter.affiliateId],
    // A rejected form shows fresh totals, so that the next attempt is compared with them.
    cost: submitted.size ? undefined : rowsOf({ list: 'commissions', status: 'PENDING' }),
    read: (readCtx) => sumsOf({ ...request, ctx: readCtx }, filter),
  })
  const view = {
    title: 'Approve or reject all',
    crumb: { to: back, text: 'Commissions' },
    lead: 'Every commission awaiting approval that matches the filter, on all pages of the list.',
  }
  if (!sums || filter.isSearching)
    return {
      ...view,
      body: html`${conditions}${loadingNotice('Calculating matching commissions…')}`,
    }
  if (sums.length === 0) {
    return {
      ...view,
      body: empty('No commissions awaiting approval match this filter', html`<a href="${back}">Back to the list</a>`),
    }
  }
  const rows = sums.map((sum) => [sum.currency, count(sum.commissions), money(sum.commissionCents, sum.currency)])
  return {
    ...view,
    body: html`<section class="card narrow" aria-labelledby="matches"><h2 id="matches">${counted(total(sums), 'commission')}</h2>
${conditions}
${table('Totals by currency', ['Currency', numberColumn('Commissions'), numberColumn('Commission')], rows)}
<p class="hint">${figuresAsOf(readAt, zone)} ${total(sums) > MAX_CHANGED ? `At most ${count(MAX_CHANGED)} are changed at a time, oldest first.` : 'Exactly these are changed.'} Possible duplicates must be decided one by one. If the count or total has changed by the time you confirm, nothing is changed and this page shows the new totals. Each change is recorded in the audit log.</p>
${form(
  request,
  PATH,
  html`${Object.entries(shownFilter(filter)).map(([name, value]) => hidden(name, value))}${hidden('shown', shownText(sums))}
<div class="sticky"><button name="action" value="approve" class="main">Approve ${inWords(sums)}</button> <button name="action" value="reject">Reject ${inWords(sums)}</button> <a class="button" href="${back}">Back</a></div>`,
)}</section>`,
  }
}

/** More would take longer than a browser waits for a form. */
const MAX_CHANGED = 10_000

async function moderateAll(request: PageRequest) {
  const { ctx, form: submitted } = request
  const filter = await readFilter(request, await commissionList(request))
  const action = submitted.get('action') ?? ''
  if (!isAction(action)) throw invalidBody('Choose whether to approve or reject them.')
  const { changed, before } = await moderateShown(ctx, action, {
    filter: moderation(action, filter).filter ?? {},
    areShown: (sums) => shownText(sums) === submitted.get('shown'),
    most: MAX_CHANGED,
  }).catch((error) => {
    throw error instanceof ApiError && error.code === 'concurrent_change' ? conflict(error.code, CHANGED) : error
  })
  const after = await sumsOf(request, filter)
  const text = `${counted(changed, 'commission')} ${ACTIONS[action]}. Pending before: ${inWords(before)}; pending now: ${inWords(after)}.`
  return { to: after.length ? urlWithQuery(PATH, filter.values) : urlWithQuery(LIST, filter.values), flash: { text } }
}
