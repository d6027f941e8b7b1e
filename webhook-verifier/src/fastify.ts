import { answer, type OptionsFor, type WebhookHandler } from './adapter.ts'
import { type NodeStream, readStream } from './stream.ts'

export type { AdapterOptions, OptionsFor, WebhookHandler } from './adapter.ts'

/** What this package needs of a Fastify request. */
export interface FastifyRequest {
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  readonly body: unknown
}

interface FastifyReply {
  code(status: number): { send(body: unknown): unknown }
}

/** What this package needs of a Fastify instance. */
export interface Fastify {
  removeAllContentTypeParsers(): void
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: NodeStream, done: (error: null, body: unknown) => void) => void,
  ): unknown
  post(path: string, handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>): unknown
}

/**
 * A Fastify plugin: `app.register(webhook({ secret }, async (event) => { … }), { prefix: '/webhooks' })`.
 * Inside its prefix the body stays a stream of bytes; the parsers of the rest of the application are untouched.
 */
export const webhook =
  (options: OptionsFor<FastifyRequest>, handler: WebhookHandler<FastifyRequest>) =>
  async (fastify: Fastify): Promise<void> => {
    fastify.removeAllContentTypeParsers()
    fastify.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
    fastify.post('/', async (request, reply) => {
      const stream = request.body as NodeStream | null | undefined
      const read = (maxBytes: number) => (stream ? readStream(stream, maxBytes) : '')
      const { status, body } = await answer({ options, handler }, request, { headers: request.headers, read })
      return reply.code(status).send(body)
    })
  }
