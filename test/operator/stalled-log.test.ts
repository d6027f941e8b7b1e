// Full: it starts other processes.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freePort } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const MAIN = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url))

/** A server whose standard error is a pipe that nobody reads until the test does. */
let child: ChildProcess
let folder: ReturnType<typeof temporaryFolder>
let port: number
beforeEach(async () => {
  folder = temporaryFolder()
  port = await freePort()
  const plain = { PATH: process.env.PATH ?? '', NODE_NO_WARNINGS: '1' }
  const env = { ...plain, PORT: String(port), REFERRAL_DATA_DIR: folder.path, REFERRAL_DEMO: '0' }
  child = spawn(process.execPath, [MAIN, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for await (const chunk of child.stdout!) {
    output += chunk
    if (/^listening on /m.test(output)) break
  }
})
afterEach(() => {
  child.kill('SIGKILL')
  folder.remove()
})

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

function get(path: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, agent, timeout: 10_000 }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({ status: response.statusCode ?? 0, text })
    })
    sent.on('error', reject).on('timeout', () => sent.destroy(new Error('no answer within 10 s')))
    sent.end()
  })
}

/** Only the responses matter here; each logs one line. */
async function manyRequests(count: number): Promise<number> {
  let left = count
  let worstMs = 0
  const work = async () => {
    while (left-- > 0) {
      const started = performance.now()
      await get('/no-such-path')
      worstMs = Math.max(worstMs, performance.now() - started)
    }
  }
  await Promise.all(Array.from({ length: 16 }, work))
  return worstMs
}

const metric = async (name: string) =>
  Number(new RegExp(`^${name} (\\d+)`, 'm').exec((await get('/metrics')).text)?.[1] ?? Number.NaN)

test('a log that is not read blocks no request, and its memory is bounded', async () => {
  expect(await manyRequests(20_000)).toBeLessThan(5000)
  expect(await metric('referral_log_lines_dropped_total')).toBeGreaterThan(1000)

  // A reader that resumes receives whole lines, and the number of missing ones.
  const lines: string[] = []
  let rest = ''
  child.stderr!.setEncoding('utf8').on('data', (chunk) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
  const isTold = () => lines.some((line) => line.includes('"log lines dropped"'))
  for (const until = performance.now() + 10_000; !isTold() && performance.now() < until; ) {
    await get('/no-such-path')
    await sleep(50)
  }
  // The queued lines: in the pipe, whose size depends on the system, and in the server.
  const waited = lines.slice(
    0,
    lines.findIndex((line) => line.includes('"log lines dropped"')),
  )
  expect(waited.join('\n').length).toBeLessThan(2 * 1024 * 1024)
  const read = lines.map((line) => JSON.parse(line) as { msg: string; dropped?: number })
  const reported = read
    .filter(({ msg }) => msg === 'log lines dropped')
    .reduce((sum, { dropped = 0 }) => sum + dropped, 0)
  expect(reported).toBe(await metric('referral_log_lines_dropped_total'))
  expect(read.length + reported).toBeGreaterThanOrEqual(20_000)
}, 120_000)

test('a server whose log is not read still exits at SIGTERM, with 0', async () => {
  await manyRequests(3000)
  const started = performance.now()
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(performance.now() - started).toBeLessThan(8000)
}, 60_000)

test('a slow reader receives all lines logged before SIGTERM', async () => {
  await manyRequests(3000)
  child.kill('SIGTERM')
  await sleep(200)
  let text = ''
  child.stderr!.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  await once(child, 'close')
  const lines = text.trim().split('\n')
  for (const line of lines) JSON.parse(line)
  expect(lines.filter((line) => line.includes('"msg":"request"'))).toHaveLength(3000)
  expect(lines.at(-1)).toContain('"stopping"')
}, 60_000)
