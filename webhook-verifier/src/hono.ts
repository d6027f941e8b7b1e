import type { OptionsFor, WebhookHandler } from './adapter.ts'
import { handleWebRequest } from './web-request.ts'

export type { AdapterOptions, OptionsFor, WebhookHandler } from './adapter.ts'

/** The part of a Hono context that is used. */
export interface HonoContext {
  readonly req: { readonly raw: Request }
}

/**
 * Creates a Hono handler. Mount it before middleware that reads the body.
 *
 * @example
 * app.post('/webhooks', webhook({ secret: process.env.WEBHOOK_SECRET }, async (event) => console.log(event.event)))
 */
export const webhook =
  <Context extends HonoContext>(options: OptionsFor<Context>, handler: WebhookHandler<Context>) =>
  (context: Context): Promise<Response> =>
    handleWebRequest({ options, handler }, context, context.req.raw)
