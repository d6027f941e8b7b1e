import { createReferralClient } from '@referral/sdk'

/*
 * An edge worker in front of a shop, for example on Cloudflare Workers. Reports visits through an affiliate's link
 * (/?ref=nisa-karim) and sets a cookie with the click id. Send that id as clickId of the order.
 */

interface Env {
  REFERRAL_BASE_URL: string
  REFERRAL_API_KEY: string
}

interface Context {
  /** Keeps the worker alive until the promise settles. */
  waitUntil(promise: Promise<unknown>): void
}

const DAYS = 30

export default {
  async fetch(request: Request, env: Env, context: Context): Promise<Response> {
    const page = await fetch(request)
    const { searchParams: query } = new URL(request.url)
    const ref = query.get('ref')
    if (request.method !== 'GET' || !ref) return page

    const client = createReferralClient({ baseUrl: env.REFERRAL_BASE_URL, apiKey: env.REFERRAL_API_KEY })
    // Generated here, so that the page neither waits for the report nor fails with it.
    const clickId = crypto.randomUUID()
    const click = {
      clickId,
      // The URL is untrusted: cut values to the maximum lengths of the API.
      ref: ref.slice(0, 255),
      landingPage: request.url.slice(0, 4096),
      referrerUrl: request.headers.get('Referer')?.slice(0, 4096),
      utmSource: query.get('utm_source')?.slice(0, 255),
      utmCampaign: query.get('utm_campaign')?.slice(0, 255),
    }
    const report = client.events.click(click).safe()
    context.waitUntil(report.then(({ error }) => error && console.error(`click ${clickId}: ${error.message}`)))

    const response = new Response(page.body, page)
    // HttpOnly, because only the checkout's server reads it.
    const cookie = `referral_click_id=${clickId}; Path=/; Max-Age=${DAYS * 86_400}; Secure; HttpOnly; SameSite=Lax`
    response.headers.append('Set-Cookie', cookie)
    // A shared cache would send one visitor's id to all.
    response.headers.set('Cache-Control', 'private, no-store')
    return response
  },
}
