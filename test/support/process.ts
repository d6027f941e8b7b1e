import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url))

/** Shared by the hundreds of processes that the tests start, which otherwise compile the same modules each time. */
export const COMPILE_CACHE = join(tmpdir(), 'referral-test-compile-cache')

export interface Finished {
  code: number | null
  stdout: string
  stderr: string
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  const { port } = server.address() as { port: number }
  await new Promise((done) => server.close(done))
  return port
}

function start(args: string[], env: Record<string, string>, under: string[] = []): ChildProcess {
  const plain = { PATH: process.env.PATH ?? '', NODE_NO_WARNINGS: '1', NODE_COMPILE_CACHE: COMPILE_CACHE }
  const [command = '', ...rest] = [...under, process.execPath, MAIN, ...args]
  return spawn(command, rest, { env: { ...plain, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Runs an operator command to its end. */
export function run(args: string[], env: Record<string, string>): Promise<Finished> {
  return new Promise((resolve) => {
    const child = start(args, env)
    let stdout = ''
    let stderr = ''
    child.stdout?.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

export interface RunningServer {
  url: string
  pid: number
  output: () => string
  log: () => string
  /** Sends the signal and waits for the end. */
  stop: (signal?: NodeJS.Signals) => Promise<number | null>
}

/**
 * Starts a real server process and waits for its `listening on` line. `under`: a command that runs it and becomes it. Without
 * `PORT`, it uses a free one, and another one if a process took that in between.
 */
export async function startServer(env: Record<string, string>, under: string[] = []): Promise<RunningServer> {
  if (env.PORT !== undefined) return startServerOn(env.PORT, env, under)
  for (;;) {
    const port = String(await freePort())
    try {
      return await startServerOn(port, env, under)
    } catch (error) {
      if (!String(error).includes(`port ${port} is already in use`)) throw error
    }
  }
}

async function startServerOn(port: string, env: Record<string, string>, under: string[]): Promise<RunningServer> {
  const child = start(['serve'], { ...env, PORT: port }, under)
  let stdout = ''
  let stderr = ''
  const ended = new Promise<number | null>((done) => child.once('close', done))
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  await new Promise<void>((up, fail) => {
    child.stdout?.on('data', (chunk) => {
      stdout += chunk
      if (/^listening on /m.test(stdout)) up()
    })
    child.once('close', (code) => fail(new Error(`the server ended with ${code}: ${stderr}`)))
  })
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    output: () => stdout,
    log: () => stderr,
    stop: (signal = 'SIGTERM') => {
      child.kill(signal)
      return ended
    },
  }
}
