// Full: it starts other processes.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningServer, run, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const folder = temporaryFolder()
const env = { REFERRAL_DATA_DIR: folder.path, REFERRAL_DEMO: '0' }
let server: RunningServer
beforeAll(async () => {
  server = await startServer(env)
})
afterAll(async () => {
  await server.stop('SIGKILL')
  folder.remove()
})

const json = async (...args: string[]) => {
  const { code, stdout, stderr } = await run([...args, '--json'], env)
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout)
}
const status = async (key: string) =>
  (await fetch(`${server.url}/api/v1/programs`, { headers: { Authorization: `Bearer ${key}` } })).status

test('a shop, a key and an owner are created while the server runs, and the key works immediately', async () => {
  const { shopId, ownerToken } = await json(
    ...['shop', 'create', '--name', 'Hats', '--currency', 'EUR', '--time-zone', 'Europe/Berlin'],
  )
  expect([shopId, ownerToken]).toEqual([expect.stringMatching(/^shp_/), expect.stringMatching(/^ro_/)])
  const { keyId, secret } = await json(
    'key',
    'create',
    '--shop',
    shopId,
    '--label',
    'Cron',
    '--scope',
    'programs:read',
    '--scope',
    'payouts:read',
  )
  expect([keyId, await status(secret)]).toEqual([expect.stringMatching(/^key_/), 200])
  const shop = await fetch(`${server.url}/api/v1/shop`, { headers: { Authorization: `Bearer ${secret}` } })
  expect(await shop.json()).toMatchObject({ data: { currency: 'EUR', timeZone: 'Europe/Berlin' } })
  expect(await json('owner', 'create', '--shop', shopId, '--email', 'staff@hats.example', '--role', 'STAFF')).toEqual({
    userId: expect.stringMatching(/^usr_/),
    ownerToken: expect.stringMatching(/^ro_/),
  })

  await json('shop', 'set', shopId, '--api', 'off')
  expect(await status(secret)).toBe(503)
  await json('shop', 'set', shopId, '--api', 'on', '--plan', 'STARTER')
  expect(await status(secret)).toBe(403)
  await json('shop', 'set', shopId, '--plan', 'ENTERPRISE')
  expect(await status(secret)).toBe(200)
  const { data } = await json('shop', 'list')
  expect(data).toContainEqual(
    expect.objectContaining({ id: shopId, name: 'Hats', currency: 'EUR', plan: 'ENTERPRISE' }),
  )

  expect(await json('api', 'off')).toEqual({ api: 'off' })
  await new Promise((done) => setTimeout(done, 1200))
  expect(await status(secret)).toBe(503)
  await json('api', 'on')
  await new Promise((done) => setTimeout(done, 1200))
  expect(await status(secret)).toBe(200)
}, 60_000)

test('an owner token is replaced while the server runs, and the old one is invalid immediately', async () => {
  const { shopId, ownerToken: old } = await json('shop', 'create', '--name', 'Caps', '--owner-email', 'o@caps.example')
  const session = async (token: string) =>
    (await fetch(`${server.url}/admin/v1/session`, { headers: { Authorization: `Bearer ${token}` } })).status
  expect(await session(old)).toBe(200)
  const replaced = await json('owner', 'token', '--shop', shopId, '--email', 'o@caps.example')
  expect(replaced).toEqual({ userId: expect.stringMatching(/^usr_/), ownerToken: expect.stringMatching(/^ro_/) })
  expect([await session(old), await session(replaced.ownerToken)]).toEqual([403, 200])
  const REFERRAL_PUBLIC_URL = 'https://caps.example'
  const link = ['owner', 'link', '--shop', shopId, '--email', 'o@caps.example']
  expect((await run(link, { ...env, REFERRAL_PUBLIC_URL })).stdout).toMatch(/ https:\/\/caps\.example\/admin\S+\n$/)
})

test('a shop is limited, suspended, exported and deleted; its key is rotated with an overlap', async () => {
  const { shopId } = await json('shop', 'create', '--name', 'Gone')
  const { keyId, secret: old } = await json('key', 'create', '--shop', shopId, '--label', 'K', '--scope', 'all')
  await json('shop', 'set', shopId, '--name', 'Gone soon', '--requests-per-minute', '7', '--max-active-keys', '1')
  const { data } = await json('shop', 'list')
  expect(data.find(({ id }: { id: string }) => id === shopId)).toMatchObject({
    name: 'Gone soon',
    requestsPerMinute: 7,
    maxActiveKeys: 1,
  })
  const { secret } = await json('key', 'rotate', keyId, '--shop', shopId, '--overlap-seconds', '60')
  expect([await status(old), await status(secret)]).toEqual([200, 200])
  const remove = ['shop', 'delete', shopId, '--export', join(folder.path, 'gone.ndjson'), '--confirm']
  expect((await run([...remove, 'Gone soon'], env)).stderr).toContain('Suspend the shop')
  expect(await json('shop', 'suspend', shopId)).toEqual({ shopId, status: 'SUSPENDED' })
  expect(await status(secret)).toBe(403)
  expect((await run([...remove, 'Gone'], env)).stderr).toContain('must be the exact name of the shop')
  const done = await json(...remove, 'Gone soon')
  expect(done).toMatchObject({ shopId, deleted: true })
  const lines = readFileSync(join(folder.path, 'gone.ndjson'), 'utf8').trimEnd().split('\n')
  expect(JSON.parse(lines.at(-1)!).end).toEqual({ rows: lines.length - 2, sha256: done.sha256 })
  expect(statSync(join(folder.path, 'gone.ndjson')).mode & 0o777).toBe(0o600)
  expect((await run(['owner', 'list', '--shop', shopId], env)).stderr.trim()).toContain('No shop')
  expect((await run(['check'], env)).stdout).toMatch(/^No problems found/)
}, 60_000)

test('a backup is checked without a server, and the result lists what was verified and what cannot be', async () => {
  const file = join(folder.path, 'kept.db')
  const { bytes, sha256, encryptionKey } = await json('backup', file)
  expect([bytes, encryptionKey]).toEqual([statSync(file).size, join(folder.path, 'encryption.key')])
  expect(readFileSync(`${file}.sha256`, 'utf8')).toBe(`${sha256}  kept.db\n`)
  expect(await json('check', file)).toMatchObject({ ok: true, problems: [], audit: { breaks: [] } })
  const { code, stdout } = await run(['check', file], env)
  const [result, verified, invisible] = stdout.split('\n')
  const shops = (await json('shop', 'list')).data.length
  // The audit of the installation is not the audit of a shop.
  expect([code, result]).toEqual([0, expect.stringContaining(`No problems found: shops ${shops}, audit rows `)])
  expect(verified).toMatch(/^Verified: .*the SHA-256 of the backup/)
  expect(invisible).toMatch(/^Not detectable: /)
  expect((await run(['check'], env)).stdout).toMatch(/^Verified: .*the encryption key\.$/m)

  const changed = readFileSync(file)
  changed[changed.length - 1]! ^= 1
  writeFileSync(file, changed)
  const refused = await run(['check', file], env)
  expect([refused.code, refused.stdout, refused.stderr]).toEqual([1, '', expect.stringContaining('was changed since')])
})

test.each([
  [['owner', 'token', '--shop', 'shp_none', '--email', 'x@example.com'], 'No shop'],
  [['key', 'create', '--shop', 'shp_none', '--label', 'x', '--scope', 'all'], 'No shop'],
  [['shop', 'create', '--name', 'X', '--currency', 'euro'], '--currency must'],
  [['shop', 'create', '--name', 'X', '--time-zone', 'Mars'], 'timeZone must'],
  [['shop', 'set', 'shp_none', '--plan', 'FREE'], 'No shop'],
])('%j exits with 1 and one line: %s', async (args, words) => {
  const { code, stdout, stderr } = await run(args as string[], env)
  expect([code, stdout, stderr.trim().split('\n')]).toEqual([1, '', [expect.stringContaining(words)]])
})

test('a command for a shop in a folder without a database names the file and creates nothing', async () => {
  const empty = temporaryFolder()
  const elsewhere = { ...env, REFERRAL_DATA_DIR: join(empty.path, 'data') }
  const { code, stderr } = await run(['key', 'create', '--shop', 'shp_1', '--label', 'x', '--scope', 'all'], elsewhere)
  expect([code, stderr]).toEqual([1, expect.stringContaining(join(empty.path, 'data/referral.db'))])
  expect(existsSync(join(empty.path, 'data'))).toBe(false)
  empty.remove()
})

test('shop create --test creates a shop whose keys are rk_test_ and whose clock its owner advances', async () => {
  const { shopId, ownerToken } = await json('shop', 'create', '--name', 'Tests', '--test')
  const { secret } = await json('key', 'create', '--shop', shopId, '--label', 'K', '--scope', 'all')
  expect(secret).toMatch(/^rk_test_/)
  const { data } = await json('shop', 'list')
  expect(data.find(({ id }: { id: string }) => id === shopId)).toMatchObject({ isTest: true, testOf: null })
  const response = await fetch(`${server.url}/admin/v1/test-shops/${shopId}/clock`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${ownerToken}` },
    body: JSON.stringify({ to: '2100-01-01' }),
  })
  expect((await response.json()).data.now).toMatch(/^2100-01-01T00:0/)
})

test('migrate prints that the schema is up to date', async () => {
  expect(await json('migrate')).toEqual({ migrated: true })
})

test('--version prints the version of the package, which /healthz also names', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../server/package.json', import.meta.url), 'utf8'))
  expect(await run(['--version'], {})).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  expect((await fetch(`${server.url}/healthz`)).headers.get('X-Server-Version')).toBe(version)
})

test('retention counts old rows in a dry run, and deletes them', async () => {
  const { shopId } = await json('shop', 'create', '--name', 'Years')
  const rest = ['--before', '2020-01-31', '--shop', shopId, '--kind']
  const data = [{ kind: 'orders', rows: { journey: 0, orders: 0 } }]
  for (const dryRun of [true, false])
    expect(await json('retention', ...rest, 'orders', ...(dryRun ? ['--dry-run'] : []))).toEqual({
      before: '2020-01-31T00:00:00.000Z',
      dryRun,
      data,
    })
  const young = await run(['retention', '--before', '2999-01-01', '--kind', 'orders'], env)
  expect([young.code, young.stderr]).toEqual([1, expect.stringContaining('must be at least 30 days ago for orders')])
  const unknown = await run(['retention', ...rest, 'audits'], env)
  expect([unknown.code === 0, unknown.stderr]).toEqual([false, expect.stringContaining('responses')])
})

test.each([
  ['an encryption key of another database', Buffer.alloc(32, 9).toString('base64'), 1, 'REFERRAL_ENCRYPTION_KEY does'],
  ['no encryption key', undefined, 0, 'encryption.key'],
])('a backup is restored with %s only when it can be used later', async (_, key, code, words) => {
  const target = temporaryFolder()
  const backup = join(target.path, 'kept.db')
  await json('backup', backup)
  const data = { REFERRAL_DATA_DIR: join(target.path, 'data'), ...(key && { REFERRAL_ENCRYPTION_KEY: key }) }
  const restored = await run(['restore', backup], data)
  expect([restored.code, restored.stderr]).toEqual([code, expect.stringContaining(words)])
  expect(existsSync(join(target.path, 'data/referral.db'))).toBe(code === 0)
  const keys = { REFERRAL_ENCRYPTION_KEY: readFileSync(join(folder.path, 'encryption.key'), 'utf8').trim() }
  expect(await run(['restore', backup], { ...data, ...keys })).toMatchObject({ code: 0, stderr: '' })
  target.remove()
})

test.each([
  [['vault', 'rotate']],
  [['privacy', 'erase', '--shop', 'shp_1', '--customer', 'jo@example.com']],
  [['privacy', 'export', 'jo.ndjson', '--shop', 'shp_1', '--customer', 'jo@example.com']],
])("%j with another key than the server's changes nothing, and says where the server reads its key", async (args) => {
  const key = { REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 9).toString('base64') }
  const { code, stdout, stderr } = await run(args, { ...env, ...key })
  expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining(join(folder.path, 'encryption.key'))])
})

test('vault rotate exits with 1 while an earlier key is needed', async () => {
  const earlier = readFileSync(join(folder.path, 'encryption.key'), 'utf8').trim()
  const keys = { REFERRAL_ENCRYPTION_KEY: `${Buffer.alloc(32, 9).toString('base64')},${earlier}` }
  const { code, stdout } = await run(['vault', 'rotate', '--dry-run', '--json'], { ...env, ...keys })
  expect([code, JSON.parse(stdout)]).toMatchObject([1, { rotated: 0, earlier: { 'installationSettings.value': 1 } }])
  expect(await json('vault', 'rotate')).toMatchObject({ rotated: 0, earlier: {}, unreadable: {} })
})
