import { createReferralClient } from '@referral/sdk'
import { referral } from '@referral/sdk/next'

/*
 * An edge worker in front of a shop, for example on Cloudflare Workers. Reports visits through an affiliate's link
 * (/?ref=nisa-karim), once each, and keeps the click's id in the cookie referral_click.
 */

interface Env {
  REFERRAL_BASE_URL: string
  REFERRAL_API_KEY: string
}

interface Context {
  /** Keeps the worker alive until the promise settles. */
  waitUntil(promise: Promise<unknown>): void
}

export default {
  async fetch(request: Request, env: Env, context: Context): Promise<Response> {
    const page = await fetch(request)
    // A WebSocket cannot be copied.
    if (page.status === 101) return page

    const track = referral({
      client: createReferralClient({ baseUrl: env.REFERRAL_BASE_URL, apiKey: env.REFERRAL_API_KEY }),
      waitUntil: (report) => context.waitUntil(report),
      onError: ({ message }) => console.error(`click: ${message}`),
    })
    // A copy, because the headers of a fetched response cannot be changed.
    return track(request, new Response(page.body, page))
  },
}
