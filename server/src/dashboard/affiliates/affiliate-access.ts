import { createPortalLink, LINK_HOURS } from '../../domains/affiliates/portal-link.ts'
import { createToken, revokeTokens, TOKEN_SCOPES } from '../../domains/affiliates/tokens.ts'
import { form, select } from '../kit/form.ts'
import { type Html, html } from '../kit/html.ts'
import { OWNER_ONLY, type PageRequest, type Route, rolesAndAuditOf, type Show, validateBody } from '../kit/route.ts'
import { inviteWith } from './affiliate-invite.ts'

const LIST = '/admin/affiliates'

/** @param page of the affiliate */
export const affiliateAccessRoutes = (page: Show): Route[] => [
  { path: '/affiliates/:id/link', roles: OWNER_ONLY, act: createLink, page },
  { path: '/affiliates/:id/tokens', ...rolesAndAuditOf('createAdminAffiliateToken'), act: create, page },
  { path: '/affiliates/:id/tokens/revoke', ...rolesAndAuditOf('revokeAffiliateTokens'), act: revoke, page },
]

const NAMED_HOURS = new Map([
  [1, 'for an hour'],
  [24, 'for a day'],
  [168, 'for a week'],
])
const LINK_OPTIONS = LINK_HOURS.map((hours) => [String(hours), NAMED_HOURS.get(hours) ?? `for ${hours} hours`] as const)
const DEFAULT_HOURS = '24'

const TOKEN_SECONDS = [
  ['3600', 'for an hour'],
  ['86400', 'for a day'],
] as const

/** Gives affiliates access to their own data: a link to a page on this server, or a token for the merchant's site. */
export const accessCard = (request: PageRequest, { id }: { id: string }): Html =>
  html`<section class="card" aria-labelledby="own"><h2 id="own">Their own page</h2>
<p class="hint">A page you can share with the affiliate. It shows only their link, code, orders, and balance.</p>
${form(request, `${LIST}/${id}/link`, html`${select('hours', 'Valid', LINK_OPTIONS, DEFAULT_HOURS)}<button>Create a link</button>`)}
<details><summary>Access token for your own site</summary>
<p class="hint">With a token, your site reads the API for this affiliate only. The token can be sent to a browser.</p>
${form(request, `${LIST}/${id}/tokens`, html`${select('expiresInSeconds', 'Valid', TOKEN_SECONDS, '3600')}<button>Create a token</button>`)}</details>
<details><summary>Revoke access</summary>
<p class="hint">Revokes every existing link and token of this affiliate.</p>
${form(request, `${LIST}/${id}/tokens/revoke`, html`<button class="danger">Revoke links and tokens</button>`)}</details></section>`

async function createLink({ ctx, params, form, origin }: PageRequest) {
  const id = params.id ?? ''
  const page = await createPortalLink(ctx, id, Number(form.get('hours') ?? DEFAULT_HOURS))
  const invite = inviteWith(id, { ...page, origin })
  const secret = { name: 'Link to their own page', value: invite.address }
  return { to: `${LIST}/${id}`, flash: { text: 'Send this link to the affiliate.', secret, invite } }
}

async function create({ ctx, params, form }: PageRequest) {
  const id = params.id ?? ''
  const body = { expiresInSeconds: Number(form.get('expiresInSeconds') ?? TOKEN_SECONDS[0][0]) }
  const { expiresInSeconds } = validateBody('createAdminAffiliateToken', body)
  const { token: value } = await createToken(ctx, id, { expiresInSeconds, scopes: TOKEN_SCOPES })
  const text = 'Token created. Copy it now; it is shown only once.'
  return { to: `${LIST}/${id}`, flash: { text, secret: { name: 'The affiliate’s token', value } } }
}

async function revoke({ ctx, params }: PageRequest) {
  const { id } = await revokeTokens(ctx, params.id ?? '')
  return { to: `${LIST}/${id}`, flash: { text: 'Links and tokens revoked.' } }
}
