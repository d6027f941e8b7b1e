import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { chromium, type Page } from 'playwright-core'
import { withConnection } from '../../../server/src/database/open.ts'
import { FLAGS, watch } from '../../browser/fixture.ts'
import { call } from '../../support/calls.ts'
import { CHROMIUM, whyNoChromium } from '../../support/chromium.ts'
import { manyRows } from '../../support/many-commissions.ts'
import { startReceiver } from '../../webhooks/receiver.ts'
import { figure, type LongTest, Missing, sized } from '../guarantee.ts'
import { createWorld } from '../world.ts'

const AFFILIATES = 40
/** Commissions of August, which the filter leaves out. */
const OTHERS = 200
/** More than any page has. */
const MAX_TABS = 300

/** A month of a merchant in a browser, without a mouse: every key is one that a person presses. */
export const guarantee: LongTest = {
  title: 'The keyboard alone approves, previews, pays, and redelivers a month of commissions',
  engines: ['sqlite', 'postgres'],
  minutes: 15,
  run: async (given) => {
    const missing = whyNoChromium()
    if (missing) throw new Missing(missing)
    const commissions = sized(4000, given)
    const receiver = await startReceiver()
    const world = await createWorld(given, { REFERRAL_WEBHOOK_ALLOW: receiver.host })
    const { shopId, ownerToken, keys } = await world.createShop(1)
    await withConnection(world.url, async (db) => {
      const pending = (prefix: string, count: number) =>
        manyRows(given.engine, { shopId, prefix, commissions: count, affiliates: AFFILIATES }).map((text) =>
          text
            .replace(/case when i % 3 = 0 then 'ACCEPTED' else 'APPROVED' end/, `'PENDING'`)
            .replace(/case when i < \d+ then -\d+ when i % 997 = 0 then -60 else (100 \+ \(i \* 37\) % 4999) end/, '$1')
            .replace(/case when i % 50 = 49 then 'REJECTED' else 'APPROVED' end/, `'APPROVED'`),
        )
      const august = pending('s', OTHERS).map((text) => text.replaceAll('2026-10-01', '2026-08-01'))
      for (const text of [...pending('m', commissions), ...august]) await sql.raw(text).execute(db)
    })
    const server = await world.start()
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS })
    try {
      const complaints: string[] = []
      const page = await browser.newPage({ reducedMotion: 'reduce' })
      watch(page, complaints)
      page.setDefaultTimeout(120_000)
      const keyboard = new Keyboard(page)
      const startedAt = performance.now()

      await page.goto(`${server.url}/admin`)
      await keyboard.into('Access token', ownerToken)
      await keyboard.enter()

      await keyboard.press('Commissions')
      await keyboard.unfold('More filters')
      await keyboard.into('From', '10012026')
      await keyboard.into('To', '10312026')
      await keyboard.press('Filter')
      await keyboard.press('Approve or reject all…')
      await keyboard.press(new RegExp(`^Approve ${figure(commissions)} commissions`))
      const approved = await page.getByRole('status').textContent()
      assert.match(approved ?? '', new RegExp(`${figure(commissions)} commissions approved.*pending now: none`, 's'))

      await keyboard.press('Webhooks')
      await keyboard.into('URL', receiver.at('/hook'))
      await keyboard.press('Add webhook')
      const order = { externalOrderId: 'late', amountCents: 100, couponCode: 'nobody' }
      await call(server, keys[0]!, ['POST', '/api/v1/events', order, 'late'])
      await keyboard.press('Send test event')
      while (receiver.to('/hook').length === 0) await page.waitForTimeout(100)

      await keyboard.press('Payouts')
      await keyboard.press('New batch')
      await keyboard.into(/^First day/, '10012026')
      await keyboard.into(/^Last day/, '10312026')
      await keyboard.press('Preview')
      const total = /of (.*)$/.exec(
        (await page.getByRole('button', { name: /^Create batch/ }).textContent()) ?? '',
      )?.[1]
      await keyboard.press(/^Create batch/)
      await keyboard.into(/^Type the total/, total ?? '')
      await keyboard.tick(/outside of payment files/)
      await keyboard.press('Mark as paid')
      await page.getByRole('status').filter({ hasText: /paid/i }).waitFor()

      await keyboard.press('Deliveries')
      await keyboard.choose('Event', 'test')
      await keyboard.press('Filter')
      await keyboard.press(/^Redeliver test/)
      const tests = () => receiver.to('/hook').filter(({ body }) => JSON.parse(String(body)).event === 'test')
      while (tests().length < 2) await page.waitForTimeout(100)

      const paidOnes = page.getByRole('link', { name: /^Redeliver [\d,]+ deliver/ })
      await keyboard.press('Deliveries')
      await keyboard.choose('Status', 'Sent')
      await keyboard.choose('Event', 'commission.paid')
      await keyboard.choose('Webhook', receiver.at('/hook'))
      await keyboard.press('Filter')
      for (let tries = 0; tries < 50 && !(await paidOnes.count()); tries++) {
        await page.waitForTimeout(200)
        // The key F5 belongs to the browser, which has no window here.
        await page.reload()
      }
      await keyboard.press(/^Redeliver [\d,]+ deliver/)
      await keyboard.press(/^Redeliver [\d,]+ deliver/)
      await page.getByRole('status').filter({ hasText: 'queued for redelivery' }).waitFor()

      assert.deepEqual(complaints, [])
      const paid = await world.look(({ read }) =>
        read.selectFrom('payoutBatches').select(['status']).where('shopId', '=', shopId).execute(),
      )
      assert.deepEqual(paid, [{ status: 'PAID' }])
      const left = await world.look(({ read }) =>
        read.selectFrom('commissions').select('id').where('orderStatus', '=', 'PENDING').execute(),
      )
      assert.equal(left.length, OTHERS)
      const seconds = Math.round((performance.now() - startedAt) / 1000)
      return `${figure(commissions)} commissions in ${seconds} s with ${figure(keyboard.pressed)} keys`
    } finally {
      await browser.close()
      receiver.stop()
      await server.stop()
      await world.remove()
    }
  },
}

/** Finds what has the focus by its name, as a screen reader announces it. */
class Keyboard {
  pressed = 0
  readonly #page: Page

  constructor(page: Page) {
    this.#page = page
  }

  async #key(key: string): Promise<void> {
    this.pressed++
    await this.#page.keyboard.press(key)
  }

  /** Presses the tab key until this control has the focus. @throws when the keyboard cannot reach it. */
  async #to(name: string | RegExp): Promise<void> {
    const isNamed = (text: string) => (typeof name === 'string' ? text === name : name.test(text))
    for (let tabs = 0; tabs < MAX_TABS; tabs++) {
      await this.#key('Tab')
      const text = await this.#page.evaluate(() => {
        const focused = document.activeElement as HTMLInputElement | null
        const label = focused?.labels?.[0] ?? focused
        return (label?.textContent ?? '').replace(/\s+/g, ' ').trim()
      })
      if (isNamed(text)) return
    }
    throw new Error(`${name} cannot be reached by keyboard on ${this.#page.url()}`)
  }

  /** Types into a field instead of what it has. */
  async into(label: string | RegExp, text: string): Promise<void> {
    await this.#to(label)
    if (!/^\d{8}$/.test(text)) await this.#key('Control+A')
    this.pressed += text.length
    await this.#page.keyboard.type(text)
  }

  /** Chooses an option by its first letters. */
  async choose(label: string, option: string): Promise<void> {
    await this.#to(label)
    this.pressed += option.length
    await this.#page.keyboard.type(option)
    const chosen = await this.#page.evaluate(() => {
      const focused = document.activeElement as HTMLSelectElement
      return focused.selectedOptions[0]?.text.trim()
    })
    assert.equal(chosen, option)
  }

  /** Opens the part of the page that a summary names. */
  async unfold(summary: string): Promise<void> {
    await this.#to(summary)
    await this.#key('Enter')
  }

  async tick(label: RegExp): Promise<void> {
    await this.#to(label)
    await this.#key('Space')
  }

  /** Presses enter, and waits for the next page. */
  async enter(): Promise<void> {
    const opened = this.#page.waitForEvent('load')
    await this.#key('Enter')
    await opened
  }

  /** Follows a link or presses a button. */
  async press(name: string | RegExp): Promise<void> {
    await this.#to(name)
    await this.enter()
  }
}
