import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createCluster } from '../../support/postgres-cluster.ts'
import { freePort } from '../../support/process.ts'
import type { Template } from '../harness/load.ts'
import type { Subject } from '../harness/subject.ts'

/** Git-ignored; each is installed on first use. */
const FOLDER = fileURLToPath(new URL('../.peers/', import.meta.url))
const ROWS = 10_000

/** The requests to send. */
interface Requests {
  list: Template
  create: Template
  keys: string[]
}

export interface Heavy {
  name: string
  packages: string[]
  /** Starts it on this port and PostgreSQL, with rows and a unique order id. */
  start: (at: { folder: string; port: number; database: string }) => Promise<Requests & { child: ChildProcess }>
}

/** Installs a server at its first use, and starts it on PostgreSQL for the time of this work. */
export async function withHeavy(
  { name, packages, start }: Heavy,
  work: (running: Requests & { subject: Subject }) => Promise<void>,
): Promise<void> {
  const folder = join(FOLDER, name.split(' ')[0]?.toLowerCase() ?? '')
  install(folder, packages)
  const cluster = await createCluster()
  const port = await freePort()
  try {
    const { child, ...requests } = await start({ folder, port, database: cluster.url })
    const stop = async () => void child.kill('SIGKILL')
    // Most of its CPU time is PostgreSQL's, which cannot be compared.
    const usage = async () => ({ cpuMicros: 0, rssBytes: 0 })
    const subject = { name, url: `http://127.0.0.1:${port}`, usage, ask: usage, stop }
    await work({ ...requests, subject }).finally(stop)
  } finally {
    await cluster.remove()
  }
}

function install(folder: string, packages: string[]): void {
  if (existsSync(join(folder, 'node_modules', packages[0]?.replace(/@[^@]+$/, '') ?? ''))) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const args = ['install', '--no-audit', '--no-fund', ...packages]
  const { status, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8', timeout: 400_000 })
  if (status !== 0) throw new Error(`npm install failed: ${stderr.slice(-300)}`)
}

/** Polls until it responds, for at most three minutes. */
async function until(url: string, child: ChildProcess): Promise<void> {
  for (let n = 0; n < 360; n++) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode} at its start`)
    const isUp = await fetch(url).then(
      (response) => response.status < 500,
      () => false,
    )
    if (isUp) return
    await sleep(500)
  }
  throw new Error('it did not answer within three minutes')
}

const json = { 'Content-Type': 'application/json' }

async function post(url: string, headers: Record<string, string>, body: unknown): Promise<unknown> {
  const response = await fetch(url, { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 200)}`)
  return text && JSON.parse(text)
}

const rowOf = (n: number | string) => ({
  orderId: `row-${n}`,
  amountCents: 12_345,
  currency: 'USD',
  status: 'APPROVED',
})

export const parse: Heavy = {
  name: 'parse-server 9 on PostgreSQL',
  packages: ['parse-server@9.10.0'],
  start: async ({ folder, port, database }) => {
    const url = `http://127.0.0.1:${port}/parse`
    const config = join(folder, 'config.json')
    const keys = { appId: 'bench', masterKey: 'master', restAPIKey: 'rest' }
    writeFileSync(
      config,
      JSON.stringify({
        ...keys,
        databaseURI: database,
        serverURL: url,
        port,
        host: '127.0.0.1',
        mountPath: '/parse',
        logLevel: 'error',
        silent: true,
        allowClientClassCreation: true,
        // A request id is unique, which prevents recording an order twice.
        idempotencyOptions: { paths: ['classes/Commission'], ttl: 300 },
      }),
    )
    const child = spawn(process.execPath, [join(folder, 'node_modules/parse-server/bin/parse-server'), config], {
      cwd: folder,
      stdio: 'ignore',
    })
    await until(`${url}/health`, child)
    const master = { 'X-Parse-Application-Id': 'bench', 'X-Parse-Master-Key': 'master' }
    const fields = {
      orderId: { type: 'String' },
      amountCents: { type: 'Number' },
      currency: { type: 'String' },
      status: { type: 'String' },
    }
    await post(`${url}/schemas/Commission`, master, { className: 'Commission', fields })
    for (let n = 0; n < ROWS; n += 50)
      await Promise.all(Array.from({ length: 50 }, (_, i) => post(`${url}/classes/Commission`, master, rowOf(n + i))))
    const headers = { 'X-Parse-Application-Id': 'bench', 'X-Parse-REST-API-Key': '<key>' }
    const once = { ...headers, 'X-Parse-Request-Id': 'bench-<n>' }
    return {
      child,
      keys: ['rest'],
      list: { method: 'GET', path: '/parse/classes/Commission?limit=20&count=1&order=-createdAt', headers },
      create: {
        method: 'POST',
        path: '/parse/classes/Commission',
        headers: { ...once, ...json },
        body: JSON.stringify(rowOf('<n>')),
      },
    }
  },
}

export const directus: Heavy = {
  name: 'Directus 12.4.0 on PostgreSQL',
  packages: ['directus@12.4.0', 'pg'],
  start: async ({ folder, port, database }) => {
    const url = `http://127.0.0.1:${port}`
    const token = 'bench-token-of-the-administrator'
    const env = {
      PATH: process.env.PATH ?? '',
      HOST: '127.0.0.1',
      PORT: String(port),
      DB_CLIENT: 'pg',
      DB_CONNECTION_STRING: database,
      SECRET: 'bench',
      PUBLIC_URL: url,
      ADMIN_EMAIL: 'bench@example.com',
      ADMIN_PASSWORD: 'bench-password',
      ADMIN_TOKEN: token,
      LOG_LEVEL: 'error',
      TELEMETRY: 'false',
      RATE_LIMITER_ENABLED: 'false',
      CACHE_ENABLED: 'false',
    }
    const cli = join(folder, 'node_modules/directus/cli.js')
    const made = spawnSync(process.execPath, [cli, 'bootstrap'], {
      cwd: folder,
      env,
      encoding: 'utf8',
      timeout: 200_000,
    })
    if (made.status !== 0) throw new Error(`bootstrap failed: ${/^.*Error.*$/m.exec(made.stderr + made.stdout)?.[0]}`)
    const child = spawn(process.execPath, [cli, 'start'], { cwd: folder, env, stdio: 'ignore' })
    await until(`${url}/server/ping`, child)
    const headers = { Authorization: `Bearer ${token}` }
    const field = (name: string, type: string, isUnique = false) => ({
      field: name,
      type,
      schema: { is_unique: isUnique },
    })
    const fields = [
      field('orderId', 'string', true),
      field('amountCents', 'integer'),
      field('currency', 'string'),
      field('status', 'string'),
    ]
    await post(`${url}/collections`, headers, { collection: 'commissions', schema: {}, meta: {}, fields })
    for (let n = 0; n < ROWS; n += 500)
      await post(
        `${url}/items/commissions`,
        headers,
        Array.from({ length: 500 }, (_, i) => rowOf(n + i)),
      )
    const bearer = { Authorization: 'Bearer <key>' }
    return {
      child,
      keys: [token],
      list: { method: 'GET', path: '/items/commissions?limit=20&sort=-id&meta=total_count', headers: bearer },
      create: {
        method: 'POST',
        path: '/items/commissions',
        headers: { ...bearer, ...json },
        body: JSON.stringify(rowOf('<n>')),
      },
    }
  },
}
