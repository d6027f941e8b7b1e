import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A TCP proxy that simulates a network: what the server sends arrives `ms` later, so each round trip takes that much longer. */
export async function startDelayProxy(target: URL, ms: number): Promise<{ url: string; close: () => void }> {
  const open = new Set<Socket>()
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ host: target.hostname, port: Number(target.port), noDelay: true })
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (chunk) => upstream.write(chunk))
    // Timers of one duration fire in order.
    upstream.on('data', (chunk) => setTimeout(() => client.write(chunk), ms))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port')
  const url = new URL(target)
  url.host = `127.0.0.1:${address.port}`
  return {
    url: url.href,
    close: () => {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
}

/** The median time that a byte takes through the proxy and back. */
export async function roundTripMs(ms: number): Promise<number> {
  const echo = createServer((socket) => socket.pipe(socket))
  await new Promise<void>((listening) => echo.listen(0, '127.0.0.1', listening))
  const { port } = echo.address() as { port: number }
  const proxy = await startDelayProxy(new URL(`tcp://127.0.0.1:${port}`), ms)
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(proxy.url).port), noDelay: true })
  const times: number[] = []
  for (let i = 0; i < 50; i++) {
    const startedAt = performance.now()
    const answered = new Promise((done) => socket.once('data', done))
    socket.write('x')
    await answered
    times.push(performance.now() - startedAt)
    await sleep(1)
  }
  socket.destroy()
  proxy.close()
  echo.close()
  return times.sort((a, b) => a - b)[25]!
}
