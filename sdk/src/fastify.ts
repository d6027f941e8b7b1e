import { PRIVATE, readVisit, type VisitOptions } from './visit.ts'

export type { VisitOptions } from './visit.ts'

/** The part of a Fastify request that is used. */
export interface FastifyRequest {
  readonly method: string
  readonly url: string
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  clickId?: string | undefined
}

/** The part of a Fastify reply that is used. */
export interface FastifyReply {
  header(name: string, value: string | readonly string[]): unknown
}

/**
 * Creates a Fastify hook that records clicks of affiliate links. `request.clickId` is the ID for the order.
 *
 * @param options The client that reports the clicks, and how.
 * @returns The hook, for `onRequest`.
 *
 * @example
 * import type { FastifyRequest } from '@referral/sdk/fastify'
 * import { referral } from '@referral/sdk/fastify'
 * import fastify from 'fastify'
 *
 * const app = fastify()
 * app.decorateRequest('clickId')
 * app.addHook('onRequest', referral({ client }))
 * app.post('/checkout', async (request) => (request as FastifyRequest).clickId)
 */
export const referral =
  (options: VisitOptions) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { method, headers } = request
    const url = `https://${headers.host ?? 'localhost'}${request.url}`
    const { clickId, cookies } = readVisit(options, { method, url, header: (name) => headers[name]?.toString() })
    request.clickId = clickId
    if (cookies.length > 0) {
      reply.header('Set-Cookie', cookies)
      reply.header('Cache-Control', PRIVATE)
    }
  }
