import type { Hono, Context as HonoContext } from 'hono'
import { signIn, signOut } from '../accounts/sessions.ts'
import { authorizeSignIn, browserRequestOf, sessionCookie } from '../http/authorize-owner.ts'
import { addressOwner } from '../http/body-budget.ts'
import { limitPublic } from '../http/rate-limit.ts'
import { toApiError } from '../http/response.ts'
import type { Env, Server } from '../http/server.ts'
import { input, MAX_FORM_BYTES, readForm } from './form.ts'
import { type Html, html } from './html.ts'
import { bare } from './layout.ts'
import { sendPage } from './problem.ts'
import { EVERYONE, maxBytesOf, type Route } from './route.ts'

const PATH = '/admin/sign-in'

/** The one page that is for everybody. */
export function mountSignIn(app: Hono<Env>, server: Server): void {
  app.get(PATH, async (c) => {
    await limitPublic(server, c.get('request'))
    const query = new URL(c.req.url).searchParams
    const note = query.has('signed-out') ? html`<p class="notice good" role="status">You are signed out.</p>` : html``
    return sendPage(c, { status: 200, page: page(query.get('token'), wayOn(query), note) })
  })
  app.post(PATH, async (c) => {
    const { address, requestId } = c.get('request')
    const browser = browserRequestOf(c, server.deps.config.trustProxy)
    let form = new URLSearchParams()
    try {
      // Counted before anything is read: reading a form costs more than refusing it.
      await authorizeSignIn(server, address, browser)
      form = await readForm(server, c, {
        limit: maxBytesOf('createSession') ?? MAX_FORM_BYTES,
        owner: addressOwner(address),
      })
      return await enter(server, c, { form, isHttps: browser.isHttps })
    } catch (thrown) {
      const error = toApiError(server, thrown as Error, requestId)
      const note = html`<p class="notice bad" role="alert">${error.message}</p>`
      // A link that failed will not work later, so the page asks for a token.
      return sendPage(c, { ...error, status: error.status, page: page(null, wayOn(form), note) })
    }
  })
}

interface Attempt {
  form: URLSearchParams
  isHttps: boolean
}

async function enter(server: Server, c: HonoContext<Env>, { form, isHttps }: Attempt): Promise<Response> {
  const { requestId } = c.get('request')
  const { secret } = await signIn({ ...server.deps, requestId }, form.get('token')?.trim() ?? '')
  c.header('Set-Cookie', sessionCookie(secret, isHttps))
  return c.redirect(wayOn(form), 303)
}

/** Where to go from here: a page of ours, or the first one. */
function wayOn(given: URLSearchParams): string {
  const next = given.get('next') ?? ''
  const base = 'http://ours.invalid'
  if (!URL.canParse(next, base)) return '/admin'
  const { origin, pathname, search } = new URL(next, base)
  return origin === base && /^\/admin\/(?!v1\/|sign-)/.test(pathname) ? pathname + search : '/admin'
}

function page(token: string | null, next: string, note: Html): Html {
  const way = html`<input type="hidden" name="next" value="${next}">`
  // Scanners of mail follow links; only the button uses one up.
  if (token) {
    return bare(
      'Sign in',
      html`${note}<p class="lead">This link signs you in once. Nobody else can use it after you.</p>
<form method="post" action="${PATH}">${way}<input type="hidden" name="token" value="${token}"><button class="main">Sign in</button></form>`,
    )
  }
  return bare(
    'Sign in',
    html`${note}<form method="post" action="${PATH}">${way}
${input({ name: 'token', label: 'Owner token', type: 'password', required: true, autocomplete: 'current-password', hint: 'It starts with ro_ and was shown when your user was made. The demo keeps its own in .referral/demo.env.' })}
<button class="main">Sign in</button></form>
<p class="hint">No token at hand? Whoever runs the server makes a link that signs you in once: <code>referral-server owner link --shop … --email …</code></p>
<p class="hint">Signed in already and came by a link from elsewhere? <a href="${next}">Go on</a>.</p>`,
  )
}

export const signOutRoutes: Route[] = [
  {
    path: '/sign-out',
    roles: EVERYONE,
    act: async ({ ctx }) => {
      await signOut(ctx)
      return { to: '/admin/sign-in?signed-out=1', cookie: sessionCookie(null, ctx.isHttps) }
    },
  },
]
