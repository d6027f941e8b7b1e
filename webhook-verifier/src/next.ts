import { defineWebhook, type OptionsFor, type WebhookHandler } from './adapter.ts'
import { handleWebRequest } from './web-request.ts'

export type { AdapterOptions, OptionsFor, WebhookHandler } from './adapter.ts'

export { type NodeOptions, webhook as pagesWebhook } from './node.ts'

/**
 * Creates a route handler for the Next.js app router, or for any other runtime whose handlers take a `Request` and return
 * a `Response`. Pass the options as a function where `next build` runs without the secret.
 *
 * @throws {WebhookError} `secret_invalid` when the secret is missing or empty.
 *
 * @example
 * export const POST = webhook(() => ({ secret: process.env.WEBHOOK_SECRET }), async (event) => console.log(event.event))
 */
export const webhook = (options: OptionsFor<Request>, handler: WebhookHandler<Request>) => {
  const defined = defineWebhook(options, handler)
  return (request: Request): Promise<Response> => handleWebRequest(defined, request, request)
}
