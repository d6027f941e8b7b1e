import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

type Send = (message: object) => void

/** A response that replaces the one that a path specifies. */
export interface Override {
  path: string
  status: number
  headers?: Record<string, string>
}

interface Running {
  stop: () => void
  /** By path. */
  overrides: Map<string, Override>
}

const receivers = new Map<number, Running>()

/**
 * Runs as its own process and serves as many receivers as its parent asks for. Each sends its port, then every request,
 * and responds as the path specifies.
 */
process.on('message', ({ open, close, receiver, override }: Order) => {
  if (open !== undefined)
    receivers.set(
      open,
      startReceiver((message) => process.send?.({ receiver: open, ...message })),
    )
  if (receiver !== undefined && override) {
    receivers.get(receiver)?.overrides.set(override.path, override)
    process.send?.({ receiver, overridden: true })
  }
  if (close === undefined) return
  receivers.get(close)?.stop()
  receivers.delete(close)
})

interface Order {
  open?: number
  close?: number
  receiver?: number
  override?: Override
}

/** `stop` resets its connections. */
function startReceiver(send: Send): Running {
  const overrides = new Map<string, Override>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url = '/', headers, rawHeaders } = request
      const { remotePort = 0 } = request.socket
      const body = Buffer.concat(chunks).toString('base64')
      send({ method, url, headers, rawHeaders, body, at: Date.now(), remotePort })
      const override = overrides.get(url)
      if (override) response.writeHead(override.status, override.headers).end('{}')
      else answer(request, response, send)
    })
  })
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1', () => send({ port: (server.address() as AddressInfo).port }))
  const stop = () => {
    server.close()
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return { stop, overrides }
}

function answer({ url = '/', socket }: IncomingMessage, response: ServerResponse, send: Send) {
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
    socket.on('close', () => send({ closed: url, bytes: socket.bytesWritten }))
    return void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nKeep-Alive: timeout=600\r\n\r\n')
  }
  const raw = endless[kind]
  if (raw) return pour(socket, url, raw, Number(value), send)
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
  send: Send,
): void {
  socket.write(head)
  const portion = more === '' ? '' : more.repeat(Math.max(1, Math.round(size / more.length)))
  const pouring = setInterval(() => socket.write(portion), 10)
  socket.on('error', () => {})
  socket.on('close', () => {
    clearInterval(pouring)
    send({ closed: url, bytes: socket.bytesWritten })
  })
}

process.on('disconnect', () => process.exit(0))
