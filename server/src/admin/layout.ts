import type { OwnerContext } from '../core/context.ts'
import type { Vault } from '../core/vault.ts'
import { ICON, SCRIPT, STYLE } from './assets.ts'
import { form } from './form.ts'
import { type Html, html, isolated } from './html.ts'
import type { Flash, PageRequest, View } from './route.ts'

interface PageState {
  /** Path of the route, to mark the current menu item. */
  path: string
  flash?: Flash | undefined
  /** Error message of a rejected form. */
  problem?: string | undefined
}

const MENU = [
  { path: '', label: 'Overview' },
  { path: '/commissions', label: 'Commissions' },
  { path: '/payouts', label: 'Payouts', owner: true },
  { path: '/orders', label: 'Explain' },
  { path: '/journey', label: 'Journeys' },
  { path: '/keys', label: 'API keys', owner: true },
  { path: '/webhooks', label: 'Webhooks' },
  { path: '/deliveries', label: 'Deliveries' },
]

/** Renders a page with menu, message, and heading. */
export const layout = (request: PageRequest, view: View, { path, flash, problem }: PageState): Html =>
  document(
    `${view.title} · ${request.ctx.shop.name}`,
    html`<div class="frame">
<header class="side"><div class="stick">
<p class="shop"><img src="${ICON.path}" alt="" width="28" height="28"><span>${isolated(request.ctx.shop.name)}</span></p>
<nav aria-label="Pages">
<ul>${MENU.filter((item) => request.isOwner || !item.owner).map((item) => menuItem(item, path))}</ul>
</nav>
<div class="who">
<p><span class="mail">${isolated(request.ctx.user.email)}</span> <span class="badge">${request.isOwner ? 'Owner' : 'Staff'}</span></p>
${form(request, '/admin/sign-out', html`<button class="quiet">Sign out</button>`)}
</div>
</div></header>
<main id="main" tabindex="-1">
<h1>${view.title}</h1>
${problem ? html`<p class="notice bad" role="alert">${problem}</p>` : ''}
${flash ? message(flash) : ''}
${view.body}
</main>
</div>`,
  )

/** Renders a page without a session. */
export const signedOutLayout = (title: string, body: Html): Html =>
  document(
    `${title} · Developer page`,
    html`<main id="main" class="alone" tabindex="-1">
<p class="shop"><img src="${ICON.path}" alt="" width="28" height="28"><span>Referral Program</span></p>
<h1>${title}</h1>
${body}
</main>`,
  )

const menuItem = ({ path, label }: (typeof MENU)[number], current: string): Html => {
  const isHere = path === '' ? current === '' : current === path || current.startsWith(`${path}/`)
  return html`<li><a href="/admin${path}"${isHere ? html` aria-current="page"` : ''}>${label}</a></li>`
}

const message = ({ text, secret }: Flash): Html => html`<div class="notice good" role="status">
<p>${text}</p>
${secret ? copyable('secret', secret) : ''}
${secret?.also ? html`<p class="hint">${secret.also.name}:</p>${copyable('secret-also', secret.also)}` : ''}
</div>`

const copyable = (id: string, { name, value }: { name: string; value: string }): Html =>
  html`<p class="secret"><code id="${id}" aria-label="${name}">${value}</code> <button type="button" class="small" data-copy="${id}" hidden>Copy</button></p>`

const document = (title: string, body: Html): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${ICON.path}" type="image/svg+xml">
<link rel="stylesheet" href="${STYLE.path}">
<script src="${SCRIPT.path}" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
${body}
</body>
</html>`

export const FLASH_COOKIE = 'referral_flash'
const SECONDS = 60

/**
 * Returns the `Set-Cookie` header that carries a message to the next page of this session. The value is encrypted and
 * bound to the session, because it may contain a new secret.
 */
export const flashCookie = ({ vault, isHttps }: OwnerContext, session: string, flash: Flash): string =>
  header(vault.seal(JSON.stringify(flash), bound(session)), SECONDS, isHttps)

/** Returns the `Set-Cookie` header that deletes the message after it was shown. */
export const clearFlashCookie = (isHttps: boolean): string => header('', 0, isHttps)

export function readFlash(vault: Vault, session: string, cookie: string | undefined): Flash | undefined {
  const text = cookie ? vault.open(cookie, bound(session)) : null
  return text === null ? undefined : JSON.parse(text)
}

const bound = (session: string) => `flash:${session}`

const header = (value: string, age: number, isHttps: boolean) =>
  `${FLASH_COOKIE}=${value}; Path=/admin; Max-Age=${age}; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`
