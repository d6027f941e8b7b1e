import { webhook } from '@referral/webhook-verifier/express'
import express, { type Express } from 'express'
import { handle } from './handle.ts'

export const app: Express = express()
app.post('/webhooks', webhook({ secret: process.env.WEBHOOK_SECRET! }, handle))
// After the webhook, because a parsed body cannot be verified.
app.use(express.json())
