import { readVisit, type VisitOptions } from './visit.ts'

export type { VisitOptions } from './visit.ts'

/** The part of an Express request that is used. */
export interface ExpressRequest {
  readonly method: string
  readonly originalUrl: string
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
}

/** The part of an Express response that is used. */
export interface ExpressResponse {
  appendHeader(name: string, value: readonly string[]): unknown
  // biome-ignore lint/suspicious/noExplicitAny: Express types its locals like this
  locals: any
}

/**
 * Creates an Express middleware that records clicks of affiliate links. `res.locals.clickId` is the ID for the order.
 *
 * Use: `app.use(referral({ client }))`.
 */
export const referral =
  (options: VisitOptions) =>
  (request: ExpressRequest, response: ExpressResponse, next: () => void): void => {
    const { method, originalUrl, headers } = request
    const url = `https://${headers.host ?? 'localhost'}${originalUrl}`
    const { clickId, cookies } = readVisit(options, { method, url, header: (name) => headers[name]?.toString() })
    response.locals.clickId = clickId
    if (cookies.length > 0) response.appendHeader('Set-Cookie', cookies)
    next()
  }
