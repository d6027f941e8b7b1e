// Full: it drives a browser.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { snippetsOf } from '../docs/snippets.ts'
import { CHROMIUM, whyNoChromium } from '../support/chromium.ts'
import { rowsOf } from '../support/inspect.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { openSite } from '../support/site.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { FLAGS } from './fixture.ts'

const [shop, consent] = snippetsOf('docs/guides/static-shop.md').filter(({ language }) => language === 'html')
/** What the page of a careful shop allows. */
const POLICY =
  "default-src 'none'; script-src 'unsafe-inline' https://referral.example; connect-src https://referral.example"

let server: TestServer
let browser: Browser
let slug: string
/** The error codes that the server answered with. */
const refused: (string | null)[] = []
const folder = temporaryFolder()
const key = join(folder.path, 'key.pem')
const cert = join(folder.path, 'cert.pem')

/** Every host name leads here: the server of the API, and the static pages of the guide on all others. */
const sites = async () => {
  const made = spawnSync('openssl', [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-subj',
    '/CN=shop.example',
    '-keyout',
    key,
    '-out',
    cert,
  ])
  expect(made.status).toBe(0)
  const https = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, async (request, response) => {
    // The check of the contract reads JSON.
    const { host = '', 'accept-encoding': _encoding, ...others } = request.headers as Record<string, string>
    const url = `https://${host}${request.url}`
    if (host === 'referral.example') {
      const body = request.method === 'POST' ? Buffer.concat(await request.toArray()) : null
      const reply = await server.fetch(url, { method: request.method!, headers: others, body, redirect: 'manual' })
      if (reply.status >= 400) refused.push(reply.headers.get('X-Error-Code'))
      response.writeHead(reply.status, Object.fromEntries(reply.headers))
      return void response.end(Buffer.from(await reply.arrayBuffer()))
    }
    const page = request.url?.startsWith('/consent') ? consent! : shop!
    const shopId = host === 'forged.example' ? 'shp_none' : server.shop.shopId
    response.writeHead(200, { 'Content-Type': 'text/html', 'Content-Security-Policy': POLICY })
    response.end(page.code.replaceAll('YOUR_SHOP_ID', shopId))
  })
  await once(https.listen(0, '127.0.0.1'), 'listening')
  return https
}

describe.skipIf(whyNoChromium())('the pages of the guide', () => {
  let https: Awaited<ReturnType<typeof sites>>
  beforeAll(async () => {
    server = await testServer()
    slug = (await withAffiliate(server)).affiliate.slug
    await openSite(server)
    https = await sites()
    const { port } = https.address() as AddressInfo
    const rules = `--host-resolver-rules=MAP *.example 127.0.0.1:${port}`
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: [...FLAGS, '--ignore-certificate-errors', rules],
    })
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    https?.close()
    https?.closeAllConnections()
    await server?.close()
    folder.remove()
  })

  const clicks = () => rowsOf(server, 'journey', { type: 'click' })
  const visitor = async () => {
    const context = await browser.newContext()
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
