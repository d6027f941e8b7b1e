import type { Context, OwnerContext } from '../core/context.ts'
import type { Vault } from '../core/vault.ts'
import { ICON, SCRIPT, STYLE, TEXT_FONT } from './assets.ts'
import { copyable } from './kit/components.ts'
import { form } from './kit/form.ts'
import { time } from './kit/format.ts'
import { type Html, html, isolated } from './kit/html.ts'
import { icon } from './kit/icon.ts'
import type { Flash, PageRequest, View } from './kit/route.ts'
import { type MENU, menuFor } from './menu.ts'
import { searchDialog, searchField, searchLink } from './search/search-field.ts'

interface PageState {
  /** The route's path, to mark the current menu item. */
  path: string
  flash?: Flash | undefined
  /** The error of a rejected form. */
  problem?: string | undefined
}

/**
 * Renders a page with menu, message, and heading. On small screens, the menu opens above the page without JavaScript.
 */
export const layout = (request: PageRequest, view: View, { path, flash, problem }: PageState): Html =>
  document(
    `${view.title} · ${shopTitle(request.ctx.shop)}`,
    html`${testBanner(request.ctx)}<div class="frame">
<header class="top">${shopName(request.ctx.shop.name)}${searchLink}<button type="button" popovertarget="menu">${icon('menu')}Menu</button></header>
<section class="side" id="menu" aria-label="Menu" popover>
${shopName(request.ctx.shop.name)}
${searchField}
<nav aria-label="Pages">${menuFor(request.isOwner).map((group) => menuGroup(group, path))}</nav>
<div class="who">
<p><span class="mail">${isolated(request.ctx.user.email)}</span> <span class="badge plain">${request.isOwner ? 'Owner' : 'Staff'}</span></p>
${form(request, '/admin/sign-out', html`<button class="quiet small">Sign out</button> <button type="button" class="quiet small" data-keys hidden>Shortcuts</button>`)}
</div></section>
<main id="main" tabindex="-1">
${heading(view)}
${problem ? html`<p class="notice bad" role="alert" id="problem">${problem}</p>` : ''}
${flash ? message(flash) : ''}
${view.body}
</main>
</div>
${searchDialog}
${keyHelp(request.isOwner)}`,
  )

const KEYS: readonly (readonly [keys: readonly string[], text: string])[] = [
  [['/'], 'Search everything'],
  [['f'], 'Filter this list'],
  [['j', 'k'], 'Next or previous row'],
  [['x'], 'Select the row'],
  [['n'], 'New, or the main action'],
  [['?'], 'These shortcuts'],
]

/** The script's keyboard shortcuts. */
const keyHelp = (isOwner: boolean): Html => {
  const pages = menuFor(isOwner).flatMap(({ items }) => items)
  const all = [...KEYS, ...pages.map(({ key, label }) => [['g', key], label] as const)]
  return html`<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">Keyboard shortcuts</h2>
<dl class="keys">${all.map(([keys, text]) => html`<div><dt>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${text}</dd></div>`)}</dl>
<label class="box"><input type="checkbox" checked> <span>Use these shortcuts in this browser</span></label>
<form method="dialog" class="row"><button>Close</button></form></dialog>`
}

/** A banner on every page of a test shop, with its clock's time. */
const testBanner = ({ shop, now }: Context): Html | string =>
  shop.isTest === 1
    ? html`<p class="testing" role="status"><strong>Test shop.</strong> Orders and payments here are not real. Its clock shows ${time(new Date(now()).toISOString(), '', shop.timeZone)}.</p>`
    : ''

const shopTitle = ({ name, isTest }: Context['shop']): string => (isTest === 1 ? `TEST · ${name}` : name)

const shopName = (name: string): Html =>
  html`<p class="shop"><img src="${ICON.path}" alt="" width="28" height="28"><span>${isolated(name)}</span></p>`

const heading = ({ title, crumb, badges, lead, actions }: View): Html => html`<div class="head"><div>
${crumb ? html`<p class="crumb"><a href="${crumb.to}">← ${isolated(crumb.text)}</a></p>` : ''}
<div class="title"><h1>${title}</h1>${badges ?? ''}</div>
${lead ? html`<p class="lead">${lead}</p>` : ''}</div>
${actions ? html`<div class="actions">${actions}</div>` : ''}</div>`

/** Renders a page without a session. */
export const signedOutLayout = (title: string, body: Html, head?: Html, shop = 'Referral Program'): Html =>
  document(
    `${title} · ${shop}`,
    html`<main id="main" class="alone" tabindex="-1">
${shopName(shop)}
<h1>${title}</h1>
${body}
</main>`,
    head,
  )

/** Renders a page without a menu, for affiliates. */
export const standaloneLayout = (ctx: Context, title: string, body: Html): Html =>
  document(
    `${title} · ${shopTitle(ctx.shop)}`,
    html`${testBanner(ctx)}<main id="main" class="wide alone" tabindex="-1">
${shopName(ctx.shop.name)}
<h1>${title}</h1>
${body}
</main>`,
  )

type Group = (typeof MENU)[number]

const menuGroup = ({ heading, items }: Group, current: string): Html =>
  html`${heading ? html`<h2>${heading}</h2>` : ''}<ul>${items.map((item) => menuItem(item, current))}</ul>`

const menuItem = ({ path, label, icon: name, key }: Group['items'][number], current: string): Html => {
  const isHere = path === '' ? current === '' : current === path || current.startsWith(`${path}/`)
  return html`<li><a href="/admin${path}" data-key="${key}"${isHere ? html` aria-current="page"` : ''}>${icon(name)}${label}</a></li>`
}

const message = ({ text, secret }: Flash): Html => html`<div class="notice good" role="status">
<p>${text}</p>
${secret ? html`<p class="secret">${copyable('secret', secret.name, secret.value)}</p>` : ''}
${secret?.also ? html`<p class="hint">${secret.also.name}:</p><p class="secret">${copyable('secret-also', secret.also.name, secret.also.value)}</p>` : ''}
</div>`

const document = (title: string, body: Html, head?: Html): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#11241c">
<title>${title}</title>
<link rel="icon" href="${ICON.path}" type="image/svg+xml">
<link rel="preload" href="${TEXT_FONT.path}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${STYLE.path}">
<script src="${SCRIPT.path}" defer></script>${head ?? ''}
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
${body}
</body>
</html>`

export const FLASH_COOKIE = 'referral_flash'
const SECONDS = 60

/**
 * Returns the `Set-Cookie` header that carries a message to this session's next page. The value is encrypted and
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
