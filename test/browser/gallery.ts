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
import { type Browser, chromium, type Page } from 'playwright-core'
import { run, startServer, temporaryFolder } from '../support/process.ts'
import { CHROMIUM, FLAGS, watch } from './fixture.ts'
import { type Api, fillShop, SCOPES } from './gallery-shop.ts'

type Data = Awaited<ReturnType<Api>>

const OUT = fileURLToPath(new URL('../.screenshots/', import.meta.url))
const SIZES = { 1440: { width: 1440, height: 900 }, 390: { width: 390, height: 844 } } as const
const SCHEMES = ['light', 'dark'] as const

interface Shop {
  id: string
  ownerToken: string
  apiKey: string
}
interface Made {
  full: Shop
  empty: Shop
  test: Shop
  staff: string
  nisa: string
  maelle: string
  batch: string
  euros: string
  orderName: string
  hook: number
}

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
const env = { REFERRAL_DATA_DIR: folder, REFERRAL_WEBHOOK_ALLOW: `127.0.0.1:${port}` }
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

async function make(): Promise<Made> {
  const [full, empty] = [await makeShop('Nordwand Outfitters'), await makeShop('Brand-new shop')]
  const owner = caller(`${server.url}/admin/v1`, full.ownerToken)
  const hooks = { good: `http://127.0.0.1:${port}/good`, bad: `http://127.0.0.1:${port}/bad` }
  const filled = await fillShop({ api: caller(`${server.url}/api/v1`, full.apiKey), owner }, hooks)
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
    batch: filled.batch.id,
    euros: filled.euros.id,
    orderName: filled.orderName,
    hook: port,
  }
}

type Shot = {
  name: string
  path: string
  as?: 'full' | 'empty' | 'test' | 'staff' | 'nobody'
  /** Brings the page into the state. */
  act?: (page: Page) => Promise<unknown>
  /** Only what is visible, for layers and sticky parts. */
  screen?: boolean
}

const link = (selector: string) => (page: Page) => page.locator(selector).first().click()
const submit = (fields: Record<string, string>, button: string | RegExp) => async (page: Page) => {
  for (const [label, value] of Object.entries(fields)) {
    const field = page.locator('main').getByLabel(label, { exact: true }).first()
    await field.evaluate((one) => one.removeAttribute('required'))
    await field.fill(value)
  }
  await page.locator('form').evaluateAll((forms) => {
    for (const one of forms) one.setAttribute('novalidate', '')
  })
  await page.locator('main').getByRole('button', { name: button }).first().click()
  await page.waitForLoadState()
}

function shotsOf(made: Made): Shot[] {
  const { nisa, maelle, batch, euros } = made
  const order = encodeURIComponent(made.orderName)
  const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString().slice(0, 10)
  return [
    { name: 'sign-in', path: '/admin/sign-in', as: 'nobody' },
    { name: 'sign-in-link', path: '/admin/sign-in?token=rl_x', as: 'nobody' },
    {
      name: 'sign-in-wrong',
      path: '/admin/sign-in',
      as: 'nobody',
      act: submit({ 'Owner token': 'ro_wrong' }, 'Sign in'),
    },
    { name: 'overview', path: '/admin' },
    { name: 'overview-90', path: '/admin?days=90&currency=EUR' },
    {
      name: 'overview-hover',
      path: '/admin',
      screen: true,
      act: async (page) => page.locator('.marks').first().locator('li').nth(20).hover(),
    },
    {
      name: 'overview-focus',
      path: '/admin',
      screen: true,
      act: async (page) => {
        await page.locator('.marks').nth(1).locator('li').last().focus()
        await page.keyboard.press('ArrowLeft')
        await page.keyboard.press('ArrowLeft')
      },
    },
    { name: 'overview-table', path: '/admin', act: async (page) => page.locator('details.numbers summary').click() },
    { name: 'overview-empty', path: '/admin', as: 'empty' },
    { name: 'overview-test', path: '/admin', as: 'test' },
    { name: 'overview-staff', path: '/admin', as: 'staff' },
    {
      name: 'menu-open',
      path: '/admin',
      screen: true,
      act: async (page) => {
        const button = page.locator('.top button')
        if (await button.isVisible()) await button.click()
      },
    },
    { name: 'orders', path: '/admin/orders' },
    { name: 'orders-empty', path: '/admin/orders', as: 'empty' },
    { name: 'order', path: `/admin/orders?id=${order}` },
    { name: 'order-nobody', path: '/admin/orders?id=5551000065' },
    { name: 'order-canceled', path: '/admin/orders?id=5551001170' },
    { name: 'order-missing', path: '/admin/orders?id=999' },
    {
      name: 'order-refund-invalid',
      path: `/admin/orders?id=${order}`,
      act: async (page) => {
        for (const details of await page.locator('main details').all())
          await details.evaluate((one) => one.setAttribute('open', ''))
        await submit({ 'Refund id': 're-x', 'Goods refunded, in USD': 'abc' }, /refund/i)(page)
      },
    },
    { name: 'commissions', path: '/admin/commissions' },
    {
      name: 'commissions-selected',
      path: '/admin/commissions',
      screen: true,
      act: async (page) => {
        for (const n of [0, 1, 2]) await page.locator('input[name=ids]').nth(n).check()
      },
    },
    { name: 'commissions-all-states', path: '/admin/commissions?status=ALL' },
    {
      name: 'commissions-filtered',
      path: `/admin/commissions?status=ALL&min=100&currency=EUR&from=${days(40)}&to=${days(0)}`,
    },
    { name: 'commissions-none', path: '/admin/commissions?status=ALL&affiliate=nobody' },
    { name: 'commissions-empty', path: '/admin/commissions', as: 'empty' },
    { name: 'commissions-staff', path: '/admin/commissions', as: 'staff' },
    { name: 'commissions-bulk', path: '/admin/commissions/all' },
    { name: 'affiliates', path: '/admin/affiliates' },
    { name: 'affiliates-pending', path: '/admin/affiliates?status=PENDING' },
    { name: 'affiliates-none', path: '/admin/affiliates?q=zzzz' },
    { name: 'affiliates-empty', path: '/admin/affiliates', as: 'empty' },
    { name: 'affiliate', path: `/admin/affiliates/${nisa}` },
    { name: 'affiliate-long-name', path: `/admin/affiliates/${maelle}` },
    {
      name: 'affiliate-code-invalid',
      path: `/admin/affiliates/${nisa}`,
      act: async (page) => {
        await page.getByText('Change the code').click()
        await page.locator('input[name=code]').fill('TOO LONG CODE')
        await page.getByRole('button', { name: 'Assign code' }).click()
      },
    },
    { name: 'affiliate-new', path: '/admin/affiliates/new' },
    {
      name: 'affiliate-new-invalid',
      path: '/admin/affiliates/new',
      act: submit({ Name: 'Jo', Email: 'not an address' }, /Create|Add|Save/),
    },
    { name: 'affiliate-edit', path: `/admin/affiliates/${nisa}/edit` },
    { name: 'affiliate-archive', path: `/admin/affiliates/${nisa}/archive` },
    { name: 'affiliate-payee', path: `/admin/affiliates/${nisa}/payee` },
    {
      name: 'affiliate-payee-invalid',
      path: `/admin/affiliates/${maelle}/payee?method=SEPA`,
      act: submit({ 'Account holder': 'M', IBAN: 'DE00', Town: 'Berlin', Country: 'DE' }, /Save|Replace/),
    },
    { name: 'programs', path: '/admin/programs' },
    { name: 'programs-empty', path: '/admin/programs', as: 'empty' },
    { name: 'program', path: '/admin/programs', act: link('tbody th a') },
    { name: 'program-new', path: '/admin/programs/new' },
    {
      name: 'program-new-invalid',
      path: '/admin/programs/new',
      act: submit({ Name: 'New', Rate: '900' }, /Create|Save/),
    },
    {
      name: 'backtest',
      path: '/admin/programs',
      act: async (page) => {
        await link('tbody th a')(page)
        await page
          .locator('main')
          .getByRole('link', { name: /change|backtest|what/i })
          .first()
          .click({ timeout: 3000 })
          .catch(() => undefined)
      },
    },
    { name: 'coupons', path: '/admin/coupons' },
    { name: 'coupons-empty', path: '/admin/coupons', as: 'empty' },
    { name: 'payouts', path: '/admin/payouts' },
    { name: 'payouts-empty', path: '/admin/payouts', as: 'empty' },
    { name: 'payout', path: `/admin/payouts/${batch}` },
    { name: 'payout-euros', path: `/admin/payouts/${euros}` },
    {
      name: 'payout-wrong-total',
      path: `/admin/payouts/${euros}`,
      act: async (page) => {
        await page.getByLabel(/^Type the total/).fill('1.00')
        await page.getByRole('button', { name: 'Mark as paid' }).click()
      },
    },
    { name: 'payout-cancel', path: `/admin/payouts/${euros}/cancel` },
    { name: 'payout-discard-file', path: '/admin/payout-files/october-wise/discard' },
    { name: 'payout-new', path: '/admin/payouts/new' },
    { name: 'payout-preview', path: `/admin/payouts/new?from=${days(40)}&until=${days(0)}` },
    { name: 'reconcile', path: '/admin/payouts/reconcile' },
    { name: 'reconcile-invalid', path: '/admin/payouts/reconcile', act: submit({ Report: 'nothing' }, 'Record') },
    { name: 'journey', path: '/admin/journey' },
    { name: 'journey-customer', path: '/admin/journey?customerEmail=ada@example.com' },
    { name: 'webhooks', path: '/admin/webhooks' },
    { name: 'webhooks-empty', path: '/admin/webhooks', as: 'empty' },
    { name: 'webhook', path: '/admin/webhooks', act: link('main a[href*="/whs_"]') },
    {
      name: 'webhook-invalid',
      path: '/admin/webhooks',
      act: submit({ URL: 'http://insecure.example' }, 'Add webhook'),
    },
    { name: 'deliveries', path: '/admin/deliveries' },
    { name: 'deliveries-failed', path: '/admin/deliveries?status=FAILED' },
    { name: 'deliveries-empty', path: '/admin/deliveries', as: 'empty' },
    { name: 'keys', path: '/admin/keys' },
    {
      name: 'keys-created',
      path: '/admin/keys',
      as: 'test',
      act: async (page) => {
        await page.getByLabel('Label').fill('Made in the test')
        await page.getByLabel('programs:read').check()
        await page.getByRole('button', { name: 'Create key' }).click()
      },
    },
    { name: 'key-revoke', path: '/admin/keys', act: link('a[href$=revoke]') },
    { name: 'settings', path: '/admin/settings' },
    { name: 'team', path: '/admin/team' },
    { name: 'audit', path: '/admin/audit' },
    { name: 'account', path: '/admin/account' },
    { name: 'not-found', path: '/admin/nothing' },
    { name: 'forbidden', path: '/admin/payouts', as: 'staff' },
    { name: 'own-page', path: 'own', as: 'nobody' },
    { name: 'own-page-expired', path: '/affiliate?token=x', as: 'nobody' },
    { name: 'statement', path: 'statement' },
  ]
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
    await page.goto(`${server.url}/admin`)
    await page.getByLabel('Owner token').fill(token)
    await page.keyboard.press('Enter')
    await page.waitForURL(`${server.url}/admin`)
  }
  return page
}

/** The page of an affiliate, by a link that the page of the affiliate makes. */
async function openOwnPage(owner: Page, page: Page, id: string) {
  await owner.goto(`${server.url}/admin/affiliates/${id}`)
  await owner.getByRole('button', { name: 'Create a link' }).click()
  const path = (await owner.locator('#secret').textContent()) ?? ''
  await page.goto(path.startsWith('http') ? path : server.url + path)
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
  const complaints: string[] = []
  let count = 0
  const problems = new Set<string>()
  for (const { name, path, as = 'full', act, screen } of shotsOf(made)) {
    if (!new RegExp(values.only).test(name)) continue
    if (!pages.has(as)) {
      const page = await signedIn(browser, tokens[as])
      watch(page, complaints)
      pages.set(as, page)
    }
    const page = pages.get(as) as Page
    for (const [size, viewport] of Object.entries(SIZES)) {
      try {
        await page.setViewportSize(viewport)
        if (path === 'own')
          await openOwnPage(pages.get('full') ?? (await signedIn(browser, tokens.full)), page, made.nisa)
        else if (path === 'statement') {
          await page.goto(`${server.url}/admin/affiliates/${made.nisa}`)
          await page.getByRole('link', { name: /^Statement/ }).click()
        } else await page.goto(server.url + path)
        await page.mouse.move(0, 0)
        await act?.(page)
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme })
          await page.screenshot({ path: `${OUT}${name}-${size}-${colorScheme}.png`, fullPage: !screen })
          count++
          for (const one of await faultsOf(page)) problems.add(`${name} ${size} ${colorScheme}: ${one}`)
        }
        for (const one of await overflowOf(page)) problems.add(`${name} ${size}: ${one}`)
      } catch (error) {
        problems.add(`${name} ${size}: ${String(error).slice(0, 400)}`)
      }
    }
  }
  await browser.close()
  console.log([...problems, ...complaints.map((one) => `console: ${one}`)].join('\n'))
  console.log(
    server
      .log()
      .split('\n')
      .filter((line) => /"level":(40|50)/.test(line))
      .slice(0, 5)
      .join('\n'),
  )
  console.log(`${count} screenshots in ${OUT}; ${problems.size} findings, ${complaints.length} console messages`)
}

try {
  const made = known ?? (await make())
  if (!known) writeFileSync(file, JSON.stringify(made))
  await shoot(made)
} finally {
  await server.stop()
  hook.closeAllConnections()
  hook.close()
  own?.remove()
}
