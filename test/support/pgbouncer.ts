import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LENT } from './postgres-cluster.ts'
import { freePort } from './process.ts'

const BINARY = process.env.TEST_PGBOUNCER ?? 'pgbouncer'
/** The first version that keeps prepared statements in transaction mode. */
const KEEPS_PREPARED = [1, 21]

const version = () => spawnSync(BINARY, ['--version'], { encoding: 'utf8' })

/** Why there is no PgBouncer on this machine, or nothing when there is one. */
export function whyNoPgBouncer(): string | undefined {
  return version().status === 0 ? undefined : 'there is no pgbouncer on this machine'
}

/** Why PgBouncer loses prepared statements in transaction mode, or nothing when it keeps them. */
export function whyNotPrepared(): string | undefined {
  const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(version().stdout ?? '') ?? []
  const keeps = Number(major) > KEEPS_PREPARED[0]! || Number(minor) >= KEEPS_PREPARED[1]!
  return keeps ? undefined : `PgBouncer ${major}.${minor} does not keep prepared statements; 1.21 does`
}

export interface PgBouncer {
  /** The database through it, as `DATABASE_URL`. */
  url: string
  stop: () => Promise<void>
}

/** Every other session, so that consecutive transactions of a connection rarely share one. */
const SESSIONS = 6

/** A throwaway PgBouncer in transaction mode in front of the server of `url`, on a free loopback port. */
export async function createPgBouncer(url: string, { isPrepared = false } = {}): Promise<PgBouncer> {
  const { hostname, port: serverPort, username, pathname } = new URL(url)
  const folder = mkdtempSync(join(tmpdir(), 'referral-pgbouncer-'))
  chmodSync(folder, 0o755)
  const port = await freePort()
  const users = join(folder, 'users.txt')
  const config = join(folder, 'pgbouncer.ini')
  writeFileSync(users, `"${username}" ""\n`)
  writeFileSync(
    config,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${SESSIONS}
server_round_robin = 1
max_client_conn = 500
query_wait_timeout = 5
server_connect_timeout = 3
server_login_retry = 1
${isPrepared ? 'max_prepared_statements = 200' : ''}
`,
  )
  const child = spawn(BINARY, [config], { ...LENT, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = new Promise((done) => child.once('exit', done))
  await new Promise<void>((up, fail) => {
    let log = ''
    child.stderr.on('data', (chunk) => {
      log = (log + chunk).slice(-10_000)
      if (log.includes('process up')) up()
    })
    child.once('error', fail)
    child.once('exit', (code) => fail(new Error(`pgbouncer ended with ${code}: ${log}`)))
  })
  return {
    url: `postgres://${username}@127.0.0.1:${port}${pathname}?pgbouncer=true${isPrepared ? '&prepare=true' : ''}`,
    stop: async () => {
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
