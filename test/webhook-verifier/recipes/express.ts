import { webhook } from '@referral/webhook-verifier/express'
import express, { type Express } from 'express'
import { handle } from './handle.ts'

export const app: Express = express()
app.post('/webhooks', webhook({ secret: process.env.WEBHOOK_SECRET! }, handle))
// Only now: a body that was parsed cannot be verified any more.
app.use(express.json())
