import { webhook } from '@referral/webhook-verifier/hono'
import { Hono } from 'hono'
import { handle } from './handle.ts'

export const app = new Hono()
app.post('/webhooks', webhook({ secret: process.env.WEBHOOK_SECRET! }, handle))
