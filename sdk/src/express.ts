import { PRIVATE, readVisit, type VisitOptions } from './visit.ts'

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
  setHeader(name: string, value: string): unknown
  // biome-ignore lint/suspicious/noExplicitAny: Express types its locals like this
  locals: any
}

/**
 * Creates an Express middleware that records clicks of affiliate links. `response.locals.clickId` is the ID for the order.
 *
 * @param options The client that reports the clicks, and how.
 * @returns The middleware.
 *
 * @example
 * import { referral } from '@referral/sdk/express'
 * import express from 'express'
 *
 * const app = express()
 * app.use(referral({ client }))
 * app.post('/checkout', (_request, response) => response.send(response.locals.clickId))
 */
export const referral =
  (options: VisitOptions) =>
  (request: ExpressRequest, response: ExpressResponse, next: () => void): void => {
    const { method, originalUrl, headers } = request
    const url = `https://${headers.host ?? 'localhost'}${originalUrl}`
    const { clickId, cookies } = readVisit(options, { method, url, header: (name) => headers[name]?.toString() })
    response.locals.clickId = clickId
    if (cookies.length > 0) {
      response.appendHeader('Set-Cookie', cookies)
      response.setHeader('Cache-Control', PRIVATE)
    }
    next()
  }
