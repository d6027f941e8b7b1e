import { createServer } from 'node:http'
import { webhook } from '@referral/webhook-verifier/node'
import { handle } from './handle.ts'

const receive = webhook({ secret: process.env.WEBHOOK_SECRET! }, handle)

export const server = createServer((request, response) => {
  if (request.method === 'POST' && request.url === '/webhooks') return receive(request, response)
  response.writeHead(404).end()
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
