import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emptyDatabase, engine } from '../support/database.ts'
import { freePort, type RunningServer, run, startServer, temporaryFolder } from '../support/process.ts'
import { checks, runConformance, toJUnit, toText } from './src/index.ts'

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
  async function shopOf(plan: string): Promise<{ key: string; ownerToken: string }> {
    const { shopId, ownerToken } = await operator('shop', 'create', '--name', 'Hats', '--plan', plan)
    const { secret } = await operator('key', 'create', '--shop', shopId, '--label', 'Test', '--scope', 'all')
    return { key: secret, ownerToken }
  }

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
  }, 120_000)

  test('limits a key as its plan says, in test shops that are gone afterwards', async () => {
    const shop = await shopOf('PROFESSIONAL')
    const only = ['key-limits/', 'limits/', 'isolation/lists', 'settings/tax', 'keys/created-with-secret']
    const report = await runConformance({ baseUrl: server.url, ...shop, useTestShops: true, only })
    expect(report.checks.filter(({ status }) => status !== 'passed')).toEqual([])
    const headers = { Authorization: `Bearer ${shop.ownerToken}` }
    expect(await (await fetch(`${server.url}/admin/v1/test-shops`, { headers })).json()).toEqual({ data: [] })
  }, 60_000)
})
