import { createServer, type Socket } from 'node:net'
import { setPriority } from 'node:os'

/** Receivers that never complete a response: what each path writes first, then repeatedly. */
const kinds: Record<string, { head: string; more?: string; everyMs?: number }> = {
  silent: { head: '' },
  open: { head: 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf' },
  drip: { head: 'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n', more: 'x', everyMs: 1000 },
  informational: { head: '', more: 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n'.repeat(300) },
  extensions: { head: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;', more: 'and=more;'.repeat(2000) },
}

setPriority(19)
const server = createServer((socket) => {
  let request = ''
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    request += chunk.toString('latin1')
    const path = /^POST \/(\w+)/.exec(request)?.[1]
    if (!path || !/\r\n\r\n.*\}$/s.test(request)) return
    request = ''
    answer(socket, path)
  })
})

function answer(socket: Socket, path: string): void {
  const { head, more, everyMs } = kinds[path] ?? { head: 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n' }
  socket.write(head)
  if (!more) return
  // About 10 MB/s per connection; a higher rate would measure contention for the processor.
  const timer = setInterval(() => socket.write(more), everyMs ?? 2)
  socket.on('close', () => clearInterval(timer))
}

server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log(`listening on ${process.env.PORT}`))
