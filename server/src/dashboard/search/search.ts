import { empty } from '../kit/components.ts'
import { field } from '../kit/form.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { loadingNotice } from '../kit/report-cache.ts'
import { ALL_ROLES, type PageRequest, type Route, type View } from '../kit/route.ts'
import { MAX_TEXT, searchForm } from './search-field.ts'
import { type Found, findAnything, type Hits, pagesNamed } from './search-hits.ts'

export const searchRoutes: Route[] = [{ path: '/search', roles: ALL_ROLES, audit: 'search.shown', show }]

async function show(request: PageRequest): Promise<View> {
  const text = spelled((field(request.query, 'q') ?? '').slice(0, MAX_TEXT))
  const { kinds, isSearching }: Found = text
    ? await findAnything(request, text)
    : { kinds: [pagesNamed(request.isOwner, '')], isSearching: false }
  return {
    title: 'Search',
    lead: 'Orders, affiliates, codes, programs, payouts by month, payment references, IDs, and pages.',
    skipAudit: !text,
    body: html`${searchForm(text, 'q')}
<div class="found">${kinds.map(section)}
${isSearching ? loadingNotice('Searching names and codes…') : ''}
${kinds.length || isSearching ? '' : empty(html`Nothing matches ${isolated(text)}`, 'Search for a name, an email address, a code, an order, or an id.', 'search')}</div>`,
  }
}

/** Lowercases an ID, because IDs are often pasted in another case. Other text is unchanged. */
const spelled = (text: string): string =>
  text.replace(
    /^([a-z]{3}_)([0-9a-z]{26})$/i,
    (_all, prefix: string, id: string) => prefix.toLowerCase() + id.toUpperCase(),
  )

const section = ({ kind, hits, all }: Hits): Html =>
  html`<section aria-label="${kind}"><h2>${kind}</h2><ul>${hits.map(
    ({ to, text, about }) =>
      html`<li><a href="${to}"><span>${text}</span>${about ? html` <small>${about}</small>` : ''}</a></li>`,
  )}${all ? html`<li><a href="${all}" class="all">Show all</a></li>` : ''}</ul></section>`
