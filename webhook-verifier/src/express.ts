import { defineWebhook, type OptionsFor, type WebhookHandler } from './adapter.ts'
import { handleNodeRequest, type NodeExchange, type NodeRequest, type NodeResponse } from './node-http.ts'

export type { AdapterOptions, OptionsFor, WebhookHandler } from './adapter.ts'
export type { NodeExchange } from './node-http.ts'

/**
 * Creates an Express handler. Mount it before `express.json()`: it reads the body itself, or uses the Buffer of
 * `express.raw({ type: '*\/*' })`. Errors of the handler are passed to `next`.
 *
 * @throws {WebhookError} `secret_invalid` when the secret is missing or empty.
 *
 * @example
 * app.post('/webhooks', webhook({ secret: process.env.WEBHOOK_SECRET }, async (event) => console.log(event.event)))
 */
export const webhook = <Req extends NodeRequest, Res extends NodeResponse>(
  options: OptionsFor<NodeExchange<Req, Res>>,
  handler: WebhookHandler<NodeExchange<Req, Res>>,
) => {
  const defined = defineWebhook(options, handler)
  return (request: Req, response: Res, next: (error?: unknown) => void): Promise<void> =>
    handleNodeRequest(defined, { request, response }).catch(next)
}
