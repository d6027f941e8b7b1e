// Full: it measures other requests beside hostile ones.
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { manyNames } from '../fuzz/heavy.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const MANY = 16
const MAX_WAIT_MS = 100
/** Other processes on a busy machine slow down some tries. A key may send 100 requests per minute. */
const TRIES = 6

let folder: ReturnType<typeof temporaryFolder>
let server: RunningServer
let key: string
beforeAll(async () => {
  folder = temporaryFolder()
  server = await startServer({ REFERRAL_DATA_DIR: folder.path })
  key = /^REFERRAL_API_KEY=(.*)$/m.exec(readFileSync(join(folder.path, 'demo.env'), 'utf8'))![1]!
})
afterAll(async () => {
  await server.stop('SIGKILL')
  folder.remove()
})

/** Returns the status; `body` makes it a POST. */
const send = (path: string, headers: Record<string, string> = {}, body?: Buffer): Promise<number> =>
  new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { method: body ? 'POST' : 'GET', headers }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    })
    sent.once('error', reject)
    sent.end(body)
  })

let sent = 0
const conversion = () => {
  const body = Buffer.from(`{"externalOrderId":"many-${++sent}","amountCents":1,"x":${manyNames(`n${sent}_`)}}`)
  return { body, headers: { Authorization: `Bearer ${key}`, 'Idempotency-Key': `many-${sent}` } }
}

/** The longest wait for /healthz until all work is done. */
async function longestWait(work: Promise<unknown>): Promise<number> {
  let longest = 0
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  while (!isOver) {
    const started = performance.now()
    await send('/healthz')
    longest = Math.max(longest, performance.now() - started)
    await sleep(2)
  }
  await over
  return longest
}

test(`/healthz answers within ${MAX_WAIT_MS} ms while one key sends ${MANY} of the heaviest bodies at once`, {
  timeout: 60_000,
}, async () => {
  const waits: number[] = []
  while (waits.length < TRIES && !waits.some((ms) => ms < MAX_WAIT_MS)) {
    const bodies = Array.from({ length: MANY }, conversion)
    const work = Promise.all(bodies.map(({ headers, body }) => send('/api/v1/events', headers, body)))
    waits.push(await longestWait(work))
    const statuses = await work
    // More than the shop's share of memory is rejected.
    expect(new Set([...statuses, 503])).toEqual(new Set([201, 503]))
    expect(statuses.filter((status) => status === 201).length).toBeGreaterThan(MANY / 3)
  }
  console.log(`/healthz waited ${waits.map((ms) => ms.toFixed(0)).join(', ')} ms`)
  expect(Math.min(...waits)).toBeLessThan(MAX_WAIT_MS)
})
