import { webhook } from '@referral/webhook-verifier/fastify'
import fastify from 'fastify'
import { handleEvent, port, secret } from './handler.ts'

const app = fastify()
app.register(webhook({ secret }, handleEvent), { prefix: '/webhooks' })

const address = await app.listen({ host: '127.0.0.1', port })
console.log(`listening on ${new URL(address).port}`)
