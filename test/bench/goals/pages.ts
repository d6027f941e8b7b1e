import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createCluster } from '../../support/postgres-cluster.ts'
import { CACHE, schemaDigest } from '../harness/data.ts'
import type { LargeShop } from '../harness/fill-large-shop.ts'
import type { Options } from '../harness/options.ts'
import { say } from '../harness/report.ts'
import { launchOurs } from '../harness/subject.ts'
import { requestsOf, type Timed } from './page-requests.ts'

const FILL = fileURLToPath(new URL('../harness/fill-large-shop.ts', import.meta.url))
const TRIES = 9
/** A request that takes longer than this in all is not sent again. */
const ENOUGH_MS = 2500
const GOAL_MS = 50
const ENGINES = ['SQLite', 'PostgreSQL'] as const
type Engine = (typeof ENGINES)[number]

/** The times of one request, in milliseconds. */
interface Times {
  first: number
  p50: number
  worst: number
  /** The longest wait of another request in the meantime. */
  others: number
}

type Measured = Map<Engine, Times>

/** The time of each page of the dashboard and of each read of the owner API, in a shop of the largest size. */
export async function pages({ rows, engines, only }: Options): Promise<void> {
  const size = { commissions: rows, affiliates: Math.ceil(rows / 10) }
  const all = new Map<string, Measured>()
  for (const engine of ENGINES.filter((one) => engines.includes(one.toLowerCase()))) {
    await withShop(engine, size, async (shop) => {
      const ours = await launchOurs({ DATABASE_URL: shop.url })
      await sleep(1500)
      const cookies = await Promise.all(shop.tokens.map((token) => signIn(ours.url, token)))
      for (const request of requestsOf(shop, size).filter(({ path }) => path.includes(only))) {
        const times = await timesOf(ours.url, request, { shop, cookies })
        // Visible before the end, since a whole run takes minutes.
        say(`${engine} ${cells(times)}  ${request.name}`)
        const measured = all.get(request.name) ?? new Map()
        all.set(request.name, measured.set(engine, times))
      }
      await ours.stop()
    })
  }
  print(all)
}

async function withShop(
  engine: Engine,
  size: { commissions: number; affiliates: number },
  work: (shop: LargeShop) => Promise<void>,
): Promise<void> {
  mkdirSync(CACHE, { recursive: true })
  const file = join(CACHE, `large-${engine}-${size.commissions}-${schemaDigest()}.json`)
  const fill = (env: Record<string, string>) => {
    const args = [FILL, file, String(size.commissions), String(size.affiliates)]
    execFileSync(process.execPath, args, { env: { ...process.env, ...env }, stdio: 'inherit' })
    return JSON.parse(readFileSync(file, 'utf8')) as LargeShop
  }
  if (engine === 'SQLite') {
    if (!existsSync(file)) {
      const made = fill({ TEST_ENGINE: 'sqlite' })
      const kept = file.replace(/json$/, 'db')
      renameSync(made.url.slice('file:'.length), kept)
      writeFileSync(file, JSON.stringify({ ...made, url: `file:${kept}` }))
    }
    return work(JSON.parse(readFileSync(file, 'utf8')))
  }
  // One that is running already and filled, which filling takes minutes.
  const given = process.env.BENCH_POSTGRES_SHOP
  if (given) return work(JSON.parse(readFileSync(given, 'utf8')))
  const cluster = await createCluster(['shared_buffers=2GB', 'max_wal_size=16GB', 'maintenance_work_mem=256MB'])
  try {
    await work(fill({ TEST_ENGINE: 'postgres', TEST_POSTGRES_URL: cluster.url }))
  } finally {
    rmSync(file, { force: true })
    await cluster.remove()
  }
}

async function signIn(url: string, token: string): Promise<string> {
  const reply = await fetch(`${url}/admin/v1/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`)
  return reply.headers.get('Set-Cookie')?.split(';')[0] ?? ''
}

interface Callers {
  shop: LargeShop
  cookies: string[]
}

let asked = 0

async function timesOf(url: string, request: Timed, { shop, cookies }: Callers): Promise<Times> {
  const times: number[] = []
  const others = pingWhile(url)
  for (let i = 0; i < TRIES && times.reduce((sum, one) => sum + one, 0) < ENOUGH_MS; i++) {
    const n = asked++ % cookies.length
    const headers: Record<string, string> = request.path.startsWith('/api/')
      ? { Authorization: `Bearer ${shop.keys[n]}` }
      : request.path.startsWith('/admin/v1/')
        ? { Authorization: `Bearer ${shop.tokens[n]}` }
        : { Cookie: cookies[n] ?? '' }
    const startedAt = performance.now()
    const reply = await fetch(`${url}${request.path}`, { headers, redirect: 'manual' })
    const [first, ...rest] = await readParts(reply)
    const end = performance.now()
    times.push((request.isDownload ? (first?.at ?? end) : end) - startedAt)
    const text = [first, ...rest].map((part) => part?.text ?? '').join('')
    if (reply.status !== (request.status ?? 200)) {
      say(`${request.name} answered ${reply.status}: ${text.slice(0, 100)}`)
      break
    }
    // Does not measure a queue.
    await sleep(5)
  }
  const sorted = times.toSorted((a, b) => a - b)
  const [first = 0] = times
  return { first, p50: sorted[sorted.length >> 1] ?? 0, worst: sorted.at(-1) ?? 0, others: await others() }
}

/** The parts of a body, and when each arrived. */
async function readParts({ body }: Response): Promise<{ text: string; at: number }[]> {
  const parts: { text: string; at: number }[] = []
  if (body)
    for await (const text of body.pipeThrough(new TextDecoderStream())) parts.push({ text, at: performance.now() })
  return parts
}

/** Sends small requests one after another. Returns the longest wait. */
function pingWhile(url: string): () => Promise<number> {
  let isDone = false
  const pinging = (async () => {
    let longest = 0
    while (!isDone) {
      const startedAt = performance.now()
      await (await fetch(`${url}/healthz`)).arrayBuffer()
      longest = Math.max(longest, performance.now() - startedAt)
      await sleep(4)
    }
    return longest
  })()
  return () => {
    isDone = true
    return pinging
  }
}

const cells = (times: Times | undefined) =>
  times
    ? [times.p50, times.first, times.worst, times.others].map((ms) => ms.toFixed(1).padStart(8)).join('')
    : ''.padStart(32)

function print(all: Map<string, Measured>): void {
  console.log(`${'ms: p50, first, worst, others'.padEnd(64)}${ENGINES.map((one) => one.padStart(34)).join('')}`)
  let missed = 0
  for (const [name, measured] of all) {
    const isMissed = [...measured.values()].some(({ p50 }) => p50 > GOAL_MS)
    if (isMissed) missed++
    const row = ENGINES.map((one) => `  ${cells(measured.get(one))}`).join('')
    console.log(`${name.padEnd(64)}${row}${isMissed ? '  missed' : ''}`)
  }
  say(`${all.size - missed} of ${all.size} with a median within ${GOAL_MS} ms`)
}
