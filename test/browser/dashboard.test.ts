// Full: it drives a browser.
import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoChromium } from '../support/chromium.ts'
import { checkPage, SCREENS } from './check-page.ts'
import { type Stage, setUp, watch } from './fixture.ts'
import { makeHistory } from './history.ts'

let stage: Stage
let owner: Page
/** Console errors and failed requests of every page opened here. */
const consoleErrors: string[] = []
let staffToken: string
let link: string

const visit = async (options: BrowserContextOptions = {}): Promise<Page> => {
  const context: BrowserContext = await stage.browser.newContext({ reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(10_000)
  const page = await context.newPage()
  watch(page, consoleErrors)
  return page
}
const open = async (page: Page, path: string) => (await page.goto(stage.url + path))?.status()
const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click()
const heading = (page: Page) => page.getByRole('heading', { level: 1 }).textContent()
const signIn = async (page: Page, token = stage.ownerToken) => {
  await open(page, '/admin')
  await page.getByLabel('Access token').fill(token)
  await press(page, 'Sign in')
}
const textOf = async (page: Page, selector: string) => (await page.locator(selector).textContent()) ?? ''
const statusOf = async (key: string) => (await stage.api('GET', '/programs', undefined, key)).status
const labels = async () => owner.locator('tbody th').allInnerTexts()

describe.skipIf(whyNoChromium())('the dashboard', () => {
  beforeAll(async () => {
    stage = await setUp()
    const staff = stage.operator('owner', 'create', '--email', 'staff@demo.example', '--role', 'STAFF')
    await makeHistory(stage)
    staffToken = (await staff).ownerToken
    link = /dashboard +http:\/\/[^/]+(\S+)/.exec(stage.output())?.[1] ?? ''
    owner = await visit({ permissions: ['clipboard-read', 'clipboard-write'] })
  }, 60_000)
  afterAll(() => stage?.close())

  test('signs in with an owner token, using the keyboard only', async () => {
    await open(owner, '/admin/commissions')
    expect(await heading(owner)).toBe('Sign in')
    await owner.getByLabel('Access token').fill(stage.ownerToken)
    await owner.keyboard.press('Enter')
    await owner.waitForURL('**/admin/commissions')
    await owner.keyboard.press('Tab')
    expect(await owner.locator(':focus').textContent()).toBe('Skip to content')
    await owner.keyboard.press('Enter')
    expect(await owner.locator(':focus').getAttribute('id')).toBe('main')
  })

  test('signs in once with the link that the start prints, without JavaScript; opening the link does not redeem it', async () => {
    const page = await visit({ javaScriptEnabled: false })
    await open(page, link)
    await open(page, link)
    await press(page, 'Sign in')
    expect(await heading(page)).toBe('Overview')
    const late = await visit()
    await open(late, link)
    await press(late, 'Sign in')
    expect(await late.getByRole('alert').textContent()).toContain('is invalid or has expired')
    await Promise.all([page, late].map((one) => one.context().close()))
  })

  test('creates a key, rotates it, which stops the old secret immediately, and revokes it', async () => {
    await open(owner, '/admin/keys')
    await owner.getByLabel('Label').fill('Checkout')
    await owner.getByLabel('Programs: read').check()
    await press(owner, 'Create key')
    const first = await textOf(owner, '#secret')
    await press(owner, 'Copy')
    await owner.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await owner.evaluate(() => navigator.clipboard.readText())).toBe(first)
    expect(await statusOf(first)).toBe(200)
    await owner.reload()
    expect(await owner.content()).not.toContain(first)
    await owner.getByRole('link', { name: 'Rotate Checkout' }).click()
    expect(await statusOf(first)).toBe(200)
    await press(owner, 'Rotate key')
    const second = await textOf(owner, '#secret')
    expect([await statusOf(first), await statusOf(second)]).toEqual([403, 200])
    await owner.getByRole('link', { name: 'Revoke Checkout' }).click()
    await press(owner, 'Revoke key')
    expect(await statusOf(second)).toBe(403)
    expect(await owner.getByRole('row', { name: /Checkout/ }).textContent()).toContain('Revoked')
    expect(stage.log()).not.toContain(second)
  })

  test('approves a commission, shows it in a batch, and pays the batch only with its typed total', async () => {
    await open(owner, '/admin/commissions')
    await press(owner, 'Approve order W-1')
    expect(await owner.getByRole('status').textContent()).toContain('Order W-1 approved: 12.35 USD')
    expect(await labels()).not.toContain('W-1')
    await owner.getByLabel('All on this page').check()
    expect(await owner.locator('input[name=ids]:checked').count()).toBe(6)
    await open(owner, '/admin/payouts/new')
    await owner
      .getByLabel('First day', { exact: true })
      .fill(new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10))
    await owner.getByLabel('Last day').fill(new Date().toISOString().slice(0, 10))
    await press(owner, 'Preview')
    const total = /of (.*)$/.exec(await textOf(owner, 'main section button'))?.[1] ?? ''
    await press(owner, /^Create batch/)
    await open(owner, `${new URL(owner.url()).pathname}?view=commissions`)
    expect(await labels()).toContain('W-1')
    await owner.getByLabel(/^Type the total/).fill('1.00')
    await press(owner, 'Mark as paid')
    expect(await owner.getByRole('alert').textContent()).toContain('not the expected 1.00 USD')
    await owner.getByLabel(/^Type the total/).fill(total)
    await owner.getByLabel(/outside of payment files/).check()
    await press(owner, 'Mark as paid')
    await open(owner, `${new URL(owner.url()).pathname}?view=commissions`)
    expect(await owner.getByRole('row', { name: /^W-1/ }).textContent()).toContain('Paid')
  })

  test('adds a webhook, sends a test event, and redelivers it: the same bytes with the same id', async () => {
    await open(owner, '/admin/webhooks')
    await owner.getByLabel('URL').fill(stage.receiver.at('/hook'))
    await press(owner, 'Add webhook')
    const secret = await textOf(owner, '#secret')
    await press(owner, 'Send test event')
    await expect.poll(() => stage.receiver.to('/hook').length, { timeout: 10_000 }).toBe(1)
    for (let i = 0; i < 20 && !(await owner.getByRole('button', { name: /^Redeliver test/ }).count()); i++) {
      await sleep(50)
      await owner.reload()
    }
    await press(owner, /^Redeliver test/)
    expect(await owner.getByRole('status').textContent()).toContain('queued for redelivery')
    await expect.poll(() => stage.receiver.to('/hook').length, { timeout: 10_000 }).toBe(2)
    const [first, second] = stage.receiver.to('/hook')
    expect(second?.body.equals(first?.body ?? Buffer.of())).toBe(true)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(secret).toMatch(/^[\w-]{32}$/)
    expect(await owner.getByRole('row', { name: /^test/ }).count()).toBe(2)
  })

  test('a passkey is added, signs in without a token, and no longer does when it is removed', async () => {
    const page = await visit()
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
    } as const
    await cdp.send('WebAuthn.addVirtualAuthenticator', { options: { ...options, isUserVerified: true } })
    const account = `${stage.localhost}/admin/account`
    await page.goto(account)
    await page.getByLabel('Access token').fill(stage.ownerToken)
    await page.keyboard.press('Enter')
    await page.waitForURL(account)
    await page.getByLabel('Name').fill('Test device')
    await press(page, 'Add a passkey')
    expect(await page.getByRole('status').textContent()).toContain('Passkey added.')
    expect(await checkPage(page, 'account-passkey')).toEqual({ light: [], dark: [], overflow: [] })
    await press(page, 'Add a passkey')
    await page.getByRole('alert').filter({ hasText: 'has a passkey of yours already' }).waitFor()
    await press(page, 'Sign out')
    expect(await checkPage(page, 'sign-in-passkey')).toEqual({ light: [], dark: [], overflow: [] })
    const usePasskey = () => press(page, 'Sign in with a passkey')
    await usePasskey()
    await page.waitForURL(`${stage.localhost}/admin`)
    await page.goto(account)
    expect(await page.getByRole('row', { name: /This browser/ }).textContent()).toContain('Passkey')
    await press(page, 'Remove Test device')
    await press(page, 'Sign out')
    await usePasskey()
    await page.getByRole('alert').filter({ hasText: 'The passkey is unknown' }).waitFor()
    await page.context().close()
  })

  test('a provider on another site signs in, and the page that was requested opens', async () => {
    stage.provider.claims = { email: 'owner@demo.example' }
    const page = await visit()
    await page.goto(`${stage.localhost}/admin/settings`)
    await page.getByRole('link', { name: 'Sign in with Acme ID' }).click()
    await page.waitForURL(`${stage.localhost}/admin/settings`)
    expect(await heading(page)).toBe('Shop')
    await page.context().close()
  })

  test('gives STAFF read access, without keys and money', async () => {
    const page = await visit()
    await signIn(page, staffToken)
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link')
    await links.first().waitFor()
    expect(await links.allTextContents()).toEqual([
      'Overview',
      'Orders',
      'Commissions',
      'Affiliates',
      'Customers',
      'Programs',
      'Coupons',
      'Journeys',
      'Webhooks',
      'Deliveries',
      'Your account',
    ])
    for (const path of ['/admin/keys', '/admin/payouts', '/admin/payouts/new']) expect(await open(page, path)).toBe(403)
    expect(await page.locator('main').textContent()).toContain('Only an owner can see')
    await open(page, '/admin/commissions')
    expect(await page.getByRole('button').allInnerTexts()).toEqual(['Search', 'Sign out', 'Shortcuts', 'Filter'])
    await page.context().close()
  })

  test('rejects forms of other sites, even of a same-site origin that receives the cookie, and forms without the CSRF token', async () => {
    const to = encodeURIComponent(`${stage.url}/admin/keys`)
    const forge = async (from: string) => {
      const [reply] = await Promise.all([
        owner.waitForResponse((response) => response.request().method() === 'POST'),
        owner.goto(`${from}/?to=${to}`),
      ])
      const sent = await reply.request().allHeaders()
      return { status: reply.status(), withCookie: /referral_session/.test(sent.cookie ?? '') }
    }
    expect(await forge(stage.evil.stranger)).toEqual({ status: 401, withCookie: false })
    expect(await forge(stage.evil.sameSite)).toEqual({ status: 403, withCookie: true })
    const form = { label: 'Forged', 'access-programs': 'read' }
    for (const fields of [form, { ...form, csrf: '0'.repeat(64) }]) {
      const reply = await owner.request.post(`${stage.url}/admin/keys`, { form: fields })
      expect(reply.status()).toBe(403)
    }
    await open(owner, '/admin/keys')
    expect(await labels()).not.toContain('Forged')
  })

  test('single-key shortcuts search, move between rows and open pages, unless they are turned off; a rejected field has the focus', async () => {
    const focused = (selector: string) => owner.evaluate((one) => document.activeElement?.matches(one), selector)
    await open(owner, '/admin/orders')
    await owner.keyboard.press('/')
    expect(await focused('dialog[open] input[type=search]')).toBe(true)
    await owner.keyboard.press('Escape')
    await owner.locator('dialog[open]').waitFor({ state: 'detached' })
    await owner.keyboard.press('f')
    expect(await focused('input[name=id]')).toBe(true)
    await owner.keyboard.type('g?')
    expect(await owner.locator('input[name=id]').inputValue()).toBe('g?')
    await open(owner, '/admin/commissions?status=ALL')
    for (const key of ['j', 'j', 'k']) await owner.keyboard.press(key)
    expect(await focused('tbody tr:first-child th a')).toBe(true)
    await open(owner, '/admin/commissions')
    const pending = await owner.locator('input[name=ids]').count()
    await owner.locator('input[name=ids]').last().focus()
    await owner.keyboard.press('Space')
    // Enter in a form presses its first button, which is that of another row.
    await owner.keyboard.press('Enter')
    await open(owner, '/admin/commissions')
    expect([pending > 0, await owner.locator('input[name=ids]').count()]).toEqual([true, pending])
    await owner.keyboard.press('g')
    await owner.keyboard.press('a')
    await owner.waitForURL('**/admin/affiliates')
    await owner.keyboard.press('n')
    await owner.waitForURL('**/admin/affiliates/new')
    await owner.getByLabel('Name').fill('Jo')
    await owner.getByLabel('Email').fill('jo@')
    await owner.locator('main form').evaluate((form: HTMLFormElement) => form.setAttribute('novalidate', ''))
    await owner.keyboard.press('Enter')
    await owner.getByRole('alert').waitFor()
    expect(await focused('input[name=email][aria-invalid=true][aria-describedby=email-problem]')).toBe(true)
    await open(owner, '/admin')
    await owner.keyboard.press('?')
    expect(await checkPage(owner, 'shortcuts')).toEqual({ light: [], dark: [], overflow: [] })
    await owner.getByLabel('Use these shortcuts in this browser').uncheck()
    await owner.keyboard.press('Escape')
    await owner.keyboard.press('g')
    await owner.keyboard.press('a')
    expect(await heading(owner)).toBe('Overview')
  })

  test('one search finds everything as you type, with the keyboard alone, and works without JavaScript', async () => {
    await open(owner, '/admin/programs')
    await owner.keyboard.press('Control+k')
    const dialog = owner.getByRole('dialog', { name: 'Search everything' })
    await dialog.getByRole('link', { name: 'Payouts', exact: true }).waitFor()
    await owner.keyboard.type('mira')
    await dialog.getByRole('link', { name: /^Mira/ }).first().waitFor()
    expect(await checkPage(owner, 'search-dialog')).toEqual({ light: [], dark: [], overflow: [] })
    await owner.keyboard.press('ArrowDown')
    await owner.keyboard.press('ArrowUp')
    await owner.keyboard.press('Enter')
    await owner.waitForURL('**/admin/affiliates/aff_*')
    await owner.keyboard.press('Control+k')
    await owner.keyboard.type('w-1')
    await owner.keyboard.press('Enter')
    await owner.waitForURL('**/admin/orders?id=*')
    await owner.getByRole('searchbox', { name: 'Search everything' }).click()
    await dialog.waitFor()
    await owner.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
    const page = await visit({ javaScriptEnabled: false })
    await signIn(page)
    await page.getByRole('searchbox', { name: 'Search everything' }).fill('mira')
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'Affiliates' }).getByRole('link').first().click()
    expect(await heading(page)).toContain('Mira')
    await page.context().close()
  })

  test.each(SCREENS)(
    '%s has no serious accessibility violation in light and dark, and fits 360 pixels',
    async (name, path, link) => {
      const page = name.startsWith('sign-in') ? await visit() : owner
      await open(page, path)
      if (link) await page.locator(link).first().click()
      expect(await checkPage(page, name)).toEqual({ light: [], dark: [], overflow: [] })
      if (page !== owner) await page.context().close()
    },
  )

  test('sign-out ends the session: its cookie is rejected', async () => {
    await open(owner, '/admin')
    const cookies = await owner.context().cookies()
    await press(owner, 'Sign out')
    expect(await owner.getByRole('status').textContent()).toBe('You are signed out.')
    await owner.context().addCookies(cookies)
    await open(owner, '/admin/keys')
    expect(await heading(owner)).toBe('Sign in')
  })

  test('an injected script does not run and is reported; accessibility violations are detected', async () => {
    const page = await (await stage.browser.newContext()).newPage()
    const noticed: string[] = []
    watch(page, noticed)
    await open(page, '/admin/sign-in')
    const ran = await page.evaluate(() => {
      const script = document.createElement('script')
      script.textContent = 'globalThis.injected = true'
      document.body.append(script, new Image())
      return 'injected' in globalThis
    })
    expect(ran).toBe(false)
    expect(noticed.join()).toContain('Content Security Policy')
    expect((await checkPage(page)).light.join()).toContain('image-alt')
    await page.context().close()
  })

  test('no page logged an error or failed to load a resource', () => {
    expect(consoleErrors).toEqual([])
  })
})
