import type { OptionsFor, WebhookHandler } from './adapter.ts'
import { answerRequest } from './fetch.ts'

export type { AdapterOptions, OptionsFor, WebhookHandler } from './adapter.ts'

/** What this package needs of a Hono context. */
export interface HonoContext {
  readonly req: { readonly raw: Request }
}

/**
 * A Hono handler: `app.post('/webhooks', webhook({ secret }, async (event) => { … }))`.
 * Put it before any middleware that reads the body.
 */
export const webhook =
  <Context extends HonoContext>(options: OptionsFor<Context>, handler: WebhookHandler<Context>) =>
  (context: Context): Promise<Response> =>
    answerRequest({ options, handler }, context, context.req.raw)
