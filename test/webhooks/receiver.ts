import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

export interface Received {
  method: string
  url: string
  headers: Record<string, string>
  rawHeaders: string[]
  body: Buffer
  at: number
  /** The port of the sender: one per connection. */
  remotePort: number
}

interface Closed {
  closed: string
  bytes: number
}

/** A receiver on loopback that responds as the path specifies; see `answer`. */
export async function startReceiver() {
  const received: Received[] = []
  const closed: Closed[] = []
  const overrides = new Map<string, { status: number; headers: Record<string, string> }>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '/', rawHeaders } = request
      const headers = request.headers as Record<string, string>
      const { remotePort = 0 } = request.socket
      received.push({ method, url, headers, rawHeaders, body: Buffer.concat(chunks), at: Date.now(), remotePort })
      const override = overrides.get(url)
      if (override) response.writeHead(override.status, override.headers).end('{}')
      else answer(request, response, closed)
    })
  })
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    host: `127.0.0.1:${port}`,
    /** The address of a path. */
    at: (path: string) => `http://127.0.0.1:${port}${path}`,
    received,
    /** Connections with endless responses that the sender closed. */
    closed,
    /** The number of connections that the requests used. */
    connections: () => new Set(received.map(({ remotePort }) => remotePort)).size,
    /** The requests to a path. */
    to: (path: string) => received.filter(({ url }) => url === path),
    /** Makes a path return a status from now on. */
    respond: (path: string, status: number, headers: Record<string, string> = {}) => {
      overrides.set(path, { status, headers })
    },
    /** Resets the connections that are open. */
    stop: () => {
      server.close()
      for (const socket of sockets) socket.resetAndDestroy()
    },
  }
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>

function answer({ url = '/', socket }: IncomingMessage, response: ServerResponse, closed: Closed[]) {
  const [, kind = '', value = ''] = url.split('?')[0]!.split('/')
  if (kind === 'hang') return
  if (kind === 'reset') return void socket.resetAndDestroy()
  if (kind === 'status') return void response.writeHead(Number(value)).end('{}')
  if (kind === 'redirect')
    return void response.writeHead(Number(value), { Location: decodeURIComponent(url.split('?')[1] ?? '') }).end()
  if (kind === 'slow') return void setTimeout(() => response.end('late'), Number(value))
  if (kind === 'sized') return void response.end('x'.repeat(Number(value)))
  if (kind === 'half') return void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
  if (kind === 'until-close') return void socket.end('HTTP/1.1 200 OK\r\n\r\nall of it')
  if (kind === 'keep-alive') {
    socket.on('close', () => closed.push({ closed: url, bytes: socket.bytesWritten }))
    return void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=600\r\n\r\n')
  }
  const raw = endless[kind]
  if (raw) return pour(socket, url, raw, Number(value), closed)
  response.end('ok')
}

/** Endless responses, as bytes on the wire: the start of each, and the part that repeats. */
const endless: Record<string, { head: string; more: string }> = {
  informational: { head: '', more: 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n' },
  headers: { head: 'HTTP/1.1 200 OK\r\n', more: 'X-More: and more\r\n' },
  header: { head: 'HTTP/1.1 200 OK\r\nX-More: ', more: 'and more ' },
  extensions: { head: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;', more: 'and=more;' },
  chunks: { head: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', more: '1;a=b\r\nx\r\n' },
  trailers: { head: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n', more: 'X-More: and more\r\n' },
  body: { head: 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n', more: 'and more ' },
  // Nothing more follows.
  open: { head: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhalf', more: '' },
}

/** Writes about this many bytes every 10 ms, until the other side closes the connection. */
function pour(
  socket: Socket,
  url: string,
  { head, more }: { head: string; more: string },
  size: number,
  closed: Closed[],
): void {
  socket.write(head)
  const portion = more === '' ? '' : more.repeat(Math.max(1, Math.round(size / more.length)))
  const pouring = setInterval(() => socket.write(portion), 10)
  socket.on('error', () => {})
  socket.on('close', () => {
    clearInterval(pouring)
    closed.push({ closed: url, bytes: socket.bytesWritten })
  })
}
