import type { AdapterOptions, WebhookHandler } from './adapter.ts'
import { answerIncoming, type NodeExchange, type NodeRequest, type NodeResponse } from './incoming.ts'

export type { AdapterOptions, NodeExchange, NodeRequest, NodeResponse, WebhookHandler }

export interface NodeOptions extends AdapterOptions {
  /** Told what the handler threw; the caller gets 500. Default: `console.error`. */
  onError?: ((error: unknown) => void) | undefined
}

/**
 * A listener for `node:http`: `createServer(webhook({ secret }, async (event) => { … }))`.
 * It never rejects, because nothing above it would catch.
 */
export const webhook =
  <Req extends NodeRequest, Res extends NodeResponse>(
    options: NodeOptions,
    handler: WebhookHandler<NodeExchange<Req, Res>>,
  ) =>
  async (request: Req, response: Res): Promise<void> => {
    try {
      await answerIncoming({ options, handler }, { request, response })
    } catch (error) {
      const { onError = console.error } = options
      onError(error)
      if (response.headersSent) return
      response.statusCode = 500
      response.end('')
    }
  }
