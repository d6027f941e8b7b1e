import { createHmac } from 'node:crypto'
import { Agent, request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'
import type { LoadCall, LoadStream } from './steady-load.ts'

const { url, streams, seconds } = workerData as { url: string; streams: LoadStream[]; seconds: number }
const statuses: Record<string, number> = {}
/** Unanswered requests fill memory; beyond this, requests are skipped. */
const MAX_OPEN = 32
const PATIENCE_MS = 60_000
const agent = new Agent({ keepAlive: true, maxSockets: MAX_OPEN })
const open = new Set<Promise<void>>()
// Numbers that no other load on the same database has used.
let made = Date.now() * 1000

interface PreparedCall {
  method: string
  path: string
  headers: Record<string, string | number>
  /** The body around and including its number; the large rest is shared by all. */
  body: Buffer[]
}

const bodies = new Map<LoadCall, Buffer[]>()

function prepare(call: LoadCall, token: string): PreparedCall {
  const n = String(++made)
  const { method, path, headers = {}, storeSecret } = call
  if (!bodies.has(call))
    bodies.set(
      call,
      (call.body?.split('{n}') ?? []).map((part) => Buffer.from(part)),
    )
  const [first, ...rest] = bodies.get(call)!
  const body = first ? [first, ...rest.flatMap((part) => [Buffer.from(n), part])] : []
  const signature = storeSecret && createHmac('sha256', storeSecret)
  if (signature) for (const part of body) signature.update(part)
  const own = Object.entries(headers).map(([name, value]) => [name, value.replace('{n}', n)])
  return {
    method,
    path,
    headers: {
      ...(signature ? { 'X-Shopify-Hmac-Sha256': signature.digest('base64') } : { Authorization: `Bearer ${token}` }),
      ...(first && { 'Content-Length': body.reduce((sum, part) => sum + part.length, 0) }),
      ...Object.fromEntries(own),
    },
    body,
  }
}

const send = ({ method, path, headers, body }: PreparedCall): Promise<void> =>
  new Promise((resolve) => {
    const count = (status: string) => {
      statuses[status] = (statuses[status] ?? 0) + 1
      resolve()
    }
    const sent = request(`${url}${path}`, { method, headers, agent, timeout: PATIENCE_MS }, (response) => {
      response.resume().once('end', () => count(String(response.statusCode)))
      response.once('error', () => count('none'))
    })
    // A server that rejects a body before it has arrived closes the connection.
    sent.once('error', () => count('none'))
    sent.once('timeout', () => sent.destroy())
    for (const part of body) sent.write(part)
    sent.end()
  })

const prepared = streams.map(({ perSecond, calls, tokens }) => ({
  perSecond,
  // More than are sent before the load is stopped.
  calls: Array.from({ length: Math.ceil(perSecond * (seconds + 2)) }, (_, n) =>
    prepare(calls[n % calls.length]!, tokens[n % tokens.length] ?? ''),
  ),
}))

const timers = prepared.map(({ perSecond, calls }) => {
  const startedAt = performance.now()
  let sent = 0
  return setInterval(() => {
    for (; sent < calls.length && sent < ((performance.now() - startedAt) / 1000) * perSecond; sent++) {
      if (open.size >= MAX_OPEN) continue
      const sending = send(calls[sent]!)
      open.add(sending)
      void sending.finally(() => open.delete(sending))
    }
  }, 5)
})

parentPort?.once('message', async () => {
  for (const timer of timers) clearInterval(timer)
  await Promise.all(open)
  agent.destroy()
  parentPort?.postMessage(statuses)
})
parentPort?.postMessage('ready')
