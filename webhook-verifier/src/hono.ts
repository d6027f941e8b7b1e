import { defineWebhook, type OptionsFor, type WebhookHandler } from './adapter.ts'
import { handleWebRequest } from './web-request.ts'

export type { AdapterOptions, OptionsFor, WebhookHandler } from './adapter.ts'

/** The part of a Hono context that is used. */
export interface HonoContext {
  readonly req: { readonly raw: Request }
}

/**
 * Creates a Hono handler. Mount it before middleware that reads the body.
 *
 * @throws {WebhookError} `secret_invalid` when the secret is missing or empty.
 *
 * @example
 * app.post('/webhooks', webhook({ secret: process.env.WEBHOOK_SECRET }, async (event) => console.log(event.event)))
 */
export const webhook = <Context extends HonoContext>(
  options: OptionsFor<Context>,
  handler: WebhookHandler<Context>,
) => {
  const defined = defineWebhook(options, handler)
  return (context: Context): Promise<Response> => handleWebRequest(defined, context, context.req.raw)
}
