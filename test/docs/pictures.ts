// Writes the pictures of the README: the dashboard and the output of the CLI, both of a real demo shop.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { FLAGS } from '../browser/fixture.ts'
import { CHROMIUM } from '../support/chromium.ts'
import { startServer } from '../support/process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { ROOT } from './snippets.ts'

const out = join(ROOT, 'docs/public')
const folder = temporaryFolder()
const server = await startServer({ REFERRAL_DATA_DIR: folder.path })
const lines = readFileSync(join(folder.path, 'demo.env'), 'utf8').trim().split('\n')
const demo = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)))

const goods = [10_000, 8_450, 23_990, 5_600]
for (const [at, amountCents] of goods.entries()) {
  // The first is the order of the README.
  const discountCents = at === 0 ? 1000 : 0
  const order = { externalOrderId: String(1001 + at), amountCents, discountCents, couponCode: 'NISA16' }
  const headers = { Authorization: `Bearer ${demo.REFERRAL_API_KEY}`, 'Idempotency-Key': order.externalOrderId }
  const response = await fetch(`${server.url}/api/v1/events`, { method: 'POST', headers, body: JSON.stringify(order) })
  if (!response.ok) throw new Error(await response.text())
}

const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
const page = await (await browser.newContext({ viewport: { width: 1200, height: 720 } })).newPage()
await page.goto(`${server.url}/admin/orders?id=1001`)
await page.getByLabel('Access token').fill(demo.REFERRAL_OWNER_TOKEN)
await page.getByRole('button', { name: 'Sign in' }).click()
await page.getByRole('heading', { name: 'Decision' }).waitFor()
await page.screenshot({ path: join(out, 'dashboard.png') })
await browser.close()

const COLORS: Record<string, string> = { 1: 'font-weight="bold"', 2: 'fill="#9198a1"', 32: 'fill="#3fb950"' }
/** Converts one line of output to SVG, with the styles of its escape sequences. */
function toSvg(line: string, at: number): string {
  const escaped = line.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const styled = escaped
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
    .replaceAll(/\x1b\[(\d+)m(.*?)\x1b\[\d+m/g, (_, code, text) => `<tspan ${COLORS[code] ?? ''}>${text}</tspan>`)
  return `<text x="20" y="${34 + at * 20}" xml:space="preserve">${styled}</text>`
}
const commands = ['commissions list --limit 3', 'commissions explain 1001']
const output = commands.flatMap((command) => {
  const args = [join(ROOT, 'cli/src/main.ts'), ...command.split(' '), '--output', 'table']
  const env = { PATH: process.env.PATH, HOME: folder.path, FORCE_COLOR: '1', ...demo }
  const text = execFileSync(process.execPath, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  return [`$ referral ${command}`, ...text.trimEnd().split('\n'), '']
})
const height = 34 + output.length * 20
const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1300 ${height}" role="img" aria-label="Output of referral commissions list and explain">
<rect width="1300" height="${height}" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, monospace" font-size="14" fill="#e6edf3">
${output.map(toSvg).join('\n')}
</g>
</svg>
`
writeFileSync(join(out, 'cli.svg'), svg)
await server.stop()
folder.remove()
