import { createReferralClient } from '@referral/sdk'

/*
 * Stands before a shop at the edge, with Web APIs only: Cloudflare Workers run it as it is. A visitor who comes over
 * an affiliate's link, as /?ref=nisa-karim, gets a cookie with the click's id. Send that id as clickId of the order.
 */

interface Env {
  REFERRAL_BASE_URL: string
  REFERRAL_API_KEY: string
}

interface Context {
  /** Lets work go on after the answer. */
  waitUntil(work: Promise<unknown>): void
}

const DAYS = 30

export default {
  async fetch(request: Request, env: Env, context: Context): Promise<Response> {
    const page = await fetch(request)
    const { searchParams: query } = new URL(request.url)
    const ref = query.get('ref')
    if (request.method !== 'GET' || !ref) return page

    const client = createReferralClient({ baseUrl: env.REFERRAL_BASE_URL, apiKey: env.REFERRAL_API_KEY })
    // The id is made here, so that nobody waits for the report, and a report that fails breaks no page.
    const clickId = crypto.randomUUID()
    const click = {
      clickId,
      // A stranger may write more into an address than the service takes.
      ref: ref.slice(0, 255),
      landingPage: request.url.slice(0, 4096),
      referrerUrl: request.headers.get('Referer')?.slice(0, 4096),
      utmSource: query.get('utm_source')?.slice(0, 255),
      utmCampaign: query.get('utm_campaign')?.slice(0, 255),
    }
    const report = client.events.click(click).safe()
    context.waitUntil(report.then(({ error }) => error && console.error(`click ${clickId}: ${error.message}`)))

    const response = new Response(page.body, page)
    // The checkout's server reads it; no script has to.
    const cookie = `referral_click_id=${clickId}; Path=/; Max-Age=${DAYS * 86_400}; Secure; HttpOnly; SameSite=Lax`
    response.headers.append('Set-Cookie', cookie)
    // A shared cache would give one visitor's id to all.
    response.headers.set('Cache-Control', 'private, no-store')
    return response
  },
}
