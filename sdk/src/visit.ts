import type { ReferralClient } from './client.ts'

/** Options of the middleware. */
export interface VisitOptions {
  /** The client that reports the clicks; its key needs `events:write`. */
  client: Pick<ReferralClient, 'events'>
  /** Your own parameter of affiliate links, read before `ref` and `via`. */
  param?: string | undefined
  /** How long the cookie keeps the click ID, in days: the click window of your program. Default 30. */
  days?: number | undefined
  /** Keeps an edge runtime alive until the click is reported. */
  waitUntil?: ((report: Promise<unknown>) => void) | undefined
  /** Called when a click could not be reported. The page is served either way. */
  onError?: ((error: Error) => void) | undefined
}

/** What is read of a request. */
export interface VisitRequest {
  method: string | undefined
  url: string
  header: (name: string) => string | null | undefined
}

/** The click ID of a visitor, and the cookies that keep it. */
export interface Visit {
  /** Send it as `clickId` of the order. */
  clickId: string | undefined
  cookies: string[]
}

const BOT = /(?<!cu)bot|crawl|spider|slurp|facebookexternalhit|whatsapp|preview/i
const DAY_SECONDS = 86_400

/** A shared cache would send one visitor's ID to all. */
export const PRIVATE = 'private, no-store'

export const cookieOf = (cookies: string, name: string): string | undefined =>
  new RegExp(`(?:^|; )${name}=([^;]+)`).exec(cookies)?.[1]

/**
 * Reads the click of a request from the cookie or from the parameter of its address. One that is new is reported in the
 * background, so that the page neither waits for it nor fails with it. A link that is opened again in the same session of the
 * browser is not reported again.
 */
export function readVisit(options: VisitOptions, { method, url, header }: VisitRequest): Visit {
  const { client, param = 'ref', days = 30, waitUntil, onError } = options
  const sent = header('cookie') ?? ''
  const known = cookieOf(sent, 'referral_click')
  const page = new URL(url, 'https://localhost')
  const query = page.searchParams
  const given = query.get('referral_click_id')?.replace(/[^\w-]/g, '')
  const ref = query.get(param) || query.get('ref') || query.get('via')
  const visit = given || ref?.slice(0, 255)
  const isBot = BOT.test(header('user-agent') ?? '') || /prefetch|prerender/.test(header('sec-purpose') ?? '')
  if (method !== 'GET' || !visit || isBot || cookieOf(sent, 'referral_visit') === encodeURIComponent(visit))
    return { clickId: known, cookies: [] }
  const clickId = given || crypto.randomUUID()
  const attributes = 'Path=/; Secure; HttpOnly; SameSite=Lax'
  const cookies = [
    `referral_click=${clickId}; Max-Age=${days * DAY_SECONDS}; ${attributes}`,
    `referral_visit=${encodeURIComponent(visit)}; ${attributes}`,
  ]
  if (!given) {
    const click = {
      clickId,
      ref: visit,
      landingPage: (page.origin + page.pathname).slice(0, 4096),
      referrerUrl: header('referer')?.slice(0, 4096),
      utmSource: query.get('utm_source')?.slice(0, 255),
      utmMedium: query.get('utm_medium')?.slice(0, 255),
      utmCampaign: query.get('utm_campaign')?.slice(0, 255),
    }
    const report = client.events.click(click).safe()
    const reported = report.then(({ error }) => error && onError?.(error))
    waitUntil?.(reported)
  }
  return { clickId, cookies }
}
