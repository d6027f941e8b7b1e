// app/webhooks/route.ts
import { webhook } from '@referral/webhook-verifier/next'
import { handle } from './handle.ts'

export const POST = webhook({ secret: process.env.WEBHOOK_SECRET! }, handle)
