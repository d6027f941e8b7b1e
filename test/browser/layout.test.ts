// Full: it drives a browser.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoChromium } from '../support/chromium.ts'
import { type Stage, setUp } from './fixture.ts'
import { SCOPES } from './gallery-shop.ts'
import { makeHistory } from './history.ts'

let stage: Stage
let page: Page

describe.skipIf(whyNoChromium())('the layout', () => {
  beforeAll(async () => {
    stage = await setUp()
    await makeHistory(stage)
    await addLongValues()
    page = await (await stage.browser.newContext({ reducedMotion: 'reduce' })).newPage()
  }, 120_000)
  afterAll(() => stage?.close())

  test('each step of the quick start fits a screen, without cut code, and its links lead to the reference of this server', async () => {
    for (const width of [390, 1024, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      await page.goto(`${stage.url}/api/v1/docs`)
      expect(await page.evaluate(clippedElements), `${width}`).toEqual([])
      const heights = await page.locator('section').evaluateAll((all) => all.map((one) => one.clientHeight))
      if (width > 1000) expect(Math.max(...heights)).toBeLessThan(800)
    }
    await page.getByRole('link', { name: 'POST' }).nth(4).click()
    await page.getByRole('heading', { name: 'Create a payout batch' }).waitFor()
    await page.getByText(stage.url).first().waitFor({ state: 'attached' })
  })

  test('every page of the dashboard fits, with long names and addresses, at 390, 1024, 1280 and 1440 pixels', async () => {
    await page.goto(`${stage.url}/admin`)
    await page.getByLabel('Access token').fill(stage.ownerToken)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    const pending = ['/admin']
    const seen = new Set<string>()
    const problems: string[] = []
    for (let path = pending.shift(); path !== undefined; path = pending.shift()) {
      const kind = kindOf(path)
      if (seen.has(kind)) continue
      seen.add(kind)
      await page.goto(stage.url + path)
      for (const width of [390, 1024, 1280, 1440]) {
        await page.setViewportSize({ width, height: 900 })
        for (const problem of await page.evaluate(clippedElements)) problems.push(`${path} ${width}: ${problem}`)
      }
      const links = page.locator('a[href^="/admin"]:not([href*=".csv"], [href*="/download"])')
      pending.push(...(await links.evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''))))
    }
    expect(seen.size).toBeGreaterThan(45)
    expect(problems).toEqual([])
  }, 300_000)
})

/** Links of the same kind lead to pages of the same layout. */
const kindOf = (href: string): string => {
  const { pathname, searchParams } = new URL(href, 'http://host')
  return `${pathname.replace(/[a-z]{3}_[0-9A-Z]+/g, ':id')} ${searchParams.get('view') ?? ''} ${searchParams.has('id')}`
}

/** What reaches beyond its place: the page, code, and tables whose last columns would have to be scrolled to. Runs in the page. */
function clippedElements(): string[] {
  const describe = (one: Element) =>
    `${one.tagName} ${one.className} ${one.textContent?.replace(/\s+/g, ' ').slice(0, 60)}`
  // On a phone, tabs are a line to scroll.
  const isWide = (one: Element) => one.scrollWidth > one.clientWidth + 1 && !(innerWidth < 672 && one.closest('.tabs'))
  const all = [
    document.documentElement,
    ...document.querySelectorAll('pre, .scroll, main, .card, .stats, td, tbody th, dd, .tabs ul'),
  ]
  return all.filter(isWide).map((one) => `${describe(one)} is ${one.scrollWidth} of ${one.clientWidth} pixels`)
}

const WORD = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft'
const NAME = `${WORD} and its friends of the very long name`
const DOMAIN = `a-rather-long-company-name-${'x'.repeat(30)}.example`

/** Values at their documented limits, in every list. */
async function addLongValues(): Promise<void> {
  const send = (token: string, base: string) => async (method: string, path: string, body?: object) => {
    const headers = { Authorization: `Bearer ${token}`, 'Idempotency-Key': crypto.randomUUID() }
    const response = await fetch(stage.url + base + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    const reply = await response.json()
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(reply)}`)
    return reply.data ?? reply
  }
  const owner = send(stage.ownerToken, '/admin/v1')
  const { secret } = await owner('POST', '/keys', { label: NAME.slice(0, 100), scopes: SCOPES })
  const api = send(secret, '/api/v1')
  await owner('PATCH', '/settings', { currency: 'USD', storeDomain: `${'long-'.repeat(8)}shop.myshopify.com` })
  const { id: campaignId } = await api('POST', '/programs', {
    name: NAME,
    description: `${NAME} `.repeat(4),
    commissionPercent: 99.99,
    autoApproveAffiliate: true,
    status: 'PUBLISH',
  })
  await owner('POST', '/product-rules', {
    programId: campaignId,
    kind: 'product',
    value: '9'.repeat(20),
    commissionPercent: 20,
  })
  await owner('PUT', `/geo-rules/${campaignId}`, { countries: ['DE'], cities: [WORD] })
  const email = `${'long.local.part.'.repeat(3)}name@${DOMAIN}`
  const affiliate = await api('POST', '/affiliates', { email, name: NAME, campaignId })
  await api('PATCH', `/affiliates?id=${affiliate.id}`, {
    website: `https://${DOMAIN}/${'path/'.repeat(60)}`,
    homeAddress: WORD,
  })
  await api('POST', '/coupons', { affiliateId: affiliate.id, code: 'WWWWWWWWW' })
  await api('POST', '/affiliates/aliases', { affiliateId: affiliate.id, kind: 'LINK', value: 'old-link-'.repeat(10) })
  await owner('POST', '/connections', { affiliateId: affiliate.id, kind: 'customerEmail', value: email })
  await owner('PUT', `/affiliates/${affiliate.id}/payee`, { method: 'PAYPAL', email })
  const order = (n: number) => ({
    externalOrderId: `${'order-'.repeat(12)}${n}`,
    orderName: `#${'2026-'.repeat(12)}${n}`,
    amountCents: 200_000_000,
    couponCode: 'WWWWWWWWW',
    customerEmail: `customer.${email}`,
    customerId: 'customer-'.repeat(12),
    lineItems: [{ productId: '9'.repeat(20), title: NAME, quantity: 1, priceCents: 200_000_000 }],
    shipping: { country: 'DE', city: WORD },
  })
  for (const n of [1, 2, 3]) await api('POST', '/events', order(n))
  const page = `https://${DOMAIN}/${'path/'.repeat(60)}?ref=${affiliate.slug}`
  const click = {
    type: 'click',
    ref: affiliate.slug,
    url: page,
    landingPage: page,
    referrerUrl: page,
    utmCampaign: WORD,
    sessionId: 'long-'.repeat(20),
  }
  await api('POST', '/events', { ...click, customerEmail: `customer.${email}` })
  const commissions = await api('GET', `/commissions?affiliateId=${affiliate.id}`)
  for (const { id } of commissions.slice(0, 2)) await owner('POST', `/commissions/${id}/approve`)
  const day = (offset: number) => new Date(Date.now() + offset * 86_400_000).toISOString()
  const batch = await api('POST', '/payouts', { periodStart: day(-40), periodEnd: day(1) })
  await owner('PUT', `/payout-files/${'f'.repeat(30)}`, { batchId: batch.id, format: 'paypal' })
  await owner('POST', `/commissions/${commissions[2].id}/approve`)
  const hook = { url: `https://${DOMAIN}/${'hook/'.repeat(60)}`, secret: 'x'.repeat(40) }
  await api('POST', '/webhooks', hook)
  await api('POST', '/webhooks', { ...hook, events: ['commission.created', 'payout.paid', 'affiliate.approved'] })
  await api('POST', '/webhooks?test=1', { url: hook.url })
  await stage.operator('owner', 'create', '--email', email)
}
