import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'

export const SESSION_COOKIE = 'referral_session'
const SESSION_SECONDS = 12 * 3600

/** What a browser sends along by itself, and what it says about where a call comes from. */
export interface Browser {
  session: string | null
  csrfToken: string | null
  /** The call was made by another site's page. */
  isCrossSite: boolean
  isHttps: boolean
}

/** `proxies`: how many proxies' headers are believed. */
export function browserOf(c: Context, proxies: number): Browser {
  const url = new URL(c.req.url)
  const forwarded = proxies > 0 ? c.req.header('X-Forwarded-Proto')?.split(',').at(-proxies)?.trim() : undefined
  return {
    session: getCookie(c, SESSION_COOKIE) ?? null,
    csrfToken: c.req.header('X-CSRF-Token') ?? null,
    isCrossSite: isCrossSite(c, url),
    isHttps: (forwarded ?? url.protocol.replace(':', '')) === 'https',
  }
}

/** Browsers say so in `Sec-Fetch-Site`; older ones only in `Origin`. Other clients send neither. */
function isCrossSite(c: Context, url: URL): boolean {
  const site = c.req.header('Sec-Fetch-Site')
  if (site) return site !== 'same-origin' && site !== 'none'
  const origin = c.req.header('Origin')
  if (!origin) return false
  return !URL.canParse(origin) || new URL(origin).host !== (c.req.header('Host') ?? url.host)
}

/** The header that gives a browser its session, or takes it away. The cookie goes to the owner's side only. */
export function sessionCookie(secret: string | null, isHttps: boolean): string {
  const age = secret === null ? 0 : SESSION_SECONDS
  const secure = isHttps ? '; Secure' : ''
  return `${SESSION_COOKIE}=${secret ?? ''}; Path=/admin; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`
}
