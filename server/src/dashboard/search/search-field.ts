import { html } from '../kit/html.ts'
import { icon } from '../kit/icon.ts'

const PATH = '/admin/search'
/** Longer than any name, email address, or ID. */
export const MAX_TEXT = 320
const HINT = 'Order, affiliate, code…'

/** The menu's search field. With JavaScript, it opens the dialog. */
export const searchField = html`<form class="find" action="${PATH}" role="search" aria-label="Everything">
<button>${icon('search')}<span class="visually-hidden">Search</span></button><input type="search" name="q" placeholder="Search" aria-label="Search everything" aria-keyshortcuts="/ Control+K Meta+K" autocomplete="off" maxlength="${MAX_TEXT}"><kbd aria-hidden="true">/</kbd></form>`

/** The link to the search on small screens. */
export const searchLink = html`<a class="find" href="${PATH}" data-search>${icon('search')}<span class="visually-hidden">Search</span></a>`

/** The search field, used on the page and in the dialog. */
export const searchForm = (text: string, id: string) =>
  html`<form class="search-field" action="${PATH}">
${icon('search')}<input type="search" id="${id}" name="q" value="${text}" placeholder="${HINT}" aria-label="Search everything" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="${MAX_TEXT}" autofocus> <button>Search</button></form>`

/** The dialog that the script opens, with results as you type. */
export const searchDialog = html`<dialog id="finder" aria-label="Search everything">${searchForm('', 'search-text')}
<p class="visually-hidden" role="status"></p>
<div class="found"></div>
<p class="keys-of" aria-hidden="true"><span><kbd>↑</kbd> <kbd>↓</kbd> Move</span> <span><kbd>Enter</kbd> Open</span> <span><kbd>Esc</kbd> Close</span></p></dialog>`
