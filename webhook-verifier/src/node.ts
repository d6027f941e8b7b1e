import { type AdapterOptions, defineWebhook, type WebhookHandler } from './adapter.ts'
import { handleNodeRequest, type NodeExchange, type NodeRequest, type NodeResponse } from './node-http.ts'

export type { AdapterOptions, NodeExchange, NodeRequest, NodeResponse, WebhookHandler }

/** Options of the `node:http` adapter. */
export interface NodeOptions extends AdapterOptions {
  /** Called with the error of the handler; the sender receives 500. Defaults to `console.error`. */
  onError?: ((error: unknown) => void) | undefined
}

/**
 * Creates a request listener for `node:http`. It never rejects, because `node:http` would not catch the error.
 *
 * @throws {WebhookError} `secret_invalid` when the secret is missing or empty.
 *
 * @example
 * createServer(webhook({ secret: process.env.WEBHOOK_SECRET }, async (event) => console.log(event.event)))
 */
export const webhook = <Req extends NodeRequest, Res extends NodeResponse>(
  options: NodeOptions,
  handler: WebhookHandler<NodeExchange<Req, Res>>,
) => {
  const defined = defineWebhook(options, handler)
  return async (request: Req, response: Res): Promise<void> => {
    try {
      await handleNodeRequest(defined, { request, response })
    } catch (error) {
      const { onError = console.error } = options
      onError(error)
      if (response.headersSent) return
      response.statusCode = 500
      response.end('')
    }
  }
}
