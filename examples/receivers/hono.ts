import { serve } from '@hono/node-server'
import { webhook } from '@referral/webhook-verifier/hono'
import { Hono } from 'hono'
import { handleEvent, port, secret } from './handler.ts'

const app = new Hono()
app.post('/webhooks', webhook({ secret }, handleEvent))

serve({ fetch: app.fetch, hostname: '127.0.0.1', port }, (address) => console.log(`listening on ${address.port}`))
