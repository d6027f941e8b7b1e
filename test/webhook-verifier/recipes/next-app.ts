// app/webhooks/route.ts
import { webhook } from '@referral/webhook-verifier/next'
import { handle } from './handle.ts'

// A function, because `next build` may run without the secret.
export const POST = webhook(() => ({ secret: process.env.WEBHOOK_SECRET! }), handle)
