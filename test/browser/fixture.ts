import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { CHROMIUM } from '../support/chromium.ts'
import { CLIENT, startOidcProvider } from '../support/oidc-provider.ts'
import { freePort, run, startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startReceiver } from '../webhooks/receiver.ts'

export const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export type Stage = Awaited<ReturnType<typeof setUp>>

/** A real server with a demo shop, a receiver of its webhooks, another site, and a browser. */
export async function setUp() {
  const folder = temporaryFolder()
  const launching = chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
  const [receiver, port, provider] = await Promise.all([startReceiver(), freePort(), startOidcProvider()])
  // Passkeys are bound to a name; the other tests use the address.
  const localhost = `http://localhost:${port}`
  const env = {
    REFERRAL_DATA_DIR: folder.path,
    REFERRAL_WEBHOOK_ALLOW: receiver.host,
    REFERRAL_PUBLIC_URL: localhost,
    REFERRAL_OIDC_ISSUER: provider.issuer,
    REFERRAL_OIDC_CLIENT_ID: CLIENT.clientId,
    REFERRAL_OIDC_CLIENT_SECRET: CLIENT.clientSecret,
    REFERRAL_OIDC_NAME: 'Acme ID',
    PORT: String(port),
  }
  const [server, browser, evil] = await Promise.all([startServer(env), launching, startEvil()])
  const demo = readEnv(join(folder.path, 'demo.env'))
  const shopId = demo.REFERRAL_SHOP_ID ?? ''
  const operator = async (...args: string[]) => {
    const { stdout } = await run([...args, '--shop', shopId, '--json'], env)
    return JSON.parse(stdout)
  }
  return {
    url: server.url,
    localhost,
    ownerToken: demo.REFERRAL_OWNER_TOKEN ?? '',
    output: server.output,
    log: server.log,
    operator,
    api: apiOf(server.url, demo.REFERRAL_API_KEY ?? ''),
    receiver,
    provider,
    evil,
    browser,
    close: async () => {
      await browser.close()
      receiver.stop()
      provider.close()
      evil.stop()
      await server.stop()
      folder.remove()
    },
  }
}

const readEnv = (file: string): Record<string, string> =>
  Object.fromEntries(
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  )

interface Created {
  id?: string
}
/** What the tests read of a response: the id of a new resource, in `data` or at the top level. */
type Body = Created & { data?: Created }

/** Calls the public API with a key, and returns the status and the body. */
const apiOf =
  (url: string, key: string) =>
  async (method: string, path: string, body?: object, by = key) => {
    const headers = { Authorization: `Bearer ${by}`, 'Idempotency-Key': crypto.randomUUID() }
    const response = await fetch(`${url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) })
    return { status: response.status, body: (await response.json()) as Body }
  }

/** A site whose page submits a forged form to the address in its query as soon as it is opened. */
async function startEvil() {
  const server = createServer((request, response) => {
    const target = new URL(request.url ?? '', 'http://evil').searchParams.get('to') ?? ''
    response.setHeader('Content-Type', 'text/html')
    response.end(`<form method="post" action="${target}"><input name="label" value="Forged"><input name="access-programs"
      value="read"><input name="csrf" value="${'0'.repeat(64)}"></form><script>document.forms[0].submit()</script>`)
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)))
  const { port } = server.address() as AddressInfo
  // Browsers distinguish sites by host and send cookies to every port: another port is the same site, but another origin.
  return {
    sameSite: `http://127.0.0.1:${port}`,
    stranger: `http://localhost:${port}`,
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Collects the errors of a page: its script, its policy, and resources that failed to load. */
export function watch(page: Page, consoleErrors: string[]): void {
  page.on('console', (message) => {
    // The browser logs this for every page with an error status, including those that tests request.
    const isPage = message.text().startsWith('Failed to load resource') && message.location().url === page.url()
    if (['error', 'warning'].includes(message.type()) && !isPage) consoleErrors.push(message.text())
  })
  page.on('pageerror', (error) => consoleErrors.push(String(error)))
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText
    // Navigation aborts the request of an icon.
    if (why !== 'net::ERR_ABORTED') consoleErrors.push(`${request.url()} ${why}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400 && !response.request().isNavigationRequest())
      consoleErrors.push(`${response.url()} ${response.status()}`)
  })
}
