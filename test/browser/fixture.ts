import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { freePort, run, startServer, temporaryFolder } from '../support/process.ts'
import { startReceiver } from '../webhooks/receiver.ts'

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium'
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export const isThere = existsSync(CHROMIUM)
if (!isThere) console.warn(`skipped: the tests in a browser, because there is no ${CHROMIUM}`)

export type Stage = Awaited<ReturnType<typeof setUp>>

/** A real server with a demo shop and some history, a receiver of its webhooks, and a browser. */
export async function setUp() {
  const folder = temporaryFolder()
  const [receiver, browser, port] = await Promise.all([
    startReceiver(),
    chromium.launch({ executablePath: CHROMIUM, args: FLAGS }),
    freePort(),
  ])
  const env = {
    REFERRAL_DATA_DIR: folder.path,
    REFERRAL_WEBHOOK_ALLOW: receiver.host,
    PORT: String(port),
    LOG_LEVEL: 'info',
  }
  const server = await startServer(env)
  const { readFileSync } = await import('node:fs')
  const demo = Object.fromEntries(
    readFileSync(`${folder.path}/demo.env`, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  )
  const operator = async (...args: string[]) =>
    JSON.parse((await run([...args, '--json'], { ...env, LOG_LEVEL: 'warn' })).stdout)
  const api = apiOf(server.url, demo.REFERRAL_API_KEY ?? '')
  return {
    url: server.url,
    shopId: demo.REFERRAL_SHOP_ID ?? '',
    ownerToken: demo.REFERRAL_OWNER_TOKEN ?? '',
    log: server.log,
    output: server.output,
    operator,
    api,
    receiver,
    browser,
    close: async () => {
      await browser.close()
      receiver.stop()
      await server.stop()
      folder.remove()
    },
  }
}

/** The public API with a key; answers the status and the body. */
const apiOf =
  (url: string, key: string) =>
  async (method: string, path: string, body?: object, by = key) => {
    const headers = { Authorization: `Bearer ${by}`, 'Idempotency-Key': crypto.randomUUID() }
    const response = await fetch(`${url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) })
    // biome-ignore lint/suspicious/noExplicitAny: tests read replies of every shape
    return { status: response.status, body: (await response.json()) as any }
  }

const DAY_MS = 86_400_000

/** Three weeks of clicks and orders, some of which wait for approval. Answers the commission of one that does. */
export async function makeHistory({ api }: Stage): Promise<{ waiting: string }> {
  const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString()
  const must = async (method: string, path: string, body: object) => {
    const reply = await api(method, path, body)
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`)
    return reply.body.data ?? reply.body
  }
  const program = await must('POST', '/programs', { name: 'By hand', status: 'PUBLISH', commissionPercent: 10 })
  const name = 'Mira <b>Olsen</b> & <script>alert(1)</script>'
  const { id } = await must('POST', '/affiliates', { email: 'mira@example.com', name, campaignId: program.id })
  await must('POST', '/coupons', { affiliateId: id, code: 'MIRA9' })
  await must('PATCH', `/affiliates?id=${id}`, { status: 'APPROVED' })
  const who = { sessionId: 's-1', customerEmail: 'ada@example.com' }
  const clicks = Array.from({ length: 45 }, (_, n) => {
    const page = { url: `https://shop.example/hats?n=${n}&x=<b>`, country: 'US', utmSource: 'news' }
    return { type: 'click', ref: 'nisa-karim', ...who, ...page, occurredAt: ago((n * n) % 21) }
  })
  const orders = Array.from({ length: 12 }, (_, n) => {
    const couponCode = n % 2 ? 'NISA16' : 'MIRA9'
    const amounts = { amountCents: 4000 + ((n * 7331) % 90_000), discountCents: 500 }
    return {
      type: 'conversion',
      externalOrderId: `A-${1000 + n}`,
      couponCode,
      ...who,
      ...amounts,
      occurredAt: ago(n * 2),
    }
  })
  await Promise.all([...clicks, ...orders].map((event) => must('POST', '/events', event)))
  const last = { externalOrderId: 'W-1', amountCents: 12_345, couponCode: 'MIRA9', ref: 'nisa-karim' }
  return { waiting: (await must('POST', '/events', last)).commission.id }
}
