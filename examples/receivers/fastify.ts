import { webhook } from '@referral/webhook-verifier/fastify'
import fastify from 'fastify'
import { port, secret, work } from './work.ts'

const app = fastify()
app.register(webhook({ secret }, work), { prefix: '/webhooks' })

const address = await app.listen({ host: '127.0.0.1', port })
console.log(`listening on ${new URL(address).port}`)
