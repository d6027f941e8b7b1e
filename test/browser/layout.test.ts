// Full: it drives a browser.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoChromium } from '../support/chromium.ts'
import { type Stage, setUp } from './fixture.ts'
import { makeHistory } from './history.ts'

let stage: Stage
let page: Page

describe.skipIf(whyNoChromium())('the layout', () => {
  beforeAll(async () => {
    stage = await setUp()
    await makeHistory(stage)
    page = await (await stage.browser.newContext({ reducedMotion: 'reduce' })).newPage()
  }, 120_000)
  afterAll(() => stage?.close())

  test('each step of the quick start fits a screen, without cut code, and its links lead to the reference of this server', async () => {
    for (const width of [390, 1024, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      await page.goto(`${stage.url}/api/v1/docs`)
      expect(await overflowing(page), `${width}`).toEqual([])
      const heights = await page.locator('section').evaluateAll((all) => all.map((one) => one.clientHeight))
      if (width > 1000) expect(Math.max(...heights)).toBeLessThan(800)
    }
    await page.getByRole('link', { name: 'POST' }).nth(4).click()
    await page.getByRole('heading', { name: 'Create a payout batch' }).waitFor()
    await page.getByText(stage.url).first().waitFor({ state: 'attached' })
  })
})

/** What is wider than its frame: the page itself, code, and tables whose columns can be reached only by scrolling. */
const overflowing = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll<HTMLElement>('pre, table, table *, .scroll')]
      .filter((one) => one.getClientRects().length > 0 && one.getBoundingClientRect().right > innerWidth + 1)
      .map((one) => `${one.tagName} ${one.className} ${one.textContent?.trim().slice(0, 40)}`),
  )
