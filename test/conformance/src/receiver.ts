import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A received webhook. */
export interface Delivery {
  method: string
  headers: Record<string, string | undefined>
  body: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: checks read payloads of every shape
  json: any
}

export interface Receiver {
  url: (path: string) => string
  received: (path: string) => Delivery[]
  /** What a path returns from now on. */
  respond: (path: string, status: number, headers?: Record<string, string>) => void
  /** Runs before the response to each delivery of a path. */
  onDelivery: (path: string, run: (delivery: Delivery) => Promise<void>) => void
  close: () => Promise<void>
}

export interface ReceiverOptions {
  /** Where to listen. Default: a free port on loopback. */
  port?: number | undefined
  host?: string | undefined
  /** The address under which the server reaches it. Default: the port on 127.0.0.1. */
  url?: string | undefined
}

/** Starts a receiver of webhooks. */
export async function startReceiver({ port = 0, host = '127.0.0.1', url }: ReceiverOptions = {}): Promise<Receiver> {
  const deliveries = new Map<string, Delivery[]>()
  const responses = new Map<string, { status: number; headers: Record<string, string> }>()
  const listeners = new Map<string, (delivery: Delivery) => Promise<void>>()
  const prefix = url ? new URL(url).pathname.replace(/\/$/, '') : ''
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', async () => {
      const { method = '', headers } = request
      const path = (request.url ?? '/').slice((request.url ?? '').startsWith(prefix) ? prefix.length : 0)
      const body = Buffer.concat(chunks)
      const delivery: Delivery = { method, headers: headers as Delivery['headers'], body, json: parse(body) }
      await listeners.get(path)?.(delivery)
      deliveries.set(path, [...(deliveries.get(path) ?? []), delivery])
      const { status, headers: sent } = responses.get(path) ?? { status: 200, headers: {} }
      response.writeHead(status, sent).end()
    })
  })
  await new Promise<void>((ready, fail) => {
    server.once('error', fail)
    server.listen(port, host, ready)
  })
  const base = (url ?? `http://127.0.0.1:${(server.address() as AddressInfo).port}`).replace(/\/$/, '')
  return {
    url: (path) => base + path,
    received: (path) => deliveries.get(path) ?? [],
    respond: (path, status, headers = {}) => void responses.set(path, { status, headers }),
    onDelivery: (path, run) => void listeners.set(path, run),
    close: () =>
      new Promise((done) => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return {}
  }
}
