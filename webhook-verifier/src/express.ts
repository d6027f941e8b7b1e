import type { OptionsFor, WebhookHandler } from './adapter.ts'
import { answerIncoming, type NodeExchange, type NodeRequest, type NodeResponse } from './incoming.ts'

export type { AdapterOptions, OptionsFor, WebhookHandler } from './adapter.ts'
export type { NodeExchange } from './incoming.ts'

/**
 * An Express handler: `app.post('/webhooks', webhook({ secret }, async (event) => { … }))`, ahead of `express.json()`.
 * It reads the body itself, or takes the Buffer of `express.raw({ type: '*\/*' })`. What the work throws goes to `next`.
 */
export const webhook =
  <Req extends NodeRequest, Res extends NodeResponse>(
    options: OptionsFor<NodeExchange<Req, Res>>,
    handler: WebhookHandler<NodeExchange<Req, Res>>,
  ) =>
  (request: Req, response: Res, next: (error?: unknown) => void): Promise<void> =>
    answerIncoming({ options, handler }, { request, response }).catch(next)
