import type { AddressInfo } from 'node:net'
import { webhook } from '@referral/webhook-verifier/express'
import express from 'express'
import { handleEvent, port, secret } from './handler.ts'

const app = express()
app.post('/webhooks', webhook({ secret }, handleEvent))
// Mounted after the webhook, because a parsed body cannot be verified.
app.use(express.json())

const server = app.listen(port, '127.0.0.1', () => {
  console.log(`listening on ${(server.address() as AddressInfo).port}`)
})
