// pages/api/webhooks.ts
import { pagesWebhook } from '@referral/webhook-verifier/next'
import { handle } from './handle.ts'

export const config = { api: { bodyParser: false } }
export default pagesWebhook({ secret: process.env.WEBHOOK_SECRET! }, handle)
