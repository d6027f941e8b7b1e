// For every runtime with Web requests, such as Cloudflare Workers, Deno and Bun.
import { unwrap, WebhookError } from '@referral/webhook-verifier'
import { handle } from './handle.ts'

export default {
  async fetch(request: Request, env: { WEBHOOK_SECRET: string }): Promise<Response> {
    try {
      await handle(await unwrap(request, { secret: env.WEBHOOK_SECRET }))
      return new Response('ok')
    } catch (error) {
      if (error instanceof WebhookError) return new Response(error.code, { status: 400 })
      throw error
    }
  },
}
