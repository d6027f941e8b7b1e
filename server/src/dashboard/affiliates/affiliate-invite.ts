import type { components } from '../../contract/schema.d.ts'
import { createPortalLink } from '../../domains/affiliates/portal-link.ts'
import { dayText } from '../kit/format.ts'
import { type Html, html } from '../kit/html.ts'
import type { InviteMessage, PageRequest } from '../kit/route.ts'
import { linkOf } from '../kit/url.ts'

type Affiliate = components['schemas']['Affiliate']

/** How long the first message's link to the affiliate's own page is valid: a week. */
const FIRST_HOURS = 168

const isApproved = (status: Affiliate['status']) => status === 'APPROVED' || status === 'ACTIVE'

/**
 * The data for the first message to an affiliate; undefined before they are approved, because they earn nothing yet.
 */
export async function firstInvite(
  { ctx, origin }: PageRequest,
  { id, status }: Affiliate,
): Promise<InviteMessage | undefined> {
  return isApproved(status) ? inviteWith(id, { ...(await createPortalLink(ctx, id, FIRST_HOURS)), origin }) : undefined
}

/** A message with a link to the affiliate's own page. */
export const inviteWith = (
  affiliateId: string,
  { origin, path, expiresAt }: { origin: string; path: string; expiresAt: string },
): InviteMessage => ({ affiliateId, address: origin + path, expiresAt })

/** A message with the affiliate's link, code, and own page, to copy or to open in a mail program. */
export function inviteCard({ ctx, zone, flash }: PageRequest, affiliate: Affiliate): Html {
  // A form's message can be shown on another affiliate's page. This link is only for its own affiliate.
  if (flash?.invite?.affiliateId !== affiliate.id || !isApproved(affiliate.status)) return html``
  const { address, expiresAt } = flash.invite
  const link = linkOf(ctx.shop, affiliate.slug)
  const subject = `Your link and code for ${ctx.shop.name}`
  const lines = [
    `Hello ${affiliate.firstName ?? affiliate.name},`,
    '',
    `This is how you refer customers to ${ctx.shop.name}.`,
    '',
    link.startsWith('?') ? `Your link: any page of the shop with ${link} at its end` : `Your link: ${link}`,
    `Your code: ${affiliate.discountCode}`,
    '',
    `Your orders and your balance, until ${dayText(expiresAt, zone)}:`,
    address,
  ].map((line) => line.replace(/\s+/g, ' '))
  // Mail programs expect CRLF. The address is encoded so that it cannot add a header.
  const mail = `mailto:${encodeURIComponent(affiliate.email)}?subject=${encodeURIComponent(subject.replace(/\s+/g, ' '))}&body=${encodeURIComponent(lines.join('\r\n'))}`
  return html`<section class="card" aria-labelledby="invite-title"><h2 id="invite-title">Message to the affiliate</h2>
<pre id="invite" class="invite">${lines.join('\n')}</pre>
<p class="row"><a class="button main" href="${mail}">Open in mail</a> <button type="button" data-copy="invite" hidden>Copy</button></p></section>`
}
