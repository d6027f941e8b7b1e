// Full: it starts other processes.
import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createCluster, type PostgresCluster } from '../support/postgres-cluster.ts'
import { run } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const MAIN = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url))
const page = readFileSync(new URL('../../docs/self-hosting/backups.md', import.meta.url), 'utf8')
const documented = (tool: string) => new RegExp(`^${tool} .+$`, 'm').exec(page)?.[0] ?? `no ${tool} in the docs`

/** An installed PostgreSQL with its tools and extensions: the package for tests has neither pg_dump nor pg_restore. */
const bin = globSync(['/usr/lib/postgresql/*/bin/pg_restore', '/opt/homebrew/opt/postgresql@*/bin/pg_restore'])
  .map((file) => dirname(file))
  .find((folder) => ['initdb', 'postgres', 'pg_dump', 'psql'].every((tool) => existsSync(`${folder}/${tool}`)))
if (!bin) console.warn('skipped: backup and restore with pg_dump, because no PostgreSQL is installed')

describe.skipIf(!bin)('the documented commands, in a database with an extension of a superuser', () => {
  const folder = temporaryFolder()
  let cluster: PostgresCluster
  let url: string
  let env: Record<string, string>
  let made = 0

  beforeAll(async () => {
    cluster = await createCluster(['fsync=off', 'shared_preload_libraries=pg_stat_statements'], { installed: bin })
    await asSuperuser('postgres', 'create role referral login')
  }, 60_000)
  afterAll(async () => {
    await cluster?.remove()
    folder.remove()
  })

  beforeEach(async () => {
    url = await createDatabase()
    env = {
      REFERRAL_DATA_DIR: folder.path,
      DATABASE_URL: url,
      REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 5).toString('base64'),
    }
    await command('shop', 'create', '--name', 'Hats')
  })

  async function asSuperuser(database: string, statement: string): Promise<object[]> {
    const client = new pg.Client(cluster.urlOf(database))
    await client.connect()
    const { rows } = await client.query(statement)
    await client.end()
    return rows
  }

  async function createDatabase(): Promise<string> {
    const name = `shop_${++made}`
    await asSuperuser('postgres', `create database ${name} owner referral`)
    await asSuperuser(name, 'create extension pg_stat_statements')
    return cluster.urlOf(name).replace('postgres@', 'referral@')
  }

  async function command(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(args, env)
    expect([code, stderr]).toEqual([0, ''])
    return stdout
  }

  /** Runs a command of the page as an administrator would, in a separate folder. */
  const shell = (text: string, more: Record<string, string> = {}): SpawnSyncReturns<string> =>
    spawnSync('sh', ['-c', `run() { "$NODE" "$MAIN" "$@"; }\n${text}`], {
      cwd: folder.path,
      encoding: 'utf8',
      env: { ...env, NODE: process.execPath, MAIN, PATH: `${bin}:${process.env.PATH}`, ...more },
    })

  /** `check` reports its progress. */
  const withoutProgress = (text: string) => text.replaceAll(/^Checking .*\n/gm, '')
  const shops = () => command('shop', 'list')

  test('a restore replaces what was changed after the backup, and check passes', async () => {
    const before = await shops()
    expect(shell(documented('pg_dump'))).toMatchObject({ status: 0, stderr: '' })
    await command('shop', 'create', '--name', 'Caps')
    const restored = shell(documented('pg_restore'))
    expect([restored.status, withoutProgress(restored.stderr)]).toEqual([0, ''])
    expect(restored.stdout).toMatch(/^No problems found/)
    expect(await shops()).toBe(before)
  })

  test('the backup is restored into a new database', async () => {
    const before = await shops()
    expect(shell(documented('pg_dump')).status).toBe(0)
    env.DATABASE_URL = await createDatabase()
    const restored = shell(documented('pg_restore').replace(' --clean --if-exists', ''))
    expect([restored.status, withoutProgress(restored.stderr)]).toEqual([0, ''])
    expect(await shops()).toBe(before)
  })

  test('a dump of the replaced database is compared with the restored one', async () => {
    const copy = /^pg_dump .+ \| pg_restore .+$/m.exec(page)?.[0] ?? 'no copy in the docs'
    const replaced = await createDatabase()
    expect(shell(copy.replace('postgres://…/referral_replaced', replaced))).toMatchObject({ status: 0, stderr: '' })
    expect(await command('payouts', 'recover', '--from', replaced)).toBe('No payment is missing.\n')
  })

  test('a later backup contains no trace of an erased person, and the person is erased again after the restore of an earlier one', async () => {
    const [shopId = ''] = (await shops()).split('\t')
    const few = ['--affiliates', '1', '--commissions', '0', '--clicks', '0']
    expect((await run(['seed', '--shop', shopId, ...few], env)).code).toBe(0)
    const hasTrace = () => {
      const { status, stdout } = shell('pg_dump "$DATABASE_URL"')
      expect(status).toBe(0)
      return stdout.includes('seed-1@example')
    }
    expect([shell(documented('pg_dump')).status, hasTrace()]).toEqual([0, true])
    await command('privacy', 'erase', '--shop', shopId, '--customer', 'Seed-1@example.com')
    expect(hasTrace()).toBe(false)

    const file = `${folder.path}/erasures.ndjson`
    await command('privacy', 'log', file)
    expect(shell(documented('pg_restore')).status).toBe(0)
    expect(hasTrace()).toBe(true)
    expect(await command('privacy', 'repeat', file)).toBe('1 erasures repeated, 0 were not necessary.\n')
    expect(hasTrace()).toBe(false)
  }, 60_000)

  test('a restore that fails changes nothing', async () => {
    expect(shell(documented('pg_dump')).status).toBe(0)
    await command('shop', 'create', '--name', 'Caps')
    const before = await shops()
    const name = url.split('/').at(-1)!
    await asSuperuser(name, 'create schema reporting create view reporting.shops as select id from public.shops')
    const restored = shell(documented('pg_restore'))
    expect([restored.status, restored.stderr]).toEqual([1, expect.stringContaining('other objects depend on it')])
    expect(await shops()).toBe(before)
  })

  test('check rejects an empty database in one sentence and creates no schema', async () => {
    env.DATABASE_URL = await createDatabase()
    const sentence = 'The database is empty. Correct DATABASE_URL or restore a backup.\n'
    expect(await run(['check'], env)).toEqual({ code: 1, stdout: '', stderr: sentence })
    const name = env.DATABASE_URL.split('/').at(-1)!
    const tables = `select tablename from pg_tables where schemaname = 'public'`
    expect(await asSuperuser(name, tables)).toEqual([])
  })
})
