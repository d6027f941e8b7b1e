import type { Context as HonoContext } from 'hono'
import { getCookie } from 'hono/cookie'
import { ApiError, forbidden } from '../contract/errors.ts'
import type { OwnerContext } from '../core/context.ts'
import { recordAccess } from '../core/mutate.ts'
import type { Reader } from '../database/database.ts'
import type { SessionRow } from '../database/tables.ts'
import { csrfTokenOf, findBySession, type Owner } from '../domains/accounts/sessions.ts'
import {
  type BrowserRequest,
  browserRequestOf,
  isSameSiteWithCsrfToken,
  limitOwner,
  ownerContext,
  requireActive,
  requireRole,
  sessionExpired,
} from '../http/authorize-owner.ts'
import { toLookupText } from '../http/parse-request.ts'
import { limitPublic } from '../http/rate-limit.ts'
import { toApiError } from '../http/response.ts'
import { type Env, logFields, type Server } from '../http/server.ts'
import { MAX_FORM_BYTES, readForm, readUpload } from './kit/form.ts'
import { Problem } from './kit/problem.ts'
import { invalidate } from './kit/report-cache.ts'
import { type Action, type Page, type PageRequest, type Route, type Show, SIGN_OUT } from './kit/route.ts'
import { PageOutOfRange } from './kit/table.ts'
import { clearFlashCookie, FLASH_COOKIE, flashCookie, layout, readFlash } from './layout.ts'
import { forbiddenText, problemView, sendFile, sendPage } from './send.ts'

type SignedIn = Owner & { session: SessionRow }
const isSessionOver = (error: unknown) => error instanceof ApiError && error.code === 'session_expired'
type Call = { c: HonoContext<Env>; server: Server; browser: BrowserRequest; owner: SignedIn; request: PageRequest }

/** Serves a page or form to signed-in users and redirects others to the sign-in page. */
export function servePage(server: Server, route: Route) {
  return async function servePage(c: HonoContext<Env>): Promise<Response> {
    const browser = browserRequestOf(c, server.deps.config)
    const find = (db: Reader) => signedIn(server, db, browser)
    const owner = await find(server.deps.db.read).catch(async (error) => {
      await limitPublic(server, c.get('request'))
      return askToSignIn(c, route, error)
    })
    if (owner instanceof Response) return owner
    await limitOwner(server, owner)
    const { requestId } = c.get('request')
    const isAllowedWhileSuspended = 'show' in route || route.path === SIGN_OUT
    const access = { roles: route.roles, isAllowedWhileSuspended }
    const ctx = ownerContext(server, owner, { requestId, isHttps: browser.isHttps, find, ...access })
    const call = { c, server, browser, owner, request: pageRequestOf(c, owner, ctx, browser) }
    try {
      requireRole(route, owner)
      requireActive(access, owner)
      return 'show' in route ? await show(call, route) : await act(call, route)
    } catch (error) {
      if (error instanceof PageOutOfRange && 'show' in route) return c.redirect(error.to, 303)
      return renderError(call, route, error as Error)
    }
  }
}

/** @throws ApiError 401 `session_expired`. */
async function signedIn({ deps }: Server, db: Reader, { session }: BrowserRequest): Promise<SignedIn> {
  const owner = session === null ? undefined : await findBySession(deps, db, session)
  if (!owner?.session) throw sessionExpired()
  return { ...owner, session: owner.session }
}

function pageRequestOf(
  c: HonoContext<Env>,
  owner: SignedIn,
  ctx: OwnerContext,
  { origin }: BrowserRequest,
): PageRequest {
  return {
    ctx,
    isOwner: owner.user.role === 'OWNER',
    csrf: csrfTokenOf(ctx, owner.session),
    zone: ctx.shop.timeZone,
    origin,
    params: Object.fromEntries(Object.entries(c.req.param()).map(([name, text]) => [name, toLookupText(text)])),
    query: new URLSearchParams([...new URL(c.req.url).searchParams].map(([name, text]) => [name, toLookupText(text)])),
    form: new URLSearchParams(),
  }
}

async function show({ c, server, owner, request }: Call, { show, audit, path }: Page): Promise<Response> {
  const cookie = getCookie(c, FLASH_COOKIE)
  const flash = readFlash(server.deps.vault, owner.session.tokenHash, cookie)
  if (flash) request.flash = flash
  const view = await show(request)
  if (audit && !view.skipAudit) await recordAccess(request.ctx, audit, view.subjectId ?? null)
  else await request.ctx.recheck(request.ctx.db.read)
  if (view.download) return sendFile(c, view.download)
  if (cookie) c.header('Set-Cookie', clearFlashCookie(request.ctx.isHttps))
  return sendPage(c, { status: 200, page: layout(request, view, { path, flash }) })
}

async function act({ c, server, browser, owner, request }: Call, route: Action): Promise<Response> {
  const form = await readSent({ c, server, owner, request }, route)
  if (!isSameSiteWithCsrfToken(server, owner, { ...browser, csrfToken: form.get('csrf') })) {
    throw forbidden('csrf_token_invalid', 'This form does not belong to your session. Reload the page and try again.')
  }
  request.form = form
  const done = await route.act(request)
  invalidate(request.ctx)
  if ('body' in done) return sendPage(c, { status: 200, page: layout(request, done, { path: route.path }) })
  const { to, flash, cookie } = done
  if (cookie) c.header('Set-Cookie', cookie, { append: true })
  if (flash) c.header('Set-Cookie', flashCookie(request.ctx, owner.session.tokenHash, flash), { append: true })
  return c.redirect(to, 303)
}

async function readSent(
  { c, server, owner, request }: Pick<Call, 'c' | 'server' | 'owner' | 'request'>,
  { maxUploadBytes }: Action,
): Promise<URLSearchParams> {
  const expected = { limit: maxUploadBytes ?? MAX_FORM_BYTES, owner: `shop ${owner.shop.id}` as const }
  if (maxUploadBytes === undefined) return readForm(server, c, expected)
  const { fields, file } = await readUpload(server, c, expected)
  request.file = file
  return fields
}

/** Shows a correctable error on the form's page, with the input preserved. */
async function renderError({ c, server, request }: Call, route: Route, thrown: Error): Promise<Response> {
  const reason = 'act' in route ? await findSessionError(request.ctx).then((ended) => ended ?? thrown) : thrown
  if (isSessionOver(reason)) return askToSignIn(c, route, reason)
  const error = toApiError(server, reason, logFields(c.get('request')))
  const problem = new Problem(error)
  const again = pageAgain(route, error)
  if (again) request['show' in route ? 'problem' : 'formProblem'] = problem
  // The form's page may no longer exist.
  const view = await again?.(request).catch(() => undefined)
  const text = error.code === 'role_missing' ? forbiddenText(route.path) : problem.text
  const page = view
    ? layout(request, view, { path: route.path, problem: problem.text })
    : layout(request, problemView(error.status, text, route.path), { path: route.path })
  return sendPage(c, { ...error, status: error.status, page })
}

/** The page to show again: the rejected form's, or the one whose filter was rejected. */
function pageAgain(route: Route, { status, field }: ApiError): Show | undefined {
  if ('act' in route) return [400, 404, 409].includes(status) ? route.page : undefined
  return route.hasFilter && field !== undefined ? route.show : undefined
}

/** Returns the error if the session ended while the form was in transit. */
const findSessionError = (ctx: OwnerContext): Promise<Error | undefined> =>
  ctx.recheck(ctx.db.read).then(
    () => undefined,
    (error: Error) => error,
  )

function askToSignIn(c: HonoContext<Env>, route: Route, error: Error): Response {
  if ('act' in route || !isSessionOver(error)) throw error
  const { pathname, search } = new URL(c.req.url)
  const next = pathname === '/admin' ? '' : `?${new URLSearchParams({ next: pathname + search })}`
  return c.redirect(`/admin/sign-in${next}`, 303)
}
