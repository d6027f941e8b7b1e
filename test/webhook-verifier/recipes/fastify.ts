import { webhook } from '@referral/webhook-verifier/fastify'
import fastify from 'fastify'
import { handle } from './handle.ts'

export const app = fastify()
app.register(webhook({ secret: process.env.WEBHOOK_SECRET! }, handle), { prefix: '/webhooks' })
