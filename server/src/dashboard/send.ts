import type { Context as HonoContext } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ApiError } from '../contract/errors.ts'
import { PAGE_HEADERS } from './assets.ts'
import { empty } from './kit/components.ts'
import { type Html, html } from './kit/html.ts'
import type { IconName } from './kit/icon.ts'
import type { FileDownload, View } from './kit/route.ts'
import { signedOutLayout } from './layout.ts'

interface PageResponse {
  status: number
  page: Html | string
  code?: string
  retryAfter?: number | undefined
}

/** Sends a page with its security headers. */
export function sendPage(
  c: HonoContext,
  { status, page, code, retryAfter }: PageResponse,
): Response | Promise<Response> {
  for (const [name, value] of Object.entries(PAGE_HEADERS)) c.header(name, value)
  if (code) c.header('X-Error-Code', code)
  if (retryAfter !== undefined) c.header('Retry-After', String(retryAfter))
  return c.html(page, status as ContentfulStatusCode)
}

/** Sends a file that browsers save. */
export const sendFile = (c: HonoContext, { name, type = 'text/csv; charset=utf-8', content }: FileDownload): Response =>
  c.body(content, 200, {
    ...PAGE_HEADERS,
    'Content-Type': type,
    'Content-Disposition': `attachment; filename="${name.replace(/[^\w.-]/g, '_')}"`,
  })

const TITLES: Record<number, string> = {
  401: 'Sign in required',
  403: 'Permission denied',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  500: 'Internal error',
  503: 'Temporarily unavailable',
}

const ICONS: Readonly<Record<number, IconName>> = { 403: 'account', 404: 'search' }

/** A page's subject by the first part of its path. */
const SUBJECTS: Readonly<Record<string, string>> = {
  audit: 'the audit log',
  keys: 'API keys',
  'payout-files': 'payment files',
  settings: 'the shop’s settings',
  team: 'the team',
  'test-shops': 'test shops',
}
/** Pages that staff can see, but not change. */
const OF_STAFF = /^(orders|commissions|affiliates|programs|coupons|webhooks|deliveries)$/

/** The message for staff who open a page or send a form that is reserved for owners. */
export function forbiddenText(path: string): string {
  const [, part = ''] = path.split('/')
  const verb = OF_STAFF.test(part) ? 'change' : 'see'
  return `Only an owner can ${verb} ${SUBJECTS[part] ?? part}. Ask an owner of your shop.`
}

const LIST = /^\/(orders|commissions|affiliates|programs|payouts|webhooks|deliveries|keys)\b/

/** @param path the route's path. After a 404, the page links to the list under this path. */
export function problemView(status: number, message: string, path: string): View {
  const list = status === 404 ? (LIST.exec(path)?.[0] ?? '') : ''
  return {
    title: TITLES[status] ?? 'Request failed',
    body: empty(
      message,
      html`<a class="button" href="/admin${list}">${list ? 'Back to the list' : 'Back to the overview'}</a>`,
      ICONS[status] ?? 'overview',
    ),
  }
}

/** The page for an error that occurs before the session is known. */
export function problemPage({ status, code, message, retryAfter }: ApiError): PageResponse {
  const title = TITLES[status] ?? 'Request failed'
  const way = status === 401 ? ['/admin/sign-in', 'Sign in'] : ['/admin', 'Open the dashboard']
  const page = signedOutLayout(
    title,
    html`<p class="lead">${message}</p><p><a class="button" href="${way[0]}">${way[1]}</a></p>`,
  )
  return { status, code, retryAfter, page }
}
