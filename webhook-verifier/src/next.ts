import type { OptionsFor, WebhookHandler } from './adapter.ts'
import { answerRequest } from './fetch.ts'

export type { AdapterOptions, OptionsFor, WebhookHandler } from './adapter.ts'

export { type NodeOptions, webhook as pagesWebhook } from './node.ts'

/**
 * A route handler of the app router: `export const POST = webhook({ secret }, async (event) => { … })`.
 * It fits every other runtime whose handler takes a `Request` and gives a `Response`.
 */
export const webhook =
  (options: OptionsFor<Request>, handler: WebhookHandler<Request>) =>
  (request: Request): Promise<Response> =>
    answerRequest({ options, handler }, request, request)
