import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SHAPES, subscriptionYear } from '../stores/stripe-year.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli, json, openShop, type Shop, withAffiliate } from './support.ts'

const SECRET = 'whsec_0123456789abcdef'
const folder = temporaryFolder()
let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  await withAffiliate(shop)
  const set = await cli(['settings', 'set', 'stripeWebhookSecret', '--secret-stdin'], { env: shop.env, input: SECRET })
  expect(set.code).toBe(0)
}, 60_000)
afterAll(() => shop.close())

test('stripe replay records the history of a subscription, and repeats it without effect', async () => {
  const { events } = subscriptionYear('history', SHAPES[1], Date.UTC(2026, 0, 1) / 1000)
  const lines = [...events, { ...events[0], id: 'evt_other', type: 'customer.updated' }]
  const file = join(folder.path, 'events.ndjson')
  writeFileSync(file, lines.map((event) => `${JSON.stringify({ object: 'event', ...event })}\n`).join(''))
  const args = ['stripe', 'replay', file]
  const env = { ...shop.env, REFERRAL_WEBHOOK_SECRET: SECRET }
  // The invoice of 0, the credit, and the other type mean nothing for commissions.
  const counts = { recorded: events.length - 2, ignored: 3, failed: 0 }
  expect(await json(args, { env })).toEqual(counts)
  const { data } = await shop.client.commissions.list()
  expect(await json(args, { env })).toEqual(counts)
  expect((await shop.client.commissions.list()).data).toEqual(data)
  expect(data.map(({ commissionAmountCents }) => commissionAmountCents).sort((a, b) => a - b)).toEqual([
    0, 800, 1440, 13_445,
  ])
  const wrong = await cli(args, { env: { ...shop.env, REFERRAL_WEBHOOK_SECRET: `${SECRET}x` } })
  expect([wrong.code, wrong.stderr]).toEqual([4, expect.stringContaining('stripeWebhookSecret')])
})

test('stripe replay names the first line that is no event', async () => {
  const file = join(folder.path, 'other.ndjson')
  writeFileSync(file, '\n{"object":"list"}\n')
  const { code, stderr } = await cli(['stripe', 'replay', file, '--dry-run'], { env: shop.env })
  expect([code, stderr]).toEqual([2, expect.stringContaining('Line 2')])
})
