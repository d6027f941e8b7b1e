import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { serve } from '@hono/node-server'

const urlOf = (server: { address(): AddressInfo | string | null }) =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`

/** Serves a `fetch` on a port of this machine. */
export const listen = async ({ fetch }: { fetch: (request: Request) => Promise<Response> }) => {
  const server = serve({ fetch, port: 0, hostname: '127.0.0.1' }) as Server
  if (!server.listening) await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: urlOf(server), close }
}

/** Starts the proxy of a company, and lists the hosts that it connects to. */
export const startProxy = async () => {
  const hosts: string[] = []
  // Clients send requests to `http:` addresses whole, and open a tunnel to `https:` ones.
  const server = createServer((incoming, response) => {
    const { url = '', method, headers } = incoming
    hosts.push(new URL(url).host)
    const outgoing = request(url, { method, headers }, (received) => {
      response.writeHead(received.statusCode ?? 500, received.headers)
      received.pipe(response)
    })
    incoming.pipe(outgoing)
  })
  server.on('connect', ({ url = '' }, client) => {
    hosts.push(url)
    const { hostname, port } = new URL(`http://${url}`)
    const upstream = connect(Number(port), hostname, () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    for (const socket of [client, upstream]) socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: urlOf(server), hosts, close }
}
