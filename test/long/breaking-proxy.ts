import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

/** What happens to a request. `before` the server sees it, or `after` it has responded. */
export const BREAKS = {
  'reset before the request is forwarded': { when: 'before', act: (_, response) => response.destroy() },
  'reset before the response': { when: 'after', act: (_, response) => response.destroy() },
  'reset in the middle of the response': {
    when: 'after',
    act: async ({ status, headers, body }, response) => {
      response.writeHead(status, headers)
      response.write(body.subarray(0, body.length >> 1))
      await sleep(5)
      response.destroy()
    },
  },
  'no response, until the timeout': { when: 'after', act: () => {} },
  '502 with a page, after the request was applied': { when: 'after', act: (_, response) => page(response, 502) },
  '503 with a page, before it was': { when: 'before', act: (_, response) => page(response, 503) },
  '504 with a message in JSON': {
    when: 'after',
    act: (_, response) => void response.writeHead(504, JSON_TYPE).end('{"error":"upstream timed out"}'),
  },
  '200 with a page': { when: 'after', act: (_, response) => page(response, 200) },
  '201 with half of the JSON': {
    when: 'after',
    act: ({ status, body }, response) =>
      void response.writeHead(status, JSON_TYPE).end(body.subarray(0, body.length >> 1)),
  },
  '201 with another object': {
    when: 'after',
    act: ({ status }, response) => void response.writeHead(status, JSON_TYPE).end('{"status":"ok"}'),
  },
  '200 without a body': { when: 'after', act: (_, response) => void response.writeHead(200).end() },
  'a redirect to a sign-in page': {
    when: 'before',
    act: (_, response) => void response.writeHead(302, { Location: 'https://proxy.example/sign-in' }).end(),
  },
  '407 of a proxy': { when: 'before', act: (_, response) => page(response, 407) },
  '429 with a page': { when: 'before', act: (_, response) => page(response, 429) },
} satisfies Record<string, { when: 'before' | 'after'; act: (reply: Reply, response: ServerResponse) => unknown }>

export type Break = keyof typeof BREAKS

interface Reply {
  status: number
  headers: Record<string, string>
  body: Buffer
}

const JSON_TYPE = { 'Content-Type': 'application/json' }
const page = (response: ServerResponse, status: number): void =>
  void response.writeHead(status, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Proxy</title>')

/** An HTTP proxy that breaks requests. The choice gets each request, and undefined lets it pass. */
export async function startBreakingProxy(
  target: () => string,
  choose: (request: IncomingMessage) => Break | undefined,
) {
  const server = createServer(async (request, response) => {
    const chosen = choose(request)
    const { when, act } = chosen ? BREAKS[chosen] : { when: 'after', act: pass }
    const body = await buffer(request)
    const none: Reply = { status: 0, headers: {}, body: Buffer.alloc(0) }
    try {
      await act(when === 'after' ? await forward(request, body) : none, response)
    } catch {
      // The server is down.
      response.destroy()
    }
  })
  const forward = async ({ method = '', url = '', headers }: IncomingMessage, body: Buffer): Promise<Reply> => {
    const { host: _, connection: __, 'content-length': ___, ...sent } = headers as Record<string, string>
    const response = await fetch(`${target()}${url}`, {
      method,
      headers: sent,
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    })
    const { 'content-length': ____, connection: _____, ...received } = Object.fromEntries(response.headers)
    return { status: response.status, headers: received, body: Buffer.from(await response.arrayBuffer()) }
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const pass = ({ status, headers, body }: Reply, response: ServerResponse) =>
  void response.writeHead(status, headers).end(body)
