// Full: needs large tables, other processes, or failures of the database.
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { run, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

let folder: ReturnType<typeof temporaryFolder>
let env: Record<string, string>
let file: (name: string) => string
beforeEach(() => {
  folder = temporaryFolder()
  env = { REFERRAL_DATA_DIR: folder.path, REFERRAL_DEMO: '0' }
  file = (name) => join(folder.path, name)
})
afterEach(() => folder.remove())

const names = () => readdirSync(folder.path).sort()
const shops = async () => JSON.parse((await run(['shop', 'list', '--json'], env)).stdout).data.length
/** A database that was in use, of which only the key and a backup are left. */
async function lose(): Promise<void> {
  expect((await run(['shop', 'create', '--name', 'Hats'], env)).code).toBe(0)
  expect((await run(['backup', file('kept')], env)).code).toBe(0)
  for (const name of ['referral.db', 'referral.db-wal', 'referral.db-shm']) rmSync(file(name), { force: true })
}
const sentence = () =>
  `${file('referral.db')} is missing or empty, but ${file('encryption.key')} belongs to a database: correct DATABASE_URL or restore a backup (referral-server restore <file>); to start with an empty database, move the key file away first.\n`

test.each(['serve', 'shop create --name Caps', 'check', 'migrate', 'seed --shop shp_1'])(
  '%s stops when the database is missing but its key exists, and creates nothing',
  async (command) => {
    await lose()
    const before = names()
    expect(await run(command.split(' '), env)).toEqual({ code: 1, stdout: '', stderr: sentence() })
    expect(names()).toEqual(before)
  },
)

test('an empty file is treated as a missing database', async () => {
  await lose()
  writeFileSync(file('referral.db'), '')
  expect(await run(['serve'], env)).toEqual({ code: 1, stdout: '', stderr: sentence() })
  truncateSync(file('referral.db'))
  expect(await run(['check'], env)).toMatchObject({ code: 1, stderr: sentence() })
})

test('a damaged file is named, and replaced by a backup', async () => {
  await lose()
  writeFileSync(file('referral.db'), 'this is not a database, and longer than its header'.repeat(9))
  for (const command of ['serve', 'check'])
    expect(await run([command], env)).toMatchObject({ code: 1, stderr: expect.stringContaining(file('referral.db')) })
  expect((await run(['restore', file('kept')], env)).code).toBe(0)
  expect(await shops()).toBe(1)
})

test('the message lists two solutions, and both work: restore a backup, or move the key', async () => {
  await lose()
  expect((await run(['restore', file('kept')], env)).code).toBe(0)
  expect(await shops()).toBe(1)

  rmSync(file('referral.db'))
  rmSync(file('encryption.key'))
  const server = await startServer(env)
  await server.stop()
  expect(await shops()).toBe(0)
  expect(existsSync(file('encryption.key'))).toBe(true)
})

test('a backup is restored to an empty folder, without generating a wrong key', async () => {
  await lose()
  const key = readFileSync(file('encryption.key'))
  rmSync(file('encryption.key'))
  expect((await run(['restore', file('kept')], env)).code).toBe(0)
  expect(existsSync(file('encryption.key'))).toBe(false)
  expect((await run(['serve'], env)).stderr).toContain('restore the encryption key')
  writeFileSync(file('encryption.key'), key, { mode: 0o600 })
  expect(await shops()).toBe(1)
})

test('parallel and interrupted first starts count as first starts', async () => {
  const runs = await Promise.all(Array.from({ length: 4 }, () => run(['shop', 'list'], env)))
  expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual(Array(4).fill([0, '']))
  expect(names()).toEqual(['encryption.key', 'referral.db'])

  for (const name of names()) rmSync(file(name))
  // Stopped by an invalid setting that is read after the key was created.
  expect((await run(['serve'], { ...env, LOG_LEVEL: 'loud' })).code).toBe(1)
  expect(existsSync(file('encryption.key'))).toBe(true)
  const server = await startServer(env)
  await server.stop()
  expect(names()).toEqual(['encryption.key', 'referral.db'])
})

test('with the key in the environment, an empty database is a first start', async () => {
  await lose()
  const key = readFileSync(file('encryption.key'), 'utf8').trim()
  env = { ...env, REFERRAL_ENCRYPTION_KEY: key }
  expect(await shops()).toBe(0)
})

test('check creates nothing where there is no database, with any source of the key', async () => {
  const sentence = `There is no database at ${file('referral.db')}. Correct DATABASE_URL or restore a backup.\n`
  const key = { REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') }
  for (const more of [{}, key])
    expect(await run(['check'], { ...env, ...more })).toEqual({ code: 1, stdout: '', stderr: sentence })
  expect(names()).toEqual([])
})

test('check does not pass a database without a shop', async () => {
  expect((await run(['migrate'], env)).code).toBe(0)
  const { code, stdout } = await run(['check'], env)
  expect([code, stdout.split('\n')[0]]).toEqual([1, expect.stringMatching(/no shop.* DATABASE_URL/)])
})
