// Full: it starts servers and shells for the documentation.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type TestServer, testServer } from '@referral/server/testing'
import { signedRequest } from '@referral/webhook-verifier/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { freePort, type RunningServer, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { moduleOf, PAGES, ROOT, type Snippet, snippetsOf, writeModules } from './snippets.ts'

const all = PAGES.flatMap(snippetsOf)
const run = promisify(execFile)
/** In milliseconds. These start a compiler or dozens of commands. */
const SLOW = 60_000

/** Pages whose commands change a whole machine: users, services, containers. Their syntax is checked. */
const isSyntaxOnly = (page: string) => /^docs\/(self-hosting\/|(stripe|reliability|benchmarks)\.md)/.test(page)

test('every code block has a language that a test checks, or is plain text', () => {
  const known = new Set(['sh', 'ts', 'json', 'text', 'yaml', 'ini', 'sql', 'promql', 'nginx', 'html'])
  expect(all.filter(({ language }) => !known.has(language))).toEqual([])
  expect(all.filter(({ language }) => language === 'ts').length).toBeGreaterThan(10)
  expect(all.filter(({ language }) => language === 'sh').length).toBeGreaterThan(10)
})

test.each(all.filter(({ language, isOutput }) => language === 'json' && !isOutput))('$page:$line is JSON', ({ code }) =>
  expect(() => JSON.parse(code)).not.toThrow(),
)

const copies = all.filter(({ file }) => file)
test.each(copies)('$page:$line repeats $file', ({ code, file }) => {
  expect(code).toBe(readFileSync(join(ROOT, file!), 'utf8'))
})

/** Ids differ from run to run; a page shows them as `aff_…`. */
const withoutIds = (text: string) => text.replaceAll(/\b([a-z]{3})_(?:[0-9A-HJKMNP-TV-Z]{26}|…)/g, '$1_…').trim()

/** The output that the page shows for a snippet. */
const shownOutput = (snippet: Snippet) => {
  const next = all[all.indexOf(snippet) + 1]
  return next?.isOutput && next.page === snippet.page ? withoutIds(next.code) : undefined
}

describe('shell commands', () => {
  const folder = temporaryFolder()
  const pages = PAGES.filter(
    (page) => !isSyntaxOnly(page) && all.some((one) => one.page === page && one.language === 'sh'),
  )
  let server: RunningServer
  let receiver: { url: string; close: () => void }
  let env: Record<string, string>

  beforeAll(async () => {
    const data = join(folder.path, '.referral')
    const port = String(await freePort())
    receiver = await startReceiver()
    server = await startServer({ REFERRAL_DATA_DIR: data, PORT: port })
    const bin = join(folder.path, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'npx'), SHIM)
    writeFileSync(join(bin, 'npm'), SHIM)
    for (const name of readdirSync(bin)) chmodSync(join(bin, name), 0o755)
    env = {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: folder.path,
      NODE: process.execPath,
      ROOT,
      REFERRAL_DATA_DIR: data,
      RECEIVER: receiver.url,
      WEBHOOK_SECRET: SECRET,
    }
    // Commissions of last month for the guide on payouts.
    await bash(
      env,
      `. "$REFERRAL_DATA_DIR/demo.env"; curl -sf "$REFERRAL_BASE_URL/api/v1/events" -H "Authorization: Bearer $REFERRAL_API_KEY" -H 'Idempotency-Key: last' -d '{"externalOrderId":"last","amountCents":500000,"couponCode":"NISA16","occurredAt":"${lastMonth()}"}'`,
    )
  })
  afterAll(async () => {
    receiver?.close()
    await server?.stop()
    folder.remove()
  })

  test.each(pages)(
    '%s',
    async (page) => {
      const snippets = all.filter((one) => one.page === page && one.language === 'sh')
      // Each page is one session, as for its reader. The addresses of its examples are those of this test.
      const script = snippets
        .map(({ code }) => code.replaceAll('http://127.0.0.1:3000/webhooks', '$RECEIVER'))
        .join(`\necho '${SEPARATOR}'\n`)
      const outputs = (await bash({ ...env, ...ownerOf(page, env) }, script)).split(`${SEPARATOR}\n`)
      expect(outputs).toHaveLength(snippets.length)
      for (const [at, snippet] of snippets.entries()) {
        const shown = shownOutput(snippet)
        if (shown !== undefined) expect(withoutIds(outputs[at]!), `${page}:${snippet.line}`).toBe(shown)
      }
    },
    SLOW,
  )

  test.each(['README.md', 'docs/start.md'])('%s exports the credentials for its SDK example', async (page) => {
    const load = all.find(({ page: one, code }) => one === page && code.includes('demo.env'))!.code.split('\n')[0]
    const script = `${load}\n"$NODE" -p 'Boolean(process.env.REFERRAL_API_KEY && process.env.REFERRAL_BASE_URL)'`
    expect(await bash(env, script)).toBe('true\n')
  })

  test.each(all.filter(({ page, language }) => isSyntaxOnly(page) && language === 'sh'))(
    '$page:$line has valid syntax',
    async ({ code }) => {
      await run('bash', ['-n', '-c', code])
    },
  )

  const bash = async (variables: Record<string, string>, script: string) => {
    const { stdout } = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      env: variables,
      cwd: folder.path,
    })
    return stdout
  }
})

const SEPARATOR = '--- next ---'
const SECRET = 'a shared secret'

/** Commands of npm and npx that pages show, run from this checkout. Others fail. */
const SHIM = `#!/bin/sh
case "$(basename "$0") $*" in
  'npx -y pnpm@12 start' | 'npx @referral/server') grep -q REFERRAL_BASE_URL "$REFERRAL_DATA_DIR/demo.env" ;;
  'npx -y pnpm@12 referral '*) shift 3; exec "$NODE" "$ROOT/cli/src/main.ts" "$@" ;;
  'npx -y pnpm@12 referral-server '*) shift 3; exec "$NODE" "$ROOT/server/src/main.ts" "$@" ;;
  'npx @referral/cli '*) shift; exec "$NODE" "$ROOT/cli/src/main.ts" "$@" ;;
  'npx -y pnpm@12 test' | 'npx -y pnpm@12 '[a-z]*:*) grep -q "\\"$3\\":" "$ROOT/package.json" ;;
  'npm init -y' | 'npm pkg set type=module') ;;
  'npm install --save-dev typescript @types/node') ;;
  'npm install @referral/'*) shift; for name in "$@"; do grep -q "\\"$name\\"" "$ROOT"/*/package.json; done ;;
  *) echo "unknown command: $0 $*" >&2; exit 127 ;;
esac
`

const lastMonth = () => new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() - 1, 15)).toISOString()

/** Pages for owners assume that the owner's token is set. */
function ownerOf(page: string, env: Record<string, string>): Record<string, string> {
  if (!['docs/stores.md', 'docs/concepts/test-shops.md'].includes(page)) return {}
  const lines = readFileSync(join(env.REFERRAL_DATA_DIR!, 'demo.env'), 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
}

/** The receiver of the guide, on a free port. */
async function startReceiver() {
  vi.stubEnv('WEBHOOK_SECRET', SECRET)
  vi.stubEnv('PORT', '0')
  vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  const { server } = await import('../webhook-verifier/recipes/node.ts')
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return { url: `http://127.0.0.1:${port}/webhooks`, close: () => server.close() }
}

describe('TypeScript', () => {
  const folder = join(import.meta.dirname, '.snippets')
  const own = all.filter(({ language, file }) => language === 'ts' && !file)
  const fileOf = (snippet: Snippet) => moduleOf(folder, snippet)
  const modules = own.filter(({ path }) => path)
  const scripts = own.filter(({ path }) => !path)

  beforeAll(() => {
    writeModules(folder, own)
    const config = { extends: '../../tsconfig.json', include: ['**/*.ts'], references: [] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  let server: TestServer | undefined
  let printed: string[] = []
  const start = async () => {
    server = await testServer({ scenario: 'affiliate' })
    vi.stubEnv('REFERRAL_API_KEY', server.apiKey)
    vi.stubEnv('REFERRAL_OWNER_TOKEN', server.ownerToken)
    vi.stubEnv('REFERRAL_BASE_URL', server.baseUrl)
    vi.stubEnv('WEBHOOK_SECRET', SECRET)
    vi.stubGlobal('fetch', server.fetch)
    printed = []
    vi.spyOn(console, 'log').mockImplementation((...parts) => printed.push(parts.join(' ')))
    return server
  }
  afterEach(async () => {
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
    vi.restoreAllMocks()
    vi.resetModules()
    await server?.close()
    server = undefined
  })

  test(
    'compiles',
    async () => {
      await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]).catch(({ stdout }) => expect(stdout).toBe(''))
    },
    SLOW,
  )

  test(
    'the receiver of the guide compiles with its tsconfig.json',
    async () => {
      const page = 'docs/guides/receive-webhooks.md'
      const config = JSON.parse(all.find((one) => one.page === page && one.code.includes('compilerOptions'))!.code)
      const guide = join(folder, 'receiver')
      mkdirSync(guide, { recursive: true })
      writeFileSync(join(guide, 'tsconfig.json'), JSON.stringify(config))
      for (const name of ['handle.ts', 'node.ts'])
        writeFileSync(join(guide, name), all.find((one) => one.page === page && one.file?.endsWith(`/${name}`))!.code)
      await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', guide]).catch(({ stdout }) => expect(stdout).toBe(''))
    },
    SLOW,
  )

  test.each(scripts)('$page:$line prints what the page shows', async (snippet) => {
    await start()
    await import(fileOf(snippet))
    expect(withoutIds(printed.join('\n'))).toBe(shownOutput(snippet) ?? '')
  })

  // biome-ignore lint/suspicious/noExplicitAny: the compiler checks the snippets, this only calls them
  const uses: Record<string, (module: any, server: TestServer) => Promise<void>> = {
    'sdk/SKILL.md client.ts': async ({ client }) => {
      expect((await client.shop.get()).currency).toBe('USD')
    },
    'docs/guides/headless-checkout.md click.ts': async ({ reportClick }) => {
      expect(await reportClick('nisa-karim', 'https://shop.example/')).toMatch(/^jrn_/)
      expect(await reportClick('nobody', 'https://shop.example/')).toMatch(/^jrn_/)
    },
    'docs/guides/headless-checkout.md order.ts': async ({ reportOrder }, { fail, clock }) => {
      const order = { id: '1', paidAt: clock.now(), currency: 'USD', goodsCents: 10_000, discountCents: 1_000 }
      fail('reset', { path: '/api/v1/events' })
      expect(await reportOrder({ ...order, coupon: 'NISA16' })).toBe('1440 (COUPON_MATCH)')
      expect(await reportOrder({ ...order, id: '2' })).toBe('NO_EVIDENCE')
      fail('reset', { path: '/api/v1/events', times: 3 })
      expect(await reportOrder({ ...order, id: '3', coupon: 'NISA16' })).toBe('1440 (COUPON_MATCH)')
    },
    'docs/guides/headless-checkout.md refund.ts': async (
      { reportRefund, cancelRefund, reportCancellation },
      { fail },
    ) => {
      fail('reset', { path: '/api/v1/refunds' })
      await reportRefund('before-its-order', 're-1', 3000)
      await cancelRefund('before-its-order', 're-1')
      await reportCancellation('before-its-order')
    },
    'docs/guides/nextjs.md lib/referrals.ts': async ({ referrals }) => {
      expect((await referrals.affiliates.list()).data).toHaveLength(1)
    },
    'docs/guides/nextjs.md proxy.ts': async ({ proxy, config }) => {
      const reports: Promise<unknown>[] = []
      const request = new Request('https://shop.example/hats?ref=nisa-karim')
      const response: Response = proxy(request, { waitUntil: (report: Promise<unknown>) => reports.push(report) })
      expect(response.headers.getSetCookie()[0]).toMatch(/^referral_click=[\w-]+; Max-Age=2592000; Path=\/; Secure/)
      expect(response.headers.get('x-middleware-next')).toBe('1')
      const log = vi.spyOn(console, 'error')
      await Promise.all(reports)
      expect([reports.length, log.mock.calls]).toEqual([1, []])
      const matcher = new RegExp(`^${config.matcher}$`)
      const paths = ['/', '/hats', '/checkout', '/_next/data/1.json', '/logo.png']
      expect(paths.map((path) => matcher.test(path))).toEqual([true, true, true, false, false])
    },
    'docs/guides/nextjs.md app/checkout/route.ts': async ({ POST }) => {
      const response: Response = await POST(new Request('https://shop.example/checkout', { method: 'POST' }))
      expect([response.status, await response.json()]).toEqual([201, { id: expect.any(String) }])
    },
    'docs/guides/nextjs.md lib/report-order.ts': async ({ reportOrder }, { baseUrl, apiKey, fetch }) => {
      const click = { type: 'click', ref: 'nisa-karim', clickId: 'from the cookie' }
      const headers = { Authorization: `Bearer ${apiKey}` }
      await fetch(`${baseUrl}/api/v1/events`, { method: 'POST', headers, body: JSON.stringify(click) })
      expect(
        (await reportOrder({ id: '1', goodsCents: 10_000, currency: 'USD', clickId: 'from the cookie' })).amountCents,
      ).toBe(1600)
    },
    'docs/guides/nextjs.md app/webhooks/route.ts': async ({ POST }) => {
      const event = {
        event: 'commission.created',
        data: { affiliateId: 'aff_1', commissionAmountCents: 5, currency: 'EUR' },
      }
      expect((await POST(await signedRequest(event, { secret: SECRET }))).status).toBe(200)
      expect(printed).toEqual(['aff_1 earns 5 EUR'])
      vi.spyOn(console, 'warn').mockImplementation(() => undefined)
      expect((await POST(await signedRequest(event, { secret: 'forged' }))).status).toBe(400)
    },
    'docs/guides/workers.md checkout.ts': async ({ default: worker }, { apiKey, baseUrl }) => {
      const env = { REFERRAL_BASE_URL: baseUrl, REFERRAL_API_KEY: apiKey }
      const response: Response = await worker.fetch(new Request('https://shop.example/checkout'), env)
      expect([response.status, await response.json()]).toEqual([201, { id: expect.any(String) }])
    },
    'docs/guides/workers.md receiver.ts': async ({ default: worker }) => {
      const receive = async (secret: string) =>
        worker.fetch(await signedRequest({ event: 'test', data: {} }, { secret }), { WEBHOOK_SECRET: SECRET })
      expect(await (await receive(SECRET)).text()).toBe('received test')
      expect((await receive('forged')).status).toBe(400)
    },
  }

  test('every file of a page has a test', () => {
    expect(modules.map(({ page, path }) => `${page} ${path}`).sort()).toEqual(Object.keys(uses).sort())
  })

  test.each(modules)('$page:$line $path works', async (snippet) => {
    const running = await start()
    await uses[`${snippet.page} ${snippet.path}`]!(await import(fileOf(snippet)), running)
  })
})
