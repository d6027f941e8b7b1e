import type { Context as HonoContext } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ApiError } from '../contract/errors.ts'
import { PAGE_HEADERS } from './assets.ts'
import { type Html, html } from './html.ts'
import { bare } from './layout.ts'
import type { View } from './route.ts'

interface Sent {
  status: number
  page: Html
  code?: string
  retryAfter?: number | undefined
}

/** Answers with a page, and with what it may do. */
export function sendPage(c: HonoContext, { status, page, code, retryAfter }: Sent): Response | Promise<Response> {
  for (const [name, value] of Object.entries(PAGE_HEADERS)) c.header(name, value)
  if (code) c.header('X-Error-Code', code)
  if (retryAfter !== undefined) c.header('Retry-After', String(retryAfter))
  return c.html(page, status as ContentfulStatusCode)
}

const TITLES: Record<number, string> = {
  401: 'Sign in first',
  403: 'Not for you',
  404: 'Not found',
  405: 'Not possible here',
  409: 'Not possible now',
  500: 'Our fault',
  503: 'Not available',
}

export const problemView = ({ status, message }: ApiError): View => ({
  title: TITLES[status] ?? 'This did not work',
  body: html`<p class="lead">${message}</p>
<p><a class="button" href="/admin">Back to the overview</a></p>`,
})

/** For a refusal before anybody is known. */
export function problemPage({ status, code, message, retryAfter }: ApiError): Sent {
  const title = TITLES[status] ?? 'This did not work'
  const way = status === 401 ? ['/admin/sign-in', 'Sign in'] : ['/admin', 'To the Developer page']
  const page = bare(title, html`<p class="lead">${message}</p><p><a class="button" href="${way[0]}">${way[1]}</a></p>`)
  return { status, code, retryAfter, page }
}
