// Full: it starts servers and shells for the documentation.
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import axe from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FLAGS, watch } from '../browser/fixture.ts'
import { CHROMIUM, whyNoChromium } from '../support/chromium.ts'
import { type RunningServer, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { ROOT } from './snippets.ts'

const SITE = join(ROOT, '.artifacts/site')
const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

/** The file of a path, as GitHub Pages resolves it. */
const fileOf = (path: string) =>
  [path, `${path}.html`, posix.join(path, 'index.html')].find((one) => extname(one) && existsSync(join(SITE, one)))

let origin: string
let web: Server

beforeAll(async () => {
  const build = join(ROOT, 'docs/node_modules/.bin/vitepress')
  const inDocs = { cwd: join(ROOT, 'docs') }
  await promisify(execFile)(process.execPath, ['scripts/api-reference.ts'], inDocs)
  await promisify(execFile)(build, ['build'], inDocs)
  web = createServer((request, response) => {
    const file = fileOf(decodeURI(new URL(request.url ?? '', 'http://site').pathname))
    const name = file ?? '404.html'
    response.writeHead(file ? 200 : 404, { 'Content-Type': TYPES[extname(name)] ?? 'text/plain' })
    response.end(readFileSync(join(SITE, name)))
  })
  await new Promise<void>((done) => web.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
}, 240_000)
afterAll(() => {
  web?.closeAllConnections()
  web?.close()
})

const pages = () => globSync('**/*.html', { cwd: SITE }).filter((page) => !page.startsWith('api/'))
const htmlOf = (page: string) => readFileSync(join(SITE, page), 'utf8')
const idsOf = (page: string) => new Set([...htmlOf(page).matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))

test('no link of a page is dead, including its anchor', () => {
  expect(pages().length).toBeGreaterThan(50)
  const ids = new Map(pages().map((page) => [page, idsOf(page)]))
  const dead = pages().flatMap((page) =>
    [...htmlOf(page).matchAll(/ (?:href|src)="([^"]*)"/g)].flatMap(([, href = '']) => {
      const url = new URL(href, `http://site/${page}`)
      if (url.host !== 'site') return []
      const file = fileOf(decodeURI(url.pathname).slice(1))
      const anchor = decodeURIComponent(url.hash.slice(1))
      const isFound = file && (!anchor || !ids.has(file) || ids.get(file)?.has(anchor))
      return isFound || page === '404.html' ? [] : [`${page}: ${href}`]
    }),
  )
  expect(dead).toEqual([])
})

test('llms.txt lists every page, as Markdown', () => {
  const text = readFileSync(join(SITE, 'llms.txt'), 'utf8')
  const links = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
  for (const [name] of text.matchAll(/api\/\S+\.(yaml|json)/g)) expect(existsSync(join(SITE, name)), name).toBe(true)
  const written = pages().filter((page) => !['404.html', 'index.html'].includes(page))
  expect(links.sort()).toEqual(written.map((page) => page.replace(/html$/, 'md')).sort())
  for (const link of links) expect(readFileSync(join(SITE, link), 'utf8'), link).toMatch(/^#|^---/)
})

test('every error code has its own anchor', () => {
  const errors = idsOf('reference/errors.html')
  const codes = JSON.parse(readFileSync(join(ROOT, 'server/src/contract/document.json'), 'utf8')).components.schemas
    .ErrorCode.enum
  expect(codes.filter((code: string) => !errors.has(code))).toEqual([])
})

describe.skipIf(whyNoChromium())('in a browser', () => {
  let browser: Browser
  let server: RunningServer
  const folder = temporaryFolder()
  /** Console errors, failed requests, and requests to other hosts. */
  const complaints: string[] = []

  const open = async (url: string): Promise<Page> => {
    const page = await (await browser.newContext({ reducedMotion: 'reduce' })).newPage()
    page.setDefaultTimeout(10_000)
    watch(page, complaints)
    page.on('request', (request) => {
      const to = new URL(request.url())
      if (to.protocol !== 'data:' && to.origin !== new URL(url).origin) complaints.push(`requested ${to.href}`)
    })
    await page.goto(url)
    return page
  }

  beforeAll(async () => {
    const launching = chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
    server = await startServer({ REFERRAL_DATA_DIR: folder.path })
    browser = await launching
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    folder.remove()
  })

  test('search finds an error code and opens its cause', async () => {
    const page = await open(`${origin}/start`)
    const input = page.locator('#localsearch-input')
    // The page listens for the keys when its script has run.
    const isOpen = async () => {
      await page.keyboard.press('Control+k')
      return input.isVisible()
    }
    await expect.poll(isOpen, { timeout: 15_000, interval: 500 }).toBe(true)
    await input.fill('payout_below_threshold_after_claim')
    await page.locator('.result').first().click()
    await page.waitForURL(/\/reference\/errors#payout_below_threshold_after_claim$/)
    await page.context().close()
  })

  const read = async (page: Page) => {
    await page.evaluate(axe.source)
    const violations: { id: string; impact: string; nodes: { html: string }[] }[] = await page.evaluate(
      'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
    )
    return violations
      .filter(({ impact }) => ['serious', 'critical'].includes(impact))
      .flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ html }) => `${id}: ${html.slice(0, 200)}`))
  }

  test.each(['/', '/start', '/guides/receive-webhooks', '/guides/shopify', '/self-hosting/', '/reference/errors'])(
    '%s has no serious accessibility violation, light and dark',
    async (path) => {
      const page = await open(origin + path)
      expect(await read(page)).toEqual([])
      await page.emulateMedia({ colorScheme: 'dark' })
      // The page follows the browser a moment later.
      await page.locator('html.dark').waitFor()
      expect(await read(page)).toEqual([])
      await page.context().close()
    },
  )

  test('the API reference of the site and of the server shows an operation', async () => {
    for (const url of [`${origin}/api/`, `${server.url}/docs`]) {
      const page = await open(url)
      await page.getByRole('heading', { name: /Referral Program API/ }).waitFor()
      await page.goto(`${url}#/payouts/createpayout`)
      await page.getByRole('heading', { name: 'Create a payout batch' }).waitFor()
      if (url.startsWith(origin)) await page.getByText('"$REFERRAL_BASE_URL/api/v1/payouts"').waitFor()
      await page.context().close()
    }
  })

  test('nothing was requested from another host, and no page reported an error', () => {
    expect(complaints).toEqual([])
  })
})
