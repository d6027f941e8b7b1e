import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli, json, noTerminal, onTerminal, openShop, type Shop } from './support.ts'

let shop: Shop
let folder: ReturnType<typeof temporaryFolder>
beforeAll(async () => {
  shop = await openShop()
}, 60_000)
afterAll(() => shop.close())
beforeEach(() => {
  folder = temporaryFolder()
  return () => folder.remove()
})

const env = () => ({ REFERRAL_CONFIG_DIR: join(folder.path, 'config'), HOME: folder.path })
const key = () => shop.env.REFERRAL_API_KEY ?? ''
const profiles = () => join(folder.path, 'config', 'profiles.json')

test('a key from standard input is verified, stored privately and used', async () => {
  const stored = await json<object>(['login', '--base-url', `${shop.server.url}/api/v1/`], {
    env: env(),
    input: `${key()}\n`,
  })
  expect(stored).toMatchObject({
    profile: 'default',
    baseUrl: shop.server.url,
    apiKey: true,
    ownerToken: false,
    storedIn: profiles(),
  })
  expect(statSync(profiles()).mode & 0o777).toBe(0o600)
  expect(statSync(join(folder.path, 'config')).mode & 0o777).toBe(0o700)
  expect(globSync('**', { cwd: join(folder.path, 'config') }).filter((name) => name !== '.')).toEqual(['profiles.json'])
  expect(await json(['affiliates', 'list'], { env: env() })).toEqual([])
  const who = await json<{ apiKey: string }>(['whoami'], { env: env() })
  expect(who).toMatchObject({
    valid: true,
    source: 'profile',
    profile: 'default',
    storedIn: profiles(),
    baseUrl: shop.server.url,
  })
  expect(JSON.stringify(who)).not.toContain(key())
})

test('both secrets can be stored together or one at a time', async () => {
  const token = shop.env.REFERRAL_OWNER_TOKEN ?? ''
  await json(['login', '--base-url', shop.server.url], { env: env(), input: `${key()}\n` })
  const both = await json(['login', '--base-url', shop.server.url], { env: env(), input: token })
  expect(both).toMatchObject({ apiKey: true, ownerToken: true })
  expect(await json(['whoami'], { env: env() })).toMatchObject({
    user: 'owner@localhost (OWNER)',
    shop: 'Hats (ENTERPRISE)',
  })
})

test('an invalid secret is neither stored nor echoed', async () => {
  for (const [input, code] of [
    [`rk_${'x'.repeat(49)}`, 4],
    [`rk_test_${'x'.repeat(49)}`, 4],
    ['hunter2-is-no-key', 2],
    ['', 4],
  ] as const) {
    const { code: got, stdout, stderr } = await cli(['login', '--base-url', shop.server.url], { env: env(), input })
    expect({ input, got, stdout }).toEqual({ input, got: code, stdout: '' })
    if (input) expect(stderr).not.toContain(input)
  }
  expect(existsSync(profiles())).toBe(false)
})

test('an unencrypted URL of another machine prints a warning', async () => {
  const { stderr } = await cli(['login', '--base-url', 'http://192.0.2.1:1', '--json'], {
    env: env(),
    input: 'nothing',
  })
  expect(stderr).toContain('not encrypted')
})

test('the first profile is current, `use` selects another, logout deletes one', async () => {
  const login = (name: string) =>
    json(['login', '--profile', name, '--base-url', shop.server.url], { env: env(), input: key() })
  await login('staging')
  await login('shop')
  const list = async () =>
    (await json<{ name: string; current: boolean }[]>(['profiles', 'list'], { env: env() })).map(
      ({ name, current }) => [name, current],
    )
  expect(await list()).toEqual([
    ['staging', true],
    ['shop', false],
  ])
  await json(['profiles', 'use', 'shop'], { env: env() })
  expect(await list()).toEqual([
    ['staging', false],
    ['shop', true],
  ])
  expect(await json(['logout', '--profile', 'staging'], { env: env() })).toEqual({ profile: 'staging', changed: true })
  expect(await json(['logout', '--profile', 'staging'], { env: env() })).toEqual({ profile: 'staging', changed: false })
  expect(readFileSync(profiles(), 'utf8')).not.toContain('staging')
  expect((await cli(['affiliates', 'list', '--profile', 'staging'], { env: env() })).code).toBe(4)
})

test('a profiles file that others can read prints a warning', async () => {
  await json(['login', '--base-url', shop.server.url], { env: env(), input: key() })
  execFileSync('chmod', ['644', profiles()])
  expect((await cli(['whoami', '--offline'], { env: env() })).stderr).toContain('chmod 600')
})

test.skipIf(noTerminal)(
  'a typed key appears in no argument, output or log',
  async () => {
    const seen: string[] = []
    const look = setInterval(() => {
      for (const file of globSync('/proc/[0-9]*/cmdline'))
        try {
          seen.push(readFileSync(file, 'utf8'))
        } catch {
          seen.push('')
        }
    }, 50)
    const { code, output } = await onTerminal(['login', '--verbose'], {
      env: env(),
      answers: [
        [/Service URL/, `${shop.server.url}\n`],
        [/hidden/, `${key()}\r`],
      ],
    })
    clearInterval(look)
    expect(code).toBe(0)
    expect(output).not.toContain(key().slice(0, 20))
    expect(seen.some((line) => line.includes(key()))).toBe(false)
    expect(seen.some((line) => line.includes('login'))).toBe(true)
    expect(shop.server.log()).not.toContain(key())
    // Only profiles.json contains the key.
    const knowing = globSync('**', { cwd: folder.path, withFileTypes: true })
      .filter((entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(key()))
      .map((entry) => join(entry.parentPath, entry.name))
    expect(knowing).toEqual([profiles()])
  },
  30_000,
)

test('a dry run stores nothing; the error for a damaged file contains its path', async () => {
  await json(['login', '--base-url', shop.server.url, '--dry-run'], { env: env(), input: key() })
  expect(existsSync(profiles())).toBe(false)
  execFileSync('mkdir', ['-p', join(folder.path, 'config')])
  writeFileSync(profiles(), '{')
  const { code, stderr } = await cli(['affiliates', 'list'], { env: env() })
  expect(code).toBe(1)
  expect(stderr).toContain(profiles())
})
