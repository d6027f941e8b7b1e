import { execFile as execFileCallback, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { emptyDatabase, engine } from '../support/database.ts'
import { freePort, type RunningServer, run, startServer, temporaryFolder } from '../support/process.ts'
import { checks, runConformance, toJUnit, toText } from './src/index.ts'

const execFile = promisify(execFileCallback)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

test('every rule has a name of its own, and names a page and a heading that exist', () => {
  const names = checks.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  const headings = (page: string) =>
    [...readFileSync(`${ROOT}docs/${page}`, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    )
  const wrong = checks.filter(({ page }) => {
    const [file = '', anchor] = page.split('#')
    return anchor !== undefined && !headings(file).includes(anchor)
  })
  expect(wrong.map(({ name, page }) => `${name}: ${page}`)).toEqual([])
})

test('--only without a check is wrong usage, and names the nearest one', async () => {
  const conformance = async (...args: string[]) => {
    const env = { ...process.env, REFERRAL_BASE_URL: 'http://127.0.0.1:1', REFERRAL_API_KEY: 'rk_x' }
    return execFile(process.execPath, ['test/conformance/src/main.ts', ...args], { cwd: ROOT, env }).then(
      () => undefined,
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    )
  }
  const [typo, ending, otherSuite] = await Promise.all([
    conformance('--only', 'lists/', '--only', 'payuot'),
    conformance('--only', 'payouts/piad'),
    conformance('--suite', 'owner', '--only', 'payouts/'),
  ])
  const wrong = (stderr: string) => ({ code: 2, stdout: '', stderr: `${stderr}\n` })
  expect(typo).toEqual(wrong('No check starts with payuot. Did you mean payouts/?'))
  expect(ending).toEqual(wrong('No check starts with payouts/piad. Did you mean payouts/paid?'))
  expect(otherSuite).toEqual(wrong('No check of the suite owner starts with payouts/.'))
})

test('a skipped check names options and variables that exist', async () => {
  const named = (text: string) => text.match(/--[a-z-]+|REFERRAL_[A-Z_]+/g) ?? []
  const help = await execFile(process.execPath, ['test/conformance/src/main.ts', '--help'], { cwd: ROOT })
  const source = readFileSync(`${ROOT}test/conformance/src/run.ts`, 'utf8')
  expect(named(help.stdout)).toEqual(expect.arrayContaining(named(source.replaceAll(/^(?!.*').*$/gm, ''))))
})

describe('this server', () => {
  let server: RunningServer
  let env: Record<string, string>
  let port: number
  let remove: () => Promise<void>
  const operator = async (...args: string[]) => JSON.parse((await run([...args, '--json'], env)).stdout)

  beforeAll(async () => {
    const folder = temporaryFolder()
    const database = engine === 'postgres' ? await emptyDatabase() : undefined
    remove = async () => {
      await database?.remove()
      folder.remove()
    }
    port = await freePort()
    env = {
      ...(database && { DATABASE_URL: database.url }),
      REFERRAL_DATA_DIR: folder.path,
      REFERRAL_DEMO: '0',
      LOG_LEVEL: 'error',
      REFERRAL_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      REFERRAL_WEBHOOK_ALLOW: `127.0.0.1:${port}`,
    }
    server = await startServer(env)
  }, 60_000)
  afterAll(async () => {
    await server?.stop()
    await remove?.()
  })

  /** A new shop and a key with every scope. */
  interface EmptyShop {
    key: string
    /** Not for the run, which may use up the requests of a key. */
    readerKey: string
    ownerToken: string
  }

  async function emptyShopOf(plan: string): Promise<EmptyShop> {
    const { shopId, ownerToken } = await operator('shop', 'create', '--name', 'Hats', '--plan', plan)
    const keyOf = async (label: string) =>
      (await operator('key', 'create', '--shop', shopId, '--label', label, '--scope', 'all')).secret
    return { key: await keyOf('Test'), readerKey: await keyOf('Reader'), ownerToken }
  }

  // biome-ignore lint/suspicious/noExplicitAny: the tests read several resources
  const request = async (key: string, method: string, path: string, body?: object): Promise<any> => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const response = await fetch(`${server.url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) })
    return response.json()
  }

  /** A shop with a program, as a merchant has one. */
  async function shopOf(plan: string): Promise<EmptyShop> {
    const shop = await emptyShopOf(plan)
    await request(shop.key, 'POST', '/programs', { name: 'Friends' })
    return shop
  }

  /** What a merchant would notice after a run. */
  const noticed = async ({ readerKey: key }: EmptyShop) => {
    const [webhooks, affiliates, programs] = await Promise.all(
      ['/webhooks', '/affiliates', '/programs?limit=100'].map((path) => request(key, 'GET', path)),
    )
    const last = await request(key, 'GET', `/programs?limit=100&page=${programs.pagination.totalPages}`)
    const defaults = last.data.filter(({ isDefault }: { isDefault: boolean }) => isDefault)
    return {
      webhooks: webhooks.data,
      affiliates: affiliates.pagination.total,
      defaults: defaults.map(({ name }: { name: string }) => name),
    }
  }
  const NOTHING = { webhooks: [], affiliates: 0, defaults: ['Friends'] }

  test('follows every rule', async () => {
    const [shop, other] = [await shopOf('ENTERPRISE'), await shopOf('ENTERPRISE')]
    const report = await runConformance({
      baseUrl: server.url,
      ...shop,
      otherKey: other.key,
      changeSettings: true,
      receiver: { port },
      concurrency: 8,
    })
    expect(report.checks.filter(({ status }) => status !== 'passed')).toMatchObject([
      // A key of the plan may send 1,000 requests; the next test has a smaller plan.
      { name: 'key-limits/429-after-the-limit', status: 'skipped' },
    ])
    expect(toText(report)).toContain(`${checks.length} checks: ${checks.length - 1} passed, 0 failed, 1 skipped.`)
    expect(toJUnit(report).match(/<testcase /g)).toHaveLength(checks.length)
    expect([await noticed(shop), await noticed(other)]).toEqual([NOTHING, NOTHING])
    expect(report.remaining).toEqual([
      expect.stringMatching(/^The shop keeps \d+ programs, \d+ orders, \d+ payout batches of this run \(cf-/),
      expect.stringMatching(/^The shop of REFERRAL_OTHER_API_KEY keeps 2 programs, 1 order of this run \(cf-/),
    ])
    expect(toText(report)).toContain(report.remaining[0])
  }, 120_000)

  test('a run does not start in a shop without a program, because its first one would be the default', async () => {
    const [empty, other] = [await emptyShopOf('PROFESSIONAL'), await shopOf('PROFESSIONAL')]
    const only = ['isolation/']
    for (const [{ key }, otherKey, what] of [
      [empty, undefined, 'key'],
      [other, empty.key, 'key of the other shop'],
    ] as const)
      await expect(runConformance({ baseUrl: server.url, key, otherKey, only })).rejects.toThrow(
        `The shop of the ${what} has no program, and one of this run would become its default.`,
      )
    expect((await request(empty.key, 'GET', '/programs')).data).toEqual([])
  })

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'a run that is ended with %s removes what it created',
    async (signal) => {
      const [shop, other] = [await shopOf('ENTERPRISE'), await shopOf('ENTERPRISE')]
      const child = spawn(
        process.execPath,
        ['test/conformance/src/main.ts', '--only', 'isolation/', '--only', 'affiliates/'],
        {
          cwd: ROOT,
          env: {
            ...process.env,
            REFERRAL_BASE_URL: server.url,
            REFERRAL_API_KEY: shop.key,
            REFERRAL_OTHER_API_KEY: other.key,
          },
        },
      )
      let output = ''
      child.stdout.on('data', (chunk) => {
        output += chunk
      })
      const code = new Promise((done) => child.once('close', done))
      await vi.waitFor(async () => expect((await noticed(shop)).affiliates).toBeGreaterThan(0), {
        timeout: 20_000,
        interval: 10,
      })
      child.kill(signal)
      expect(await code).toBe(130)
      expect(output).toContain('Interrupted: the other checks did not run.')
      expect(output).toMatch(/^The shop keeps \d+ programs?/m)
      expect([await noticed(shop), await noticed(other)]).toEqual([NOTHING, NOTHING])
    },
    60_000,
  )

  test('limits a key as its plan says, in test shops that are gone afterwards', async () => {
    const shop = await shopOf('PROFESSIONAL')
    const only = ['key-limits/', 'limits/', 'isolation/lists', 'settings/tax', 'keys/created-with-secret']
    const report = await runConformance({ baseUrl: server.url, ...shop, useTestShops: true, only })
    expect(report.checks.filter(({ status }) => status !== 'passed')).toEqual([])
    const headers = { Authorization: `Bearer ${shop.ownerToken}` }
    expect(await (await fetch(`${server.url}/admin/v1/test-shops`, { headers })).json()).toEqual({ data: [] })
  }, 60_000)
})
