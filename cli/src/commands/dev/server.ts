import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CliError, exitCode } from '../../errors.ts'

/** A server process whose data is deleted when it stops. */
export interface DevServer {
  baseUrl: string
  apiKey: string
  ownerToken: string
  shopId: string
  /** Resolves when the server process ends, with its exit code. */
  ended: Promise<number | null>
  stop: () => Promise<void>
}

/** An in-memory file system, if there is one. */
const DATA_ROOT = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

export async function startServer(options: {
  port: number | undefined
  webhookTarget: string
  path: string
}): Promise<DevServer> {
  const main = fileURLToPath(resolveServerMain())
  const dataDir = mkdtempSync(join(DATA_ROOT, 'referral-dev-'))
  const port = options.port ?? (await freePort())
  const child = spawn(process.execPath, [main, 'serve'], {
    // The caller's environment is not passed on: its DATABASE_URL may point to real data.
    env: {
      PATH: options.path,
      PORT: String(port),
      LOG_LEVEL: 'error',
      REFERRAL_DATA_DIR: dataDir,
      REFERRAL_WEBHOOK_ALLOW: options.webhookTarget,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // In its own process group, so that Ctrl-C reaches only the CLI, which then stops the server.
    detached: process.platform !== 'win32',
  })
  const ended = new Promise<number | null>((done) => child.once('close', done))
  const cleanUp = () => rmSync(dataDir, { recursive: true, force: true })
  process.once('exit', () => {
    child.kill('SIGKILL')
    cleanUp()
  })
  await waitUntilListening(child, ended)
  return {
    ...readDemoEnv(join(dataDir, 'demo.env')),
    ended,
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      cleanUp()
    },
  }
}

function resolveServerMain(): string {
  try {
    return import.meta.resolve('@referral/server/main')
  } catch {
    throw new CliError(exitCode.notFound, 'The package @referral/server is not installed.', {
      code: 'server_missing',
      hint: 'Install it with the CLI (npm install --global @referral/server), or run npx -p @referral/cli -p @referral/server referral dev.',
    })
  }
}

async function waitUntilListening(child: ChildProcess, ended: Promise<number | null>): Promise<void> {
  let output = ''
  let errors = ''
  child.stderr?.on('data', (chunk) => {
    errors += chunk
  })
  const isUp = new Promise<true>((up) =>
    child.stdout?.on('data', (chunk) => {
      output += chunk
      if (/^listening on /m.test(output)) up(true)
    }),
  )
  if ((await Promise.race([isUp, ended])) === true) return
  throw new CliError(exitCode.unavailable, `The server did not start: ${errors.trim().split('\n').at(-1) ?? ''}`, {
    code: 'server_failed',
  })
}

function readDemoEnv(file: string): Pick<DevServer, 'baseUrl' | 'apiKey' | 'ownerToken' | 'shopId'> {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const env = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
  const { REFERRAL_BASE_URL, REFERRAL_API_KEY, REFERRAL_OWNER_TOKEN, REFERRAL_SHOP_ID } = env
  return {
    baseUrl: REFERRAL_BASE_URL ?? '',
    apiKey: REFERRAL_API_KEY ?? '',
    ownerToken: REFERRAL_OWNER_TOKEN ?? '',
    shopId: REFERRAL_SHOP_ID ?? '',
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const { port } = server.address() as { port: number }
  await new Promise((done) => server.close(done))
  return port
}
