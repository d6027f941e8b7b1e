import { createHmac } from 'node:crypto'
import { parentPort, workerData } from 'node:worker_threads'
import type { LoadCall, LoadStream } from './steady-load.ts'

const { url, streams } = workerData as { url: string; streams: LoadStream[] }
const statuses: Record<string, number> = {}
const open = new Set<Promise<void>>()
// Numbers that no other load of the same database has used.
let made = Date.now()

async function send({ method, path, headers = {}, body, storeSecret }: LoadCall, token: string): Promise<void> {
  const n = String(++made)
  const numbered = (text: string) => text.replace('{n}', n)
  const payload = body === undefined ? undefined : Buffer.from(numbered(body))
  const signed =
    storeSecret && payload
      ? { 'X-Shopify-Hmac-Sha256': createHmac('sha256', storeSecret).update(payload).digest('base64') }
      : { Authorization: `Bearer ${token}` }
  const own = Object.entries(headers).map(([name, value]) => [name, numbered(value)])
  const status = await fetch(`${url}${path}`, {
    method,
    headers: { ...signed, ...Object.fromEntries(own) },
    body: payload,
    signal: AbortSignal.timeout(PATIENCE_MS),
  }).then(
    async (response) => {
      await response.arrayBuffer()
      return String(response.status)
    },
    () => 'none',
  )
  statuses[status] = (statuses[status] ?? 0) + 1
}

/** What is not answered fills memory; beyond this, requests are left out. */
const MAX_OPEN = 32
const PATIENCE_MS = 60_000

const timers = streams.map(({ perSecond, calls, tokens }) => {
  const startedAt = performance.now()
  let sent = 0
  return setInterval(() => {
    for (; sent < ((performance.now() - startedAt) / 1000) * perSecond; sent++) {
      if (open.size >= MAX_OPEN) continue
      const sending = send(calls[sent % calls.length]!, tokens[sent % tokens.length] ?? '')
      open.add(sending)
      void sending.finally(() => open.delete(sending))
    }
  }, 5)
})

parentPort?.once('message', async () => {
  for (const timer of timers) clearInterval(timer)
  await Promise.all(open)
  parentPort?.postMessage(statuses)
})
