// Full: it starts other processes.
import { execFile as execFileCallback, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { COMPILE_CACHE } from '../support/process.ts'
import { checks } from './src/index.ts'
import { NOTHING, startThisServer, type ThisServer } from './this-server.ts'

const execFile = promisify(execFileCallback)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const env = { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE }

test('every rule has its own name, and names a page and a heading that exist', () => {
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
    const named = { ...env, REFERRAL_BASE_URL: 'http://127.0.0.1:1', REFERRAL_API_KEY: 'rk_x' }
    return execFile(process.execPath, ['test/conformance/src/main.ts', ...args], { cwd: ROOT, env: named }).then(
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
  const help = await execFile(process.execPath, ['test/conformance/src/main.ts', '--help'], { cwd: ROOT, env })
  const source = readFileSync(`${ROOT}test/conformance/src/run.ts`, 'utf8')
  expect(named(help.stdout)).toEqual(expect.arrayContaining(named(source.replaceAll(/^(?!.*').*$/gm, ''))))
})

describe('a run against this server', () => {
  let server: ThisServer
  beforeAll(async () => {
    server = await startThisServer()
  }, 60_000)
  afterAll(() => server?.close())

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'a run that is ended with %s removes what it created',
    async (signal) => {
      const [shop, other] = [await server.shopOf('ENTERPRISE'), await server.shopOf('ENTERPRISE')]
      const child = spawn(
        process.execPath,
        ['test/conformance/src/main.ts', '--only', 'isolation/', '--only', 'affiliates/'],
        {
          cwd: ROOT,
          env: {
            ...env,
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
      await vi.waitFor(async () => expect((await server.noticed(shop)).affiliates).toBeGreaterThan(0), {
        timeout: 20_000,
        interval: 10,
      })
      child.kill(signal)
      expect(await code).toBe(130)
      expect(output).toContain('Interrupted: the other checks did not run.')
      expect(output).toMatch(/^The shop keeps \d+ programs?/m)
      expect([await server.noticed(shop), await server.noticed(other)]).toEqual([NOTHING, NOTHING])
    },
    60_000,
  )
})
