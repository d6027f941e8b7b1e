import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { COMPILE_CACHE } from '../support/process.ts'
import type { Override } from './receiver-process.ts'

export interface Received {
  method: string
  url: string
  headers: Record<string, string>
  rawHeaders: string[]
  body: Buffer
  at: number
  /** The ports of the sender: one per connection. */
  remotePort: number
}

interface Closed {
  closed: string
  bytes: number
}

type Message = { receiver: number } & (
  | { port: number }
  | { overridden: true }
  | Closed
  | (Omit<Received, 'body'> & { body: string })
)

let child: ChildProcess | undefined
let opened = 0
const running = new Set<number>()

/** The process of the receivers of this one: starting one for each test took most of the time. It ends with this one. */
function receiverProcess(): ChildProcess {
  if (child?.connected) return child
  const file = fileURLToPath(new URL('receiver-process.ts', import.meta.url))
  child = fork(file, { stdio: 'inherit', env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE } })
  child.setMaxListeners(0)
  child.unref()
  return child
}

/** A receiver on loopback, in another process. receiver-process.ts defines what each path does. */
export async function startReceiver() {
  const child = receiverProcess()
  const id = opened++
  const received: Received[] = []
  const closed: Closed[] = []
  let listen: (message: Message) => void = () => {}
  let overridden: (() => void) | undefined
  const port = await new Promise<number>((ready) => {
    listen = (message) => {
      if (message.receiver !== id) return
      if ('port' in message) ready(message.port)
      else if ('overridden' in message) overridden?.()
      else if ('closed' in message) closed.push(message)
      else received.push({ ...message, body: Buffer.from(message.body, 'base64') })
    }
    running.add(id)
    child.channel?.ref()
    child.on('message', listen)
    child.send({ open: id })
  })
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
    respond: (path: string, status: number, headers: Record<string, string> = {}) =>
      new Promise<void>((done) => {
        overridden = done
        child.send({ receiver: id, override: { path, status, headers } satisfies Override })
      }),
    stop: () => {
      child.off('message', listen)
      running.delete(id)
      child.send({ close: id }, () => {
        if (running.size === 0) child.channel?.unref()
      })
    },
  }
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>
