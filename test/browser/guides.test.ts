// Full: it drives a browser.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import edge from '../../examples/edge-clicks.ts'
import { moduleOf, snippetsOf, writeModules } from '../docs/snippets.ts'
import { sign } from '../stores/fixture.ts'
import { orderPayload } from '../stores/payloads.ts'
import { whyNoChromium } from '../support/chromium.ts'
import { rowsOf } from '../support/inspect.ts'
import { admin } from '../support/owner.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { expectOk, withAffiliate } from '../support/shop.ts'
import { openSites, type Serve } from './sites.ts'

const folder = join(import.meta.dirname, '.snippets')
const snippets = ['docs/guides/nextjs.md', 'docs/guides/workers.md'].flatMap(snippetsOf)
const modules = snippets.filter(({ language, file }) => language === 'ts' && !file)
/** Loads the code of a guide. */
const load = (path: string) => import(moduleOf(folder, modules.find((snippet) => snippet.path === path)!))

const SHOP = `<!doctype html><title>Hats</title>
<a href="/hat">The hat</a>
<form method="post" action="/checkout"><button>Buy</button></form>`
const html = (text: string) => new Response(text, { headers: { 'Content-Type': 'text/html' } })

let server: TestServer
let slug: string
/** What the shops do after their response. */
let background: Promise<unknown>[] = []
const waitUntil = (work: Promise<unknown>) => void background.push(work)

/** An app with the files of the guide. Like Next.js, sends the headers of the proxy with the response of page or route. */
async function nextShop(): Promise<Serve> {
  const { proxy } = await load('proxy.ts')
  const checkout = await load('app/checkout/route.ts')
  return async (request) => {
    const { headers }: Response = proxy(request, { waitUntil })
    const response: Response = request.method === 'POST' ? await checkout.POST(request) : html(SHOP)
    for (const [name, value] of headers) if (name !== 'x-middleware-next') response.headers.append(name, value)
    return response
  }
}

/** The worker of the guide before a shop, and its checkout. Both are modules with `fetch`, as in workerd. */
async function edgeShop(): Promise<Serve> {
  const { default: checkout } = await load('checkout.ts')
  const env = { REFERRAL_BASE_URL: 'http://test', REFERRAL_API_KEY: server.shop.key }
  return (request) =>
    request.method === 'POST' ? checkout.fetch(request, env) : edge.fetch(request, env, { waitUntil })
}

/** A store with the theme of the guide. Like Shopify, keeps the cart's attributes, and signs what it sends about orders. */
function store() {
  const theme = snippetsOf('docs/guides/shopify.md').find(({ language }) => language === 'html')!.code
  const routes = "<script>window.Shopify = { routes: { root: '/' } }</script>"
  const cart: { attributes: Record<string, string>; updates: number } = { attributes: {}, updates: 0 }
  const serve: Serve = async (request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/cart/update.js') {
      cart.updates++
      Object.assign(cart.attributes, ((await request.json()) as typeof cart).attributes)
      return Response.json(cart)
    }
    if (pathname === '/checkout') return Response.json({ id: await pay() })
    const attribute = JSON.stringify(cart.attributes.referral_click_id ?? null)
    const head = theme
      .replace('{{ cart.attributes.referral_click_id | json }}', attribute)
      .replaceAll('YOUR_SHOP_ID', server.shop.shopId)
    return html(`<head>${routes}${head}</head>${SHOP}`)
  }
  const pay = async () => {
    const notes = Object.entries(cart.attributes).map(([name, value]) => ({ name, value }))
    const processedAt = new Date(server.clock.ms).toISOString()
    const raw = orderPayload({ id: 450789469, notes, landingSite: '/', codes: [], processedAt })
    const headers = { 'X-Shopify-Topic': 'orders/paid', 'X-Shopify-Hmac-Sha256': sign(raw) }
    const path = `/integrations/shopify/${server.shop.shopId}/orders-paid`
    expect((await server.request('POST', path, { key: null, raw, headers })).status).toBe(200)
    return 'shopify:450789469'
  }
  return { cart, serve }
}

describe.skipIf(whyNoChromium())('a shop that follows the guide to', () => {
  let sites: Awaited<ReturnType<typeof openSites>>
  const shopify = store()
  beforeAll(async () => {
    server = await testServer()
    slug = (await withAffiliate(server)).affiliate.slug
    const settings = { siteDomains: ['hats.example'], storeWebhookSecret: 'hush-hush-hush-hush' }
    await expectOk(admin(server, 'PATCH', '/settings', settings))
    vi.stubEnv('REFERRAL_BASE_URL', 'http://test')
    vi.stubEnv('REFERRAL_API_KEY', server.shop.key)
    // The SDK reaches the server, and a worker the shop behind it.
    vi.stubGlobal('fetch', (request: Request) =>
      request.url.startsWith('http://test/') ? server.fetch(request) : html(SHOP),
    )
    writeModules(folder, modules)
    const shops: Record<string, Serve> = {
      'referral.example': server.fetch,
      'next.example': await nextShop(),
      'edge.example': await edgeShop(),
      'hats.example': shopify.serve,
    }
    sites = await openSites((request) => shops[new URL(request.url).host]!(request))
  }, 60_000)
  afterAll(async () => {
    await sites?.close()
    vi.unstubAllEnvs()
    vi.unstubAllGlobals()
    await server?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const clicks = () => rowsOf(server, 'journey', { type: 'click' })

  /** Follows a link, reloads, looks at another page, and buys. Returns the ID of the order. */
  async function shopOn(origin: string, whenOpened = async (_page: Page) => {}) {
    background = []
    const context = await sites.browser.newContext()
    const page = await context.newPage()
    const opened = whenOpened(page)
    await page.goto(`${origin}/?ref=${slug}&utm_source=news`)
    await opened
    for (let n = 0; n < 5; n++) await page.reload()
    await page.getByText('The hat').click()
    await page.waitForURL(`${origin}/hat`)
    for (let n = 0; n < 5; n++) await page.reload()
    await Promise.all(background)
    await page.getByText('Buy').click()
    await page.waitForURL(`${origin}/checkout`)
    const { id } = JSON.parse((await page.textContent('pre'))!)
    await context.close()
    return String(id)
  }

  /** Expects one more click, and an order that it explains. */
  async function expectOneClick(before: number, order: string, landingPage: string) {
    const added = clicks().slice(before)
    expect(added).toMatchObject([{ landingPage, utmSource: 'news', affiliateId: expect.any(String) }])
    const { clickId } = added[0] as { clickId: string }
    const { body } = await server.request('GET', `/api/v1/commissions?externalOrderId=${order}`)
    expect(body.data).toMatchObject([{ commissionAmountCents: 1600, restrictionReasonCode: null }])
    const explanation = await expectOk(server.owner('GET', `/orders/${encodeURIComponent(order)}/explanation`))
    expect(JSON.stringify(explanation)).toContain(clickId)
  }

  test.for(['next', 'edge'])('%s: one click over ten reloads explains the commission of the order', async (name) => {
    const before = clicks().length
    const order = await shopOn(`https://${name}.example`)
    await expectOneClick(before, order, `https://${name}.example/`)
  })

  test('Shopify: the cart takes the click to the order, over ten reloads', async () => {
    const before = clicks().length
    const order = await shopOn('https://hats.example', async (page) => {
      expect((await page.waitForResponse('**/cart/update.js')).status()).toBe(200)
    })
    expect(shopify.cart.updates).toBe(1)
    await expectOneClick(before, order, 'https://hats.example/')
  })
})
