import type { Hono, Context as HonoContext } from 'hono'
import * as passkeys from '../../domains/accounts/passkeys.ts'
import { type NewSession, type SignInDeps, signIn, signOut } from '../../domains/accounts/sessions.ts'
import { authorizeSignIn, browserRequestOf, sessionCookie } from '../../http/authorize-owner.ts'
import { clientOf } from '../../http/client.ts'
import { limitPublic } from '../../http/rate-limit.ts'
import { toApiError } from '../../http/response.ts'
import type { Env, Server } from '../../http/server.ts'
import { input, MAX_FORM_BYTES, passkeyForm, readForm } from '../kit/form.ts'
import { type Html, html, isolated } from '../kit/html.ts'
import { ALL_ROLES, maxBytesOf, type Route, SIGN_OUT } from '../kit/route.ts'
import { urlWithQuery } from '../kit/url.ts'
import { signedOutLayout } from '../layout.ts'
import { sendPage } from '../send.ts'

const PATH = '/admin/sign-in'
export const OIDC_PATH = `${PATH}/oidc`
const PASSKEY_PATH = `${PATH}/passkey`
/** Passkey responses are one to two KiB. */
const MAX_RESPONSE_BYTES = 16 * 1024

/** Mounts the sign-in page, the only page without a session. */
export function mountSignIn(app: Hono<Env>, server: Server): void {
  app.get(PATH, async (c) => {
    await limitPublic(server, c.get('request'))
    // Most users open a page with a report next, so start the report thread now.
    server.deps.db.startReports()
    const query = new URL(c.req.url).searchParams
    const note = query.has('signed-out') ? html`<p class="notice good" role="status">You are signed out.</p>` : html``
    const linkParams = { token: query.get('token'), next: nextPath(query), note }
    return sendPage(c, { status: 200, page: page(server, linkParams) })
  })
  mountSignInForm(app, server, {
    path: PATH,
    limit: maxBytesOf('createSession') ?? MAX_FORM_BYTES,
    signIn: (deps, form) => signIn(deps, form.get('token')?.trim() ?? ''),
  })
  mountSignInForm(app, server, {
    path: PASSKEY_PATH,
    limit: MAX_RESPONSE_BYTES,
    signIn: (deps, form) => passkeys.signIn(deps, form.get('response') ?? ''),
  })
}

interface SignInForm {
  path: string
  /** The form's maximum size in bytes. */
  limit: number
  signIn: (deps: SignInDeps, form: URLSearchParams) => Promise<NewSession>
}

/** Mounts a form that signs in and then opens the requested page. */
export function mountSignInForm(app: Hono<Env>, server: Server, { path, limit, signIn }: SignInForm): void {
  app.post(path, async (c) => {
    const { address, requestId } = c.get('request')
    const browser = browserRequestOf(c, server.deps.config)
    let form = new URLSearchParams()
    try {
      // Count the attempt before reading the form, because reading costs more than rejecting.
      await authorizeSignIn(server, address, browser)
      form = await readForm(server, c, { limit, owner: `address ${address}` })
      const { secret } = await signIn({ ...server.deps, requestId, client: clientOf(c, address) }, form)
      c.header('Set-Cookie', sessionCookie(secret, browser.isHttps))
      return c.redirect(nextPath(form), 303)
    } catch (thrown) {
      return sendRejection(server, c, { thrown: thrown as Error, next: nextPath(form) })
    }
  })
}

/**
 * Sends the sign-in page with the reason for the rejection. A rejected link stays invalid, so the page asks for a
 * token.
 */
export function sendRejection(
  server: Server,
  c: HonoContext<Env>,
  { thrown, next }: { thrown: Error; next: string },
): Response | Promise<Response> {
  const error = toApiError(server, thrown, { requestId: c.get('request').requestId })
  const note = html`<p class="notice bad" role="alert">${error.message}</p>`
  return sendPage(c, { ...error, status: error.status, page: page(server, { token: null, next, note }) })
}

/** Returns the page to open after sign-in. Only paths of the dashboard are accepted. */
export function nextPath(params: URLSearchParams): string {
  const next = params.get('next') ?? ''
  const base = 'http://self.invalid'
  if (!URL.canParse(next, base)) return '/admin'
  const { origin, pathname, search } = new URL(next, base)
  return origin === base && /^\/admin\/(?!v1\/|sign-)/.test(pathname) ? pathname + search : '/admin'
}

const TOKEN_HINT = 'Starts with ro_ and was shown when your user was created.'

interface FilterValues {
  token: string | null
  next: string
  note: Html
}

function page(server: Server, { token, next, note }: FilterValues): Html {
  const way = html`<input type="hidden" name="next" value="${next}">`
  // Mail scanners follow links, so only the button redeems the token.
  if (token) {
    return signedOutLayout(
      'Sign in',
      html`${note}<p class="lead">This link works once.</p>
<form method="post" action="${PATH}">${way}<input type="hidden" name="token" value="${token}"><button class="main">Sign in</button></form>`,
    )
  }
  return signedOutLayout(
    'Sign in',
    html`${note}<form method="post" action="${PATH}">${way}
${input({ form: new URLSearchParams() }, { name: 'token', label: 'Access token', type: 'password', required: true, autocomplete: 'current-password', hint: server.deps.config.demo ? `${TOKEN_HINT} The demo shop’s token is in the server’s demo.env file.` : TOKEN_HINT })}
<button class="main">Sign in</button></form>
${withPasskey(server, way)}${withOidc(server, next)}
<p class="hint">No token? Ask an owner of your shop for a sign-in link. If you are the only owner, ask the server’s operator.</p>
<p class="hint">Already signed in? <a href="${next}">Continue</a>.</p>`,
  )
}

/** A link, because pages may not send forms to other sites. It starts at the origin registered with the provider. */
function withOidc({ deps: { config } }: Server, next: string): Html {
  if (!config.oidc) return html``
  const to = urlWithQuery(`${config.publicUrl}${OIDC_PATH}`, { next })
  return html`<p><a class="button" href="${to}"><span>Sign in with ${isolated(config.oidc.name)}</span></a></p>`
}

function withPasskey({ deps }: Server, way: Html): Html {
  const party = passkeys.relyingPartyOf(deps.config)
  if (!party) return html``
  const options = passkeys.signInOptions(deps, party)
  const inner = html`${way}<button>Sign in with a passkey</button>`
  return passkeyForm(party, { kind: 'get', action: PASSKEY_PATH, options, inner })
}

export const signOutRoutes: Route[] = [
  {
    path: SIGN_OUT,
    roles: ALL_ROLES,
    act: async ({ ctx }) => {
      await signOut(ctx)
      return { to: '/admin/sign-in?signed-out=1', cookie: sessionCookie(null, ctx.isHttps) }
    },
  },
]
