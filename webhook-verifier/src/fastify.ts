import { defineWebhook, handleDelivery, type OptionsFor, type WebhookHandler } from './adapter.ts'
import { type NodeStream, readStream } from './node-http.ts'

export type { AdapterOptions, OptionsFor, WebhookHandler } from './adapter.ts'

/** The part of a Fastify request that is used. */
export interface FastifyRequest {
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  readonly body: unknown
}

interface FastifyReply {
  code(status: number): { send(body: unknown): unknown }
}

/** The part of a Fastify instance that is used. */
export interface Fastify {
  removeAllContentTypeParsers(): void
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: NodeStream, done: (error: null, body: unknown) => void) => void,
  ): unknown
  post(path: string, handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): unknown
}

/**
 * Creates a Fastify plugin. It replaces the body parsers within its prefix only.
 *
 * @throws {WebhookError} `secret_invalid` when the secret is missing or empty.
 *
 * @example
 * app.register(webhook({ secret: process.env.WEBHOOK_SECRET }, handler), { prefix: '/webhooks' })
 */
export const webhook = (options: OptionsFor<FastifyRequest>, handler: WebhookHandler<FastifyRequest>) => {
  const defined = defineWebhook(options, handler)
  return async (fastify: Fastify): Promise<void> => {
    fastify.removeAllContentTypeParsers()
    fastify.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    fastify.post('/', async (request, reply) => {
      const stream = request.body as NodeStream | null | undefined
      const read = (maxBytes: number) => (stream ? readStream(stream, maxBytes) : '')
      const { status, body } = await handleDelivery(defined, request, { headers: request.headers, read })
      return reply.code(status).send(body)
    })
  }
}
