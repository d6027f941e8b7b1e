import type { AddressInfo } from 'node:net'
import { webhook } from '@referral/webhook-verifier/express'
import express from 'express'
import { port, secret, work } from './work.ts'

const app = express()
app.post('/webhooks', webhook({ secret }, work))
// Only now: a body that was parsed cannot be verified any more.
app.use(express.json())

const server = app.listen(port, '127.0.0.1', () => {
  console.log(`listening on ${(server.address() as AddressInfo).port}`)
})
