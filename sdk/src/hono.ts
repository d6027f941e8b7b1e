import { PRIVATE, readVisit, type VisitOptions } from './visit.ts'

export type { VisitOptions } from './visit.ts'

/** The part of a Hono context that is used. */
export interface HonoContext {
  readonly req: { readonly raw: Request }
  set(name: 'clickId', value: string | undefined): void
  header(name: string, value: string, options?: { append: true }): void
}

/**
 * Creates a Hono middleware that records clicks of affiliate links. `c.get('clickId')` is the ID for the order.
 *
 * @param options The client that reports the clicks, and how.
 * @returns The middleware.
 *
 * @example
 * import { referral } from '@referral/sdk/hono'
 * import { Hono } from 'hono'
 *
 * const app = new Hono<{ Variables: { clickId: string | undefined } }>()
 * app.use(referral({ client }))
 * app.post('/checkout', (c) => c.text(c.get('clickId') ?? ''))
 */
export const referral =
  (options: VisitOptions) =>
  async (context: HonoContext, next: () => Promise<void>): Promise<void> => {
    const { method, url, headers } = context.req.raw
    const { clickId, cookies } = readVisit(options, { method, url, header: (name) => headers.get(name) })
    context.set('clickId', clickId)
    await next()
    for (const cookie of cookies) context.header('Set-Cookie', cookie, { append: true })
    if (cookies.length > 0) context.header('Cache-Control', PRIVATE)
  }
