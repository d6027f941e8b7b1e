// Full: it drives a browser.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { snippetsOf } from '../docs/snippets.ts'
import { whyNoChromium } from '../support/chromium.ts'
import { rowsOf } from '../support/inspect.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { openSite } from '../support/site.ts'
import { openSites, type Serve } from './sites.ts'

const [shop, consent] = snippetsOf('docs/guides/static-shop.md').filter(({ language }) => language === 'html')
/** What the page of a careful shop allows. */
const POLICY =
  "default-src 'none'; script-src 'unsafe-inline' https://referral.example; connect-src https://referral.example"

let server: TestServer
let slug: string
/** The error codes that the server answered with. */
const refused: (string | null)[] = []

/** The server of the API, and on all other hosts the static pages of the guide. */
const serve: Serve = async (request) => {
  const { host, pathname } = new URL(request.url)
  if (host === 'referral.example') {
    const reply = await server.fetch(request)
    if (reply.status >= 400) refused.push(reply.headers.get('X-Error-Code'))
    return reply
  }
  const page = pathname.startsWith('/consent') ? consent! : shop!
  const shopId = host === 'forged.example' ? 'shp_none' : server.shop.shopId
  const headers = { 'Content-Type': 'text/html', 'Content-Security-Policy': POLICY }
  return new Response(page.code.replaceAll('YOUR_SHOP_ID', shopId), { headers })
}

describe.skipIf(whyNoChromium())('the pages of the guide', () => {
  let sites: Awaited<ReturnType<typeof openSites>>
  beforeAll(async () => {
    server = await testServer()
    slug = (await withAffiliate(server)).affiliate.slug
    await openSite(server)
    sites = await openSites(serve)
  }, 60_000)
  afterAll(async () => {
    await sites?.close()
    await server?.close()
  })

  const clicks = () => rowsOf(server, 'journey', { type: 'click' })
  const visitor = async () => {
    const context = await sites.browser.newContext()
    const page = await context.newPage()
    const click = () => page.waitForResponse((response) => response.url().endsWith('/click'))
    return { context, page, click }
  }
  const cookie = async (context: Awaited<ReturnType<typeof visitor>>['context']) =>
    (await context.cookies()).find(({ name }) => name === 'referral_click')

  test('one click over ten reloads and inner pages, which explains the commission of the order', async () => {
    const { context, page, click } = await visitor()
    await page.route('https://buy.stripe.com/**', (route) => route.fulfill({ body: 'paid' }))
    const before = clicks().length
    const sent = click()
    await page.goto(`https://shop.example/?ref=${slug}&utm_source=news`)
    await sent
    for (let n = 0; n < 5; n++) await page.reload()
    for (let n = 0; n < 5; n++) {
      await page.getByText('The hat').click()
      await page.waitForURL('**/hat.html')
      await page.reload()
    }
    await page.getByText('Buy').click()
    await page.waitForURL('https://buy.stripe.com/**')
    const clickId = new URL(page.url()).searchParams.get('client_reference_id')!
    const { value, expires, secure } = (await cookie(context))!
    expect([value, secure]).toEqual([clickId, true])
    expect(Math.round((expires - Date.now() / 1000) / 86_400)).toBe(30)
    expect(clicks().slice(before)).toMatchObject([{ clickId, utmSource: 'news', landingPage: 'https://shop.example/' }])
    const { body } = await convert(server, { externalOrderId: 'o-1', amountCents: 9000, clickId })
    expect(body.commission).toMatchObject({ eligible: true, amountCents: 1440 })
    const explanation = JSON.stringify(await expectOk(server.owner('GET', '/orders/o-1/explanation')))
    expect(explanation).toContain(clickId)
    await context.close()
  })

  test('a link of the server keeps its click, and an unknown ref takes it from nobody', async () => {
    const { context, page, click } = await visitor()
    const before = clicks().length
    await page.goto(`https://referral.example/r/${server.shop.shopId}/${slug}?path=/hat.html`)
    const kept = (await cookie(context))?.value
    expect(clicks().at(-1)).toMatchObject({ clickId: kept, affiliateId: expect.any(String) })
    // A visitor who copies the address shares no click.
    expect(page.url()).toBe(`https://shop.example/hat.html?ref=${slug}`)
    const sent = click()
    await page.goto('https://shop.example/?ref=producthunt')
    await sent
    expect((await cookie(context))?.value).toBe(kept)
    expect(clicks().length).toBe(before + 1)
    await context.close()
  })

  test('a click that could not be sent is sent by the next page, under the same id', async () => {
    const { context, page, click } = await visitor()
    const before = clicks().length
    await page.route('**/click', (route) => route.abort())
    const failed = page.waitForEvent('requestfailed')
    await page.goto(`https://shop.example/?ref=${slug}`)
    await failed
    await page.unroute('**/click')
    const sent = click()
    await page.getByText('The hat').click()
    await sent
    expect(clicks().slice(before)).toMatchObject([{ clickId: (await cookie(context))?.value }])
    await context.close()
  })

  test('what is no click id in an address is ignored', async () => {
    const { context, page } = await visitor()
    await page.goto('https://shop.example/?referral_click_id=abc%3B%20Domain%3Dexample')
    await page.waitForURL('https://shop.example/')
    expect(await context.cookies()).toEqual([])
    await context.close()
  })

  test('nothing is stored or sent before consent', async () => {
    const { context, page, click } = await visitor()
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.goto(`https://shop.example/consent?ref=${slug}`)
    const stored = () => page.evaluate('[document.cookie, sessionStorage.length, localStorage.length]')
    expect([await stored(), requests.filter((url) => /click|view/.test(url))]).toEqual([['', 0, 0], []])
    const before = clicks().length
    const sent = click()
    await page.getByText('Accept cookies').click()
    await sent
    await expect.poll(async () => (await cookie(context))?.value).toBeTruthy()
    expect(clicks().length).toBe(before + 1)
    await context.close()
  })

  test.for([
    ['evil.example', 'origin_refused'],
    ['forged.example', 'tracking_off'],
  ] as const)('a page of %s records nothing', async ([host, code]) => {
    const { context, page } = await visitor()
    const before = clicks().length
    refused.length = 0
    await page.goto(`https://${host}/?ref=${slug}`)
    await expect.poll(() => refused).toEqual([code])
    expect(clicks().length).toBe(before)
    await context.close()
  })
})
