import type { Context as HonoContext } from 'hono'
import { getCookie } from 'hono/cookie'
import { ApiError, forbidden } from '../errors.ts'
import type { Env } from '../http/admit.ts'
import { countOwner, isOwnForm, ownerContext } from '../http/admit-owner.ts'
import { nameable } from '../http/body.ts'
import { type Browser, browserOf } from '../http/browser.ts'
import { countPublic } from '../http/public-window.ts'
import { refusalOf } from '../http/refusal.ts'
import type { Server } from '../http/server.ts'
import { recordAccess } from '../services/access.ts'
import { csrfTokenOf, findBySession, type Owner } from '../services/sessions.ts'
import { FLASH_COOKIE, flashCookie, forgetFlash, readFlash } from './flash.ts'
import { readForm } from './form.ts'
import { inFormWords } from './form-words.ts'
import { layout } from './layout.ts'
import { problemView, sendPage } from './problem.ts'
import type { Action, Page, Route, Visitor } from './route.ts'

type SignedIn = Required<Owner>
type Call = { c: HonoContext<Env>; server: Server; browser: Browser; owner: SignedIn; visitor: Visitor }

/** Serves one page or one of its forms to who is signed in; everybody else is asked to sign in. */
export function servePage(server: Server, route: Route) {
  return async function servePage(c: HonoContext<Env>): Promise<Response> {
    const browser = browserOf(c, server.deps.config.trustProxy)
    const owner = browser.session ? await findBySession(server.deps, browser.session) : undefined
    if (!isSignedIn(owner)) {
      await countPublic(server, c.get('visit'))
      return askToSignIn(c, route)
    }
    await countOwner(server, owner)
    const call = { c, server, browser, owner, visitor: visitorOf(server, c, owner, browser) }
    try {
      if (!route.roles.includes(owner.user.role)) throw forbidden('role_missing', 'Only an OWNER may do this.')
      return 'show' in route ? await show(call, route) : await act(call, route)
    } catch (error) {
      return refuse(call, route, error as Error)
    }
  }
}

const isSignedIn = (owner: Owner | undefined): owner is SignedIn => owner?.session !== undefined

function visitorOf({ deps }: Server, c: HonoContext<Env>, owner: SignedIn, { isHttps }: Browser): Visitor {
  const { requestId } = c.get('visit')
  return {
    ctx: ownerContext({ deps }, owner, { requestId, isHttps }),
    isOwner: owner.user.role === 'OWNER',
    csrf: csrfTokenOf(deps, owner.session),
    params: Object.fromEntries(Object.entries(c.req.param()).map(([name, text]) => [name, nameable(text)])),
    query: new URLSearchParams([...new URL(c.req.url).searchParams].map(([name, text]) => [name, nameable(text)])),
    form: new URLSearchParams(),
  }
}

async function show({ c, server, owner, visitor }: Call, { show, audit, path }: Page): Promise<Response> {
  const view = await show(visitor)
  if (audit && !view.showsNothing) await recordAccess(visitor.ctx, audit, view.subjectId ?? null)
  const cookie = getCookie(c, FLASH_COOKIE)
  if (cookie) c.header('Set-Cookie', forgetFlash(visitor.ctx.isHttps))
  const flash = readFlash(server.deps.vault, owner.session.tokenHash, cookie)
  return sendPage(c, { status: 200, page: layout(visitor, view, { path, flash }) })
}

async function act({ c, server, browser, owner, visitor }: Call, { act }: Action): Promise<Response> {
  const form = await readForm(c.req.raw)
  if (!isOwnForm(server, owner, { ...browser, csrfToken: form.get('csrf') })) {
    throw forbidden('csrf_token_invalid', 'This form did not come from a page of your session. Open the page again.')
  }
  visitor.form = form
  const { to, flash, cookie } = await act(visitor)
  if (cookie) c.header('Set-Cookie', cookie, { append: true })
  if (flash) c.header('Set-Cookie', flashCookie(visitor.ctx, owner.session.tokenHash, flash), { append: true })
  return c.redirect(to, 303)
}

/** What can be put right is told on the page of the form, with everything that was typed still there. */
async function refuse({ c, server, visitor }: Call, route: Route, thrown: Error): Promise<Response> {
  const error = refusalOf(server, thrown, visitor.ctx.requestId)
  const again = 'act' in route && [400, 404, 409].includes(error.status) ? route.again : undefined
  // The page itself may be what is gone.
  const view = (await again?.(visitor).catch(() => undefined)) ?? problemView(error)
  const problem = again ? inFormWords(error.message) : undefined
  return sendPage(c, { ...error, status: error.status, page: layout(visitor, view, { path: route.path, problem }) })
}

function askToSignIn(c: HonoContext<Env>, route: Route): Response {
  if ('act' in route) throw new ApiError(401, 'session_expired', 'The session has ended; sign in again.')
  const { pathname, search } = new URL(c.req.url)
  const next = pathname === '/admin' ? '' : `?${new URLSearchParams({ next: pathname + search })}`
  return c.redirect(`/admin/sign-in${next}`, 303)
}
