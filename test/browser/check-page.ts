import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import type { Page } from 'playwright-core'

const FOLDER = fileURLToPath(new URL('../.screenshots/', import.meta.url))
/** Rendering takes longer than checking the pages, so screenshots are written only with SCREENSHOTS=1. */
const draws = process.env.SCREENSHOTS === '1'
if (draws) mkdirSync(FOLDER, { recursive: true })

/** Every page, by name and address; some are found by the first link of their kind there. */
export const SCREENS: [name: string, path: string, link?: string][] = [
  ['sign-in', '/admin/sign-in'],
  ['sign-in-link', '/admin/sign-in?token=rl_x'],
  ['overview', '/admin'],
  ['search', '/admin/search?q=mira'],
  ['orders', '/admin/orders'],
  ['commissions', '/admin/commissions'],
  ['commissions-filtered', '/admin/commissions?status=ALL&min=1&affiliate=mira'],
  ['commissions-all', '/admin/commissions/all'],
  ['affiliates', '/admin/affiliates'],
  ['affiliate', '/admin/affiliates', 'tbody th a'],
  ['affiliate-new', '/admin/affiliates/new'],
  ['reconcile', '/admin/payouts/reconcile'],
  ['customers', '/admin/customers'],
  ['customer', '/admin/customers', 'tbody th a'],
  ['programs', '/admin/programs'],
  ['program', '/admin/programs', 'tbody th a'],
  ['program-new', '/admin/programs/new'],
  ['coupons', '/admin/coupons'],
  ['payouts', '/admin/payouts'],
  ['payout', '/admin/payouts', 'tbody th a[href*="/bat_"]'],
  ['payout-new', '/admin/payouts/new?from=2020-01-01&until=2020-01-31'],
  ['why', '/admin/orders?id=W-1'],
  ['journey', '/admin/journey?customerEmail=ada@example.com'],
  ['keys', '/admin/keys'],
  ['key-revoke', '/admin/keys', 'a[href$=revoke]'],
  ['webhooks', '/admin/webhooks'],
  ['webhook', '/admin/webhooks', 'a[href*="/whs_"]'],
  ['deliveries', '/admin/deliveries'],
  ['settings', '/admin/settings'],
  ['team', '/admin/team'],
  ['audit', '/admin/audit'],
  ['account', '/admin/account'],
  ['not-found', '/admin/nothing'],
]

const SERIOUS = ['serious', 'critical']

/**
 * Runs axe in light mode at full size and in dark mode at 360 px, and reports horizontal overflow. Writes screenshots when
 * SCREENSHOTS=1.
 */
export async function checkPage(page: Page, name?: string) {
  const size = page.viewportSize() ?? { width: 1280, height: 720 }
  const keep = async (kind: string) => {
    if (name && draws) await page.screenshot({ path: `${FOLDER}${name}-${kind}.png`, fullPage: true })
  }
  await page.evaluate(axe.source)
  await page.emulateMedia({ colorScheme: 'light' })
  await keep('light')
  const light = await faults(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  await keep('dark')
  await page.setViewportSize({ width: 360, height: 740 })
  const overflow = await page.evaluate(() => {
    const wide = document.documentElement.scrollWidth
    return wide > innerWidth ? [`${wide} pixels wide`] : []
  })
  const dark = await faults(page)
  await page.emulateMedia({ colorScheme: 'light' })
  await keep('360')
  await page.setViewportSize(size)
  return { light, dark, overflow }
}

async function faults(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as Axe).axe.run({ resultTypes: ['violations'] }),
  )
  return violations
    .filter(({ impact }) => SERIOUS.includes(impact ?? ''))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

interface Axe {
  axe: typeof axe
}
