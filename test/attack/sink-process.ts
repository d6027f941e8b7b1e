import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// Reads every request and responds with 200, to measure what a load costs its sender without a server's work.
const server = createServer((request, response) => {
  request.resume().once('end', () => response.end('{}'))
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit())
