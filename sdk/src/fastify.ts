import { readVisit, type VisitOptions } from './visit.ts'

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
  header(name: string, value: readonly string[]): unknown
}

/**
 * Creates a Fastify hook that records clicks of affiliate links. `request.clickId` is the ID for the order.
 *
 * Use: `app.decorateRequest('clickId')` and `app.addHook('onRequest', referral({ client }))`.
 */
export const referral =
  (options: VisitOptions) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { method, headers } = request
    const url = `https://${headers.host ?? 'localhost'}${request.url}`
    const { clickId, cookies } = readVisit(options, { method, url, header: (name) => headers[name]?.toString() })
    request.clickId = clickId
    if (cookies.length > 0) reply.header('Set-Cookie', cookies)
  }
