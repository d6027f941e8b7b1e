// Writes the picture of the README: the dashboard of a real demo shop.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { FLAGS } from '../browser/fixture.ts'
import { CHROMIUM } from '../support/chromium.ts'
import { startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { ROOT } from './snippets.ts'

const folder = temporaryFolder()
const server = await startServer({ REFERRAL_DATA_DIR: folder.path })
const lines = readFileSync(join(folder.path, 'demo.env'), 'utf8').trim().split('\n')
const demo = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)))

// The order of the README.
const order = { externalOrderId: '1001', amountCents: 10_000, discountCents: 1000, couponCode: 'NISA16' }
const headers = { Authorization: `Bearer ${demo.REFERRAL_API_KEY}`, 'Idempotency-Key': 'order-1001' }
const response = await fetch(`${server.url}/api/v1/events`, { method: 'POST', headers, body: JSON.stringify(order) })
if (!response.ok) throw new Error(await response.text())

const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
const page = await (await browser.newContext({ viewport: { width: 1200, height: 720 } })).newPage()
await page.goto(`${server.url}/admin/orders?id=1001`)
await page.getByLabel('Access token').fill(demo.REFERRAL_OWNER_TOKEN)
await page.getByRole('button', { name: 'Sign in' }).click()
await page.getByRole('heading', { name: 'Decision' }).waitFor()
await page.screenshot({ path: join(ROOT, 'docs/public/dashboard.png') })
await browser.close()
await server.stop()
folder.remove()
