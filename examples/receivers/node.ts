import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { webhook } from '@referral/webhook-verifier/node'
import { handleEvent, port, secret } from './handler.ts'

const receive = webhook({ secret }, handleEvent)
const server = createServer((request, response) => {
  if (request.method === 'POST' && request.url === '/webhooks') return receive(request, response)
  response.writeHead(404).end()
})

server.listen(port, '127.0.0.1', () => console.log(`listening on ${(server.address() as AddressInfo).port}`))
