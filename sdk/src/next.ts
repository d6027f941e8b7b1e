import { readVisit, type VisitOptions } from './visit.ts'

export type { VisitOptions } from './visit.ts'

/**
 * Creates a function for the middleware of Next.js, or of another runtime with `Request` and `Response`, that records clicks of
 * affiliate links.
 *
 * Use: `export const middleware = (request) => track(request, NextResponse.next())`, where `track` is `referral({ client })`.
 */
export const referral =
  (options: VisitOptions) =>
  <Reply extends Pick<Response, 'headers'>>(request: Request, response: Reply): Reply => {
    const { method, url, headers } = request
    const { cookies } = readVisit(options, { method, url, header: (name) => headers.get(name) })
    for (const cookie of cookies) response.headers.append('Set-Cookie', cookie)
    return response
  }

/** The click ID of a visitor, for the order of a checkout's route handler. */
export const clickIdOf = ({ headers }: Pick<Request, 'headers'>): string | undefined =>
  /(?:^|; )referral_click=([^;]+)/.exec(headers.get('cookie') ?? '')?.[1]
