import { count } from './format.ts'
import { type Html, html } from './html.ts'
import { type IconName, icon } from './icon.ts'
import { urlWithQuery } from './url.ts'

/** Renders an empty state: what is missing, and what to do. */
export const empty = (title: Html | string, next: Html | string, name?: IconName): Html =>
  html`<div class="empty">${name ? icon(name) : ''}<p><strong>${title}</strong></p><p>${next}</p></div>`

/** Renders text with a copy button. */
export const copyable = (id: string, label: string, value: string): Html =>
  html`<span class="copy"><code id="${id}" aria-label="${label}">${value}</code> <button type="button" class="small" data-copy="${id}" hidden>Copy<span class="visually-hidden"> ${label}</span></button></span>`

/** Renders names and values, without undefined values. */
export const facts = (
  list: (readonly [name: string, value: Html | Html[] | string | number | undefined])[],
  kind = 'facts',
): Html =>
  html`<dl class="${kind}">${list
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

interface TabLink {
  to: string
  text: string
  isCurrent: boolean
  /** The number of rows, if it is known without reading them. */
  count?: number | undefined
}

/** The active filters, each a link that removes it. */
export function chips(
  path: string,
  query: Record<string, string | undefined>,
  names: Record<string, Html | string>,
): Html {
  const set = Object.keys(names).filter((name) => query[name])
  if (set.length === 0) return html``
  const without = (some: string[]) =>
    urlWithQuery(path, Object.fromEntries(Object.entries(query).filter(([name]) => !some.includes(name))))
  return html`<ul class="chips" aria-label="Filters">${set.map((name) => html`<li><a href="${without([name])}">${names[name]}<span class="visually-hidden"> (remove)</span></a></li>`)}${set.length > 1 ? html`<li><a class="all" href="${without(set)}">Clear all</a></li>` : ''}</ul>`
}

/** The number of rows with a tab's status, or of all. */
export function countOf(counts: Map<string, number> | undefined, status: string | undefined): number | undefined {
  if (!counts) return undefined
  return status === undefined ? [...counts.values()].reduce((sum, count) => sum + count, 0) : (counts.get(status) ?? 0)
}

/** Links that filter one list. The current one is marked. */
export const tabs = (label: string, links: TabLink[], kind: 'tabs' | 'segments' = 'tabs'): Html =>
  html`<nav class="${kind}" aria-label="${label}"><ul>${links.map(
    ({ to, text, isCurrent, count: rows }) =>
      html`<li><a href="${to}"${isCurrent ? html` aria-current="true"` : ''}>${text}${rows === undefined ? '' : html` <span class="count">${count(rows)}</span>`}</a></li>`,
  )}</ul></nav>`
