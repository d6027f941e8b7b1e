/**
 * Takes a full-page screenshot of every page and of its states, in light and dark, on a large and a small screen, checks
 * each with axe, and reports what is wider than the screen and errors of the console.
 * `node test/browser/gallery.ts [--data <folder>] [--only <regex>]`: an existing folder is used again.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import axe from 'axe-core'
import Sqlite from 'better-sqlite3'
import { type Browser, chromium, type Page } from 'playwright-core'
import { CHROMIUM } from '../support/chromium.ts'
import { CLIENT, startOidcProvider } from '../support/oidc-provider.ts'
import { freePort, run, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { FLAGS, watch } from './fixture.ts'
import { type Api, fillShop, joinDates, SCOPES } from './gallery-shop.ts'
import { type Made, type Shop, shotsOf } from './gallery-shots.ts'

type Data = Awaited<ReturnType<Api>>

const OUT = fileURLToPath(new URL('../.screenshots/', import.meta.url))
const SIZES = { 1440: { width: 1440, height: 900 }, 390: { width: 390, height: 844 } } as const
const SCHEMES = ['light', 'dark'] as const

const { values } = parseArgs({ options: { data: { type: 'string' }, only: { type: 'string', default: '.' } } })

const caller =
  (base: string, token: string): Api =>
  async (method, path, body) => {
    const headers = {
      Authorization: `Bearer ${token}`,
      'Idempotency-Key': crypto.randomUUID(),
      'Content-Type': 'application/json',
    }
    const response = await fetch(base + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const reply = (await response.json()) as Data & { data?: Data; error?: string }
    if (!response.ok) throw new Error(`${method} ${path} ${JSON.stringify(body)}: ${reply.error}`)
    return reply.data ?? reply
  }

/** A receiver that accepts what is sent to /good and fails otherwise. */
async function startHook(port: number) {
  const hook = createServer((request, response) => {
    response.statusCode = request.url === '/good' ? 200 : 500
    request.resume().on('end', () => response.end())
  })
  await new Promise((done) => hook.listen(port, '127.0.0.1', () => done(undefined)))
  return { hook, port: (hook.address() as AddressInfo).port }
}

const own = values.data ? undefined : temporaryFolder()
const folder = values.data ?? own?.path ?? ''
const file = join(folder, 'gallery.json')
const known = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Made) : undefined
const { hook, port } = await startHook(known?.hook ?? 0)
const [serverPort, provider] = await Promise.all([freePort(), startOidcProvider()])
// Passkeys are bound to a name.
const site = `http://localhost:${serverPort}`
const env = {
  REFERRAL_DATA_DIR: folder,
  REFERRAL_WEBHOOK_ALLOW: `127.0.0.1:${port}`,
  REFERRAL_PUBLIC_URL: site,
  REFERRAL_OIDC_ISSUER: provider.issuer,
  REFERRAL_OIDC_CLIENT_ID: CLIENT.clientId,
  REFERRAL_OIDC_CLIENT_SECRET: CLIENT.clientSecret,
  REFERRAL_OIDC_NAME: 'Nordwand ID',
  PORT: String(serverPort),
}
const server = await startServer(env)
const operator = async (...args: string[]) => {
  const { stdout, stderr } = await run([...args, '--json'], env)
  if (!stdout) throw new Error(stderr)
  return JSON.parse(stdout)
}

async function makeShop(name: string): Promise<Shop> {
  const { shopId, ownerToken } = await operator(
    'shop',
    'create',
    '--name',
    name,
    '--owner-email',
    'owner@nordwand.example',
  )
  await operator('shop', 'set', shopId, '--requests-per-minute', '999999')
  const { secret } = await caller(`${server.url}/admin/v1`, ownerToken)('POST', '/keys', {
    label: 'Server',
    scopes: SCOPES,
  })
  return { id: shopId, ownerToken, apiKey: secret ?? '' }
}

/** The API dates affiliates by their creation, so that all of them would have joined today. */
function backdateAffiliates(shopId: string) {
  const db = new Sqlite(join(folder, 'referral.db'))
  const rows = db.prepare('select id, status from affiliates where "shopId" = ? order by id').all(shopId)
  const change = db.prepare('update affiliates set "createdAt" = ? where "shopId" = ? and id = ?')
  db.transaction(() => {
    for (const { id, joinedAt } of joinDates(rows as { id: string; status: string }[])) change.run(joinedAt, shopId, id)
  }).immediate()
  db.close()
}

const BROWSERS = [
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 15_1) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15',
  'Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Mobile/15E148 Safari/604.1',
]

/** Signs in from other browsers. */
async function signInElsewhere(token: string) {
  for (const agent of BROWSERS) {
    const headers = { 'Content-Type': 'application/json', 'User-Agent': agent }
    await fetch(`${server.url}/admin/v1/session`, { method: 'POST', headers, body: JSON.stringify({ token }) })
  }
}

async function make(): Promise<Made> {
  const [full, empty] = [await makeShop('Nordwand Outfitters'), await makeShop('Brand-new shop')]
  const owner = caller(`${server.url}/admin/v1`, full.ownerToken)
  const hooks = { good: `http://127.0.0.1:${port}/good`, bad: `http://127.0.0.1:${port}/bad` }
  const filled = await fillShop({ api: caller(`${server.url}/api/v1`, full.apiKey), owner }, hooks)
  backdateAffiliates(full.id)
  await signInElsewhere(full.ownerToken)
  const { ownerToken: staff } = await operator(
    'owner',
    'create',
    '--shop',
    full.id,
    '--email',
    'staff@nordwand.example',
    '--role',
    'STAFF',
  )
  const test = await owner('POST', '/test-shops', { name: 'Checkout tests' })
  const testApi = caller(`${server.url}/api/v1`, test.apiKey ?? '')
  const program = await testApi('POST', '/programs', { name: 'Friends', status: 'PUBLISH', autoApproveOrder: true })
  const friend = await testApi('POST', '/affiliates', {
    name: 'Test Tester',
    email: 't@example.com',
    campaignId: program.id,
  })
  await testApi('PATCH', `/affiliates?id=${friend.id}`, { status: 'APPROVED' })
  await testApi('POST', '/events', { externalOrderId: 't-1', amountCents: 9900, couponCode: friend.discountCode })
  return {
    full,
    empty,
    test: { id: test.id, ownerToken: test.ownerToken ?? '', apiKey: test.apiKey ?? '' },
    staff,
    nisa: filled.nisa.id,
    maelle: filled.maelle.id,
    archived: filled.archived.id,
    rejected: filled.rejected.id,
    batch: filled.batch.id,
    euros: filled.euros.id,
    orderName: filled.orderName,
    hook: port,
  }
}

interface Axe {
  axe: typeof axe
}

async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as Axe).axe.run({ resultTypes: ['violations'] }),
  )
  return violations.map(
    ({ id, impact, nodes }) => `axe ${impact} ${id}: ${nodes[0]?.html.slice(0, 200)} (${nodes.length})`,
  )
}

const overflowOf = (page: Page) =>
  page.evaluate(() =>
    document.documentElement.scrollWidth > innerWidth ? [`${document.documentElement.scrollWidth} pixels wide`] : [],
  )

async function signedIn(browser: Browser, token: string) {
  const context = await browser.newContext({ reducedMotion: 'reduce', deviceScaleFactor: 1 })
  context.setDefaultTimeout(8000)
  const page = await context.newPage()
  if (token) {
    await page.goto(`${site}/admin`)
    await page.getByLabel('Access token').fill(token)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${site}/admin`)
  }
  return page
}

/** The page of an affiliate, by a link that the page of the affiliate makes. */
async function openOwnPage(owner: Page, page: Page, id: string) {
  await owner.goto(`${site}/admin/affiliates/${id}`)
  await owner.getByRole('button', { name: 'Create a link' }).click()
  const path = (await owner.locator('#secret').textContent()) ?? ''
  await page.goto(path)
}

async function shoot(made: Made) {
  mkdirSync(OUT, { recursive: true })
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
  const tokens = {
    full: made.full.ownerToken,
    empty: made.empty.ownerToken,
    test: made.test.ownerToken,
    staff: made.staff,
    nobody: '',
  }
  const pages = new Map<string, Page>()
  const consoleErrors: string[] = []
  let count = 0
  const problems = new Set<string>()
  for (const { name, path, as = 'full', act, screen, media = 'screen' } of shotsOf(made)) {
    if (!new RegExp(values.only).test(name)) continue
    if (!pages.has(as)) {
      const page = await signedIn(browser, tokens[as])
      watch(page, consoleErrors)
      pages.set(as, page)
    }
    const page = pages.get(as) as Page
    for (const [size, viewport] of Object.entries(SIZES)) {
      try {
        await page.setViewportSize(viewport)
        if (path.startsWith('own:'))
          await openOwnPage(
            pages.get('full') ?? (await signedIn(browser, tokens.full)),
            page,
            path.slice('own:'.length),
          )
        else if (path === 'statement') {
          await page.goto(`${site}/admin/affiliates/${made.nisa}`)
          const to = await page.getByRole('link', { name: /^Statement/ }).getAttribute('href')
          await page.goto(`${site}${to}`)
        } else await page.goto(site + path)
        await page.mouse.move(0, 0)
        await act?.(page)
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme, media })
          await page.screenshot({ path: `${OUT}${name}-${size}-${colorScheme}.png`, fullPage: !screen })
          count++
          for (const one of await faultsOf(page)) problems.add(`${name} ${size} ${colorScheme}: ${one}`)
        }
        // A printer chooses the width.
        if (media === 'screen') for (const one of await overflowOf(page)) problems.add(`${name} ${size}: ${one}`)
      } catch (error) {
        problems.add(`${name} ${size}: ${String(error).slice(0, 400)}`)
      }
    }
  }
  await browser.close()
  console.log([...problems, ...consoleErrors.map((one) => `console: ${one}`)].join('\n'))
  console.log(
    server
      .log()
      .split('\n')
      .filter((line) => /"level":(40|50)/.test(line))
      .slice(0, 5)
      .join('\n'),
  )
  console.log(`${count} screenshots in ${OUT}; ${problems.size} findings, ${consoleErrors.length} console messages`)
}

try {
  const made = known ?? (await make())
  if (!known) writeFileSync(file, JSON.stringify(made))
  await shoot(made)
} finally {
  await server.stop()
  provider.close()
  hook.closeAllConnections()
  hook.close()
  own?.remove()
}
