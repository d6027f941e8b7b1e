import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Runs as a process of its own: tells its parent the port, then every request, and answers as the path says. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const { method, url = '/', headers, rawHeaders } = request
    process.send?.({ method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString('base64'), at: Date.now() })
    answer(request, response)
  })
})

function answer({ url = '/', socket }: IncomingMessage, response: ServerResponse) {
  const [, kind = '', value = ''] = url.split('?')[0]!.split('/')
  if (kind === 'hang') return
  if (kind === 'reset') return void socket.resetAndDestroy()
  if (kind === 'status') return void response.writeHead(Number(value)).end('{}')
  if (kind === 'redirect')
    return void response.writeHead(Number(value), { Location: decodeURIComponent(url.split('?')[1] ?? '') }).end()
  if (kind === 'slow') return void setTimeout(() => response.end('late'), Number(value))
  if (kind === 'endless') {
    response.writeHead(200)
    const drip = setInterval(() => response.write('x'.repeat(Number(value))), 20)
    socket.on('close', () => {
      clearInterval(drip)
      process.send?.({ closed: url, bytes: socket.bytesWritten })
    })
    return
  }
  response.end('ok')
}

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('disconnect', () => process.exit(0))
