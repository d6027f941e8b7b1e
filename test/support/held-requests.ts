import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createListener } from '../../server/src/http/listen.ts'
import { answersIn, type RawAnswer } from './raw-http.ts'
import type { Reply, RequestOptions, TestServer } from './server.ts'

/** A request as a fixture would send it. */
export interface Captured {
  method: string
  path: string
  options: RequestOptions
}

/** Runs a fixture's call, and returns what it would send instead of sending it. */
export async function capture(server: TestServer, call: (server: never) => Promise<unknown>): Promise<Captured> {
  let captured: Captured | undefined
  const request = async (method: string, path: string, options: RequestOptions = {}): Promise<Reply> => {
    captured = { method, path, options }
    return { status: 200, headers: new Headers(), body: {} }
  }
  await call({ ...server, request } as never)
  if (!captured) throw new Error('the call sent nothing')
  return captured
}

/** The bytes of a request; without a body, one empty line ends it. */
export function bytesOf({ method, path, options }: Captured, credential: Record<string, string>): Buffer {
  const { body, raw } = options
  const payload = Buffer.from((raw as string | undefined) ?? (body === undefined ? '' : JSON.stringify(body)))
  const headers: Record<string, string> = { Host: '127.0.0.1', ...options.headers, ...credential, Connection: 'close' }
  if (payload.length > 0) headers['Content-Length'] = String(payload.length)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), payload])
}

export interface HeldRequests {
  port: number
  /** Sends a request but for its last byte, which the returned function sends. */
  hold: (bytes: Uint8Array) => Promise<() => Promise<RawAnswer | undefined>>
  close: () => Promise<void>
}

/** The server on a socket. */
export async function holdRequests(server: TestServer): Promise<HeldRequests> {
  let begun = 0
  const listener = createListener((request, env) => {
    begun++
    return server.app.fetch(request, env)
  }, server.deps).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  return {
    port,
    hold: async (bytes) => {
      const before = begun
      const hasBody = !Buffer.from(bytes).subarray(-4).equals(Buffer.from('\r\n\r\n'))
      const finish = await holdLastByte(port, bytes)
      // Until authorization completes; a request without a body reaches it with its last byte.
      while (hasBody && begun === before) await sleep(1)
      await sleep(hasBody ? 10 : 0)
      return finish
    },
    close: async () => {
      listener.closeAllConnections()
      await new Promise((done) => listener.close(done))
    },
  }
}

/** Sends a request but for its last byte; the returned function sends that, and reads the answer. */
export async function holdLastByte(port: number, bytes: Uint8Array): Promise<() => Promise<RawAnswer | undefined>> {
  const socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1')
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('error', () => {})
  // Not `once`, which rejects when the server answers and closes before the last byte is written.
  const closed = new Promise((done) => socket.on('close', done))
  await once(socket, 'connect')
  socket.write(bytes.subarray(0, -1))
  return async () => {
    socket.write(bytes.subarray(-1))
    socket.setTimeout(5000, () => socket.destroy())
    await closed
    return answersIn(text)[0]
  }
}
