import type { Hono, Context as HonoContext } from 'hono'
import { signIn, signOut } from '../accounts/sessions.ts'
import type { Client } from '../core/context.ts'
import { authorizeSignIn, browserRequestOf, sessionCookie } from '../http/authorize-owner.ts'
import { clientOf } from '../http/client.ts'
import { limitPublic } from '../http/rate-limit.ts'
import { addressOwner } from '../http/read-body.ts'
import { toApiError } from '../http/response.ts'
import type { Env, Server } from '../http/server.ts'
import { input, MAX_FORM_BYTES, readForm } from './form.ts'
import { type Html, html } from './html.ts'
import { signedOutLayout } from './layout.ts'
import { sendPage } from './problem.ts'
import { ALL_ROLES, maxBytesOf, type Route, SIGN_OUT } from './route.ts'

const PATH = '/admin/sign-in'

/** Mounts the sign-in page, the only page without a session. */
export function mountSignIn(app: Hono<Env>, server: Server): void {
  app.get(PATH, async (c) => {
    await limitPublic(server, c.get('request'))
    const query = new URL(c.req.url).searchParams
    const note = query.has('signed-out') ? html`<p class="notice good" role="status">You are signed out.</p>` : html``
    return sendPage(c, { status: 200, page: page(query.get('token'), nextPath(query), note) })
  })
  app.post(PATH, async (c) => {
    const { address, requestId } = c.get('request')
    const browser = browserRequestOf(c, server.deps.config.trustProxy)
    let form = new URLSearchParams()
    try {
      // Count the attempt before reading the form, because reading costs more than rejecting.
      await authorizeSignIn(server, address, browser)
      form = await readForm(server, c, {
        limit: maxBytesOf('createSession') ?? MAX_FORM_BYTES,
        owner: addressOwner(address),
      })
      return await startSession(server, c, { form, isHttps: browser.isHttps, client: clientOf(c, address) })
    } catch (thrown) {
      const error = toApiError(server, thrown as Error, { requestId })
      const note = html`<p class="notice bad" role="alert">${error.message}</p>`
      // A rejected link stays invalid, so the page asks for a token.
      return sendPage(c, { ...error, status: error.status, page: page(null, nextPath(form), note) })
    }
  })
}

interface Attempt {
  form: URLSearchParams
  isHttps: boolean
  client: Client
}

async function startSession(
  server: Server,
  c: HonoContext<Env>,
  { form, isHttps, client }: Attempt,
): Promise<Response> {
  const { requestId } = c.get('request')
  const { secret } = await signIn({ ...server.deps, requestId, client }, form.get('token')?.trim() ?? '')
  c.header('Set-Cookie', sessionCookie(secret, isHttps))
  return c.redirect(nextPath(form), 303)
}

/** Returns the page to open after sign-in. Only paths of the Developer page are accepted. */
function nextPath(given: URLSearchParams): string {
  const next = given.get('next') ?? ''
  const base = 'http://self.invalid'
  if (!URL.canParse(next, base)) return '/admin'
  const { origin, pathname, search } = new URL(next, base)
  return origin === base && /^\/admin\/(?!v1\/|sign-)/.test(pathname) ? pathname + search : '/admin'
}

function page(token: string | null, next: string, note: Html): Html {
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
${input({ name: 'token', label: 'Owner token', type: 'password', required: true, autocomplete: 'current-password', hint: 'Starts with ro_ and was shown when your user was created. The token of the demo shop is in .referral/demo.env.' })}
<button class="main">Sign in</button></form>
<p class="hint">No token? The operator of the server can create a one-time sign-in link: <code>referral-server owner link --shop … --email …</code></p>
<p class="hint">Already signed in? <a href="${next}">Continue</a>.</p>`,
  )
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
