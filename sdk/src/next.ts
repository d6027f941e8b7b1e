import { cookieOf, PRIVATE, readVisit, type VisitOptions } from './visit.ts'

export type { VisitOptions } from './visit.ts'

/**
 * Creates a function that records clicks of affiliate links, for the proxy of Next.js (`middleware` before version 16), or for
 * another runtime with `Request` and `Response`.
 *
 * @param options The client that reports the clicks, and how.
 * @returns A function that adds the cookies of a request to its response, and returns the response.
 *
 * @example
 * import { referral } from '@referral/sdk/next'
 *
 * const track = referral({ client })
 * const worker = {
 *   fetch: async (request: Request): Promise<Response> => track(request, new Response('The shop')),
 * }
 */
export const referral =
  (options: VisitOptions) =>
  <Reply extends Pick<Response, 'headers'>>(request: Request, response: Reply): Reply => {
    const { method, url, headers } = request
    const { cookies } = readVisit(options, { method, url, header: (name) => headers.get(name) })
    for (const cookie of cookies) response.headers.append('Set-Cookie', cookie)
    if (cookies.length > 0) response.headers.set('Cache-Control', PRIVATE)
    return response
  }

/**
 * Returns the click ID of a visitor, for the order.
 *
 * @param request The request of the checkout.
 * @returns The ID in the cookie `referral_click`, which the tracking script sets as well.
 *
 * @example
 * import { clickIdOf } from '@referral/sdk/next'
 *
 * const checkout = async (request: Request): Promise<void> => {
 *   await client.events.conversion({ externalOrderId: '1001', amountCents: 10_000, clickId: clickIdOf(request) })
 * }
 */
export const clickIdOf = (request: Pick<Request, 'headers'>): string | undefined =>
  cookieOf(request.headers.get('cookie') ?? '', 'referral_click')
