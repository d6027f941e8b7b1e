import type { Hono, Context as HonoContext } from 'hono'
import { getCookie } from 'hono/cookie'
import * as oidc from '../../domains/accounts/oidc.ts'
import { authorizeSignIn, browserRequestOf, sessionCookie } from '../../http/authorize-owner.ts'
import { clientOf } from '../../http/client.ts'
import { limitPublic } from '../../http/rate-limit.ts'
import type { Env, Server } from '../../http/server.ts'
import { hidden } from '../kit/form.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { nameOf } from '../kit/status.ts'
import { signedOutLayout } from '../layout.ts'
import { sendPage } from '../send.ts'
import { mountSignInForm, nextPath, OIDC_PATH, sendRejection } from './sign-in.ts'

const COOKIE = 'referral_oidc'
const CHOICE_PATH = `${OIDC_PATH}/choice`
const MAX_CHOICE_BYTES = 4096

/** Mounts OpenID Connect sign-in if a provider is configured. */
export function mountOidc(app: Hono<Env>, server: Server): void {
  const { config } = server.deps
  if (!config.oidc) return
  app.get(OIDC_PATH, async (c) => {
    const { requestId } = c.get('request')
    await limitPublic(server, c.get('request'))
    const next = nextPath(new URL(c.req.url).searchParams)
    try {
      const { url, attempt } = await oidc.begin({ ...server.deps, requestId }, next)
      c.header('Set-Cookie', cookie(attempt, isHttps(server, c)))
      return c.redirect(url, 303)
    } catch (thrown) {
      return sendRejection(server, c, { thrown: thrown as Error, next })
    }
  })
  app.get(oidc.CALLBACK_PATH, (c) => finish(server, c))
  mountSignInForm(app, server, {
    path: CHOICE_PATH,
    limit: MAX_CHOICE_BYTES,
    signIn: (deps, form) => oidc.signIn(deps, form.get('proof') ?? ''),
  })
}

async function finish(server: Server, c: HonoContext<Env>): Promise<Response> {
  const { address, requestId } = c.get('request')
  const browser = browserRequestOf(c, server.deps.config)
  c.header('Set-Cookie', cookie('', browser.isHttps))
  try {
    // The request comes from another site. The attempt in the cookie proves that this browser started it.
    await authorizeSignIn(server, address, { ...browser, isCrossSite: false })
    const { search } = new URL(c.req.url)
    const deps = { ...server.deps, requestId, client: clientOf(c, address) }
    const { choices, next } = await oidc.finish(deps, { search, attempt: getCookie(c, COOKIE) ?? '' })
    const [first, ...others] = choices
    if (!first || others.length > 0) return sendPage(c, { status: 200, page: choicePage(choices, next) })
    const { secret } = await oidc.signIn(deps, first.proof)
    c.header('Set-Cookie', sessionCookie(secret, browser.isHttps), { append: true })
    return sendPage(c, { status: 200, page: continuePage(next) })
  } catch (thrown) {
    return sendRejection(server, c, { thrown: thrown as Error, next: '/admin' })
  }
}

/** Browsers omit the session cookie on a redirect that started on another site, so this page links onward. */
const continuePage = (next: string): Html =>
  signedOutLayout(
    'Signed in',
    html`<p><a class="button main" href="${next}">Continue</a></p>`,
    html`<meta http-equiv="refresh" content="0; url=${next}">`,
  )

const choicePage = (choices: oidc.Choice[], next: string): Html =>
  signedOutLayout(
    'Choose a shop',
    html`${choices.map(
      ({ shop, role, proof }) =>
        html`<form method="post" action="${CHOICE_PATH}">${hidden('proof', proof)}${hidden('next', next)}<button>${isolated(shop)} <small>${nameOf(role)}</small></button></form>`,
    )}`,
  )

const isHttps = (server: Server, c: HonoContext<Env>): boolean => browserRequestOf(c, server.deps.config).isHttps

/** `Lax`, because the provider redirects back from another site. */
const cookie = (value: string, isHttps: boolean): string =>
  `${COOKIE}=${value}; Path=${OIDC_PATH}; Max-Age=${value ? oidc.ATTEMPT_MS / 1000 : 0}; HttpOnly; SameSite=Lax${isHttps ? '; Secure' : ''}`
