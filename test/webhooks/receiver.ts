import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface Received {
  method: string
  url: string
  headers: Record<string, string>
  rawHeaders: string[]
  body: Buffer
  at: number
  /** Of the sender: one for each connection. */
  remotePort: number
}

interface Closed {
  closed: string
  bytes: number
}

/** A receiver in a process of its own, on loopback. receiver-process.ts defines what each path does. */
export async function startReceiver() {
  const child = fork(fileURLToPath(new URL('receiver-process.ts', import.meta.url)), { stdio: 'inherit' })
  const received: Received[] = []
  const closed: Closed[] = []
  const port = await new Promise<number>((ready) => {
    child.on('message', (message: { port: number } | Closed | (Omit<Received, 'body'> & { body: string })) => {
      if ('port' in message) ready(message.port)
      else if ('closed' in message) closed.push(message)
      else received.push({ ...message, body: Buffer.from(message.body, 'base64') })
    })
  })
  return {
    port,
    host: `127.0.0.1:${port}`,
    /** The address of a path. */
    at: (path: string) => `http://127.0.0.1:${port}${path}`,
    received,
    /** Connections of endless answers that the sender closed. */
    closed,
    /** How many connections the requests came over. */
    connections: () => new Set(received.map(({ remotePort }) => remotePort)).size,
    /** What came to a path. */
    to: (path: string) => received.filter(({ url }) => url === path),
    stop: () => void child.kill('SIGKILL'),
  }
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>
