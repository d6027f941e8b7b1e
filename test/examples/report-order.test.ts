// Full: it starts other processes.
// SQLite only: it tests the example; conversions are tested with both databases.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ServerType, serve } from '@hono/node-server'
import { afterAll, expect } from 'vitest'
import { rowsOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

const script = fileURLToPath(new URL('../../examples/report-order.ts', import.meta.url))
const order = JSON.parse(readFileSync(new URL('../../examples/storefront-order.json', import.meta.url), 'utf8'))

let listener: ServerType
let baseUrl: string
let dir: string
let affiliateId: string
test.beforeAll(async ({ server }) => {
  dir = mkdtempSync(join(tmpdir(), 'referral-example-'))
  affiliateId = (await withAffiliate(server)).affiliate.id
  await new Promise<void>((ready) => {
    listener = serve({ fetch: (request) => server.fetch(request), hostname: '127.0.0.1', port: 0 }, () => ready())
  })
  baseUrl = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
})
afterAll(async () => {
  await new Promise((closed) => listener.close(closed))
  rmSync(dir, { recursive: true, force: true })
})

interface Run {
  code: number
  stdout: string
  stderr: string
}

/** Runs the example as a process, against the listening server. */
function run(env: Record<string, string>, ...args: string[]): Promise<Run> {
  return new Promise((done) => {
    execFile(
      process.execPath,
      [script, ...args],
      { env: { PATH: process.env.PATH, ...env } },
      (error, stdout, stderr) => done({ code: error ? Number(error.code) : 0, stdout, stderr }),
    )
  })
}

const environment = (server: TestServer) => ({ REFERRAL_BASE_URL: baseUrl, REFERRAL_API_KEY: server.shop.key })

function saved(changes: object): string {
  const file = join(dir, 'order.json')
  writeFileSync(file, JSON.stringify({ ...order, ...changes }))
  return file
}

interface LineItem {
  quantity: number
  price: string
  total_discount: string
  tax_lines: [{ price: string }]
}

test('the example order adds up', () => {
  const cents = (amount: string) => Math.round(Number(amount) * 100)
  const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0)
  const lines: LineItem[] = order.line_items
  expect(sum(lines.map((line) => line.quantity * cents(line.price)))).toBe(cents(order.total_line_items_price))
  expect(sum(lines.map((line) => cents(line.total_discount)))).toBe(cents(order.total_discounts))
  expect(sum(lines.map((line) => cents(line.tax_lines[0].price)))).toBe(cents(order.total_tax))
  expect(cents(order.total_line_items_price) - cents(order.total_discounts)).toBe(cents(order.subtotal_price))
  const total = sum([order.subtotal_price, order.total_shipping_price, order.total_tax].map(cents))
  expect(total).toBe(cents(order.total_price))
})

test('reports the order as a conversion and prints the decision', async ({ server, client }) => {
  const { code, stdout, stderr } = await run(environment(server))
  expect([code, stderr]).toEqual([
    0,
    `Order #10847 of 347.45 USD:\nreferred by ${affiliateId} (COUPON_MATCH), who earns 50.03 USD, APPROVED.\n`,
  ])
  const { data } = await client.commissions.list()
  expect(data).toHaveLength(1)
  expect(data[0]).toMatchObject({
    externalOrderId: '5874112069841',
    orderName: '#10847',
    currency: 'USD',
    orderSubtotalCents: 34_690,
    orderDiscountCents: 3420,
    orderShippingCents: 895,
    orderTaxCents: 2580,
    commissionBaseCents: 31_270,
    commissionAmountCents: 5003,
    happenedAt: '2026-10-28T18:42:11.000Z',
  })
  expect(JSON.parse(stdout)).toEqual({
    attribution: { affiliateId, method: 'COUPON', confidence: 1, reasonCode: 'COUPON_MATCH' },
    commission: {
      id: data[0]?.id,
      eligible: true,
      affiliateId,
      amountCents: 5003,
      status: 'APPROVED',
      restrictionReasonCode: null,
    },
    alreadyRecorded: false,
    differs: false,
  })
  const facts = JSON.parse(rowsOf(server, 'orders')[0]!.facts)
  expect(facts.order.shipping).toEqual({ country: 'US', state: 'TX', city: 'Austin', postalCode: '78704' })
  expect(facts.order.lines[1]).toEqual({
    productId: '8104427749457',
    variantId: '44231908786257',
    quantity: 2,
    priceCents: 8900,
  })
})

test('reporting an order again records nothing twice', async ({ server, client }) => {
  const first = await run(environment(server))
  const again = await run(environment(server), saved({ total_tax: '25.81' }))
  const known = 'Order #10847 of 347.45 USD, reported before'
  expect(first.stderr.split(':')[0]).toBe(known)
  expect(again.stderr.split(':')[0]).toMatch(new RegExp(`^Order 5874112069841 .*other amounts.*\\n${known}$`))
  expect(JSON.parse(again.stdout)).toEqual({ ...JSON.parse(first.stdout), alreadyRecorded: true, differs: true })
  expect((await client.commissions.list()).pagination.total).toBe(1)
})

test('reports an order without a referrer', async ({ server }) => {
  const { code, stderr } = await run(
    environment(server),
    saved({ id: 2, discount_codes: [], customer: null, line_items: [] }),
  )
  expect([code, stderr.split('\n')[1]]).toEqual([0, 'nobody referred it (NO_EVIDENCE).'])
})

test.for([
  ['an unknown key', { REFERRAL_API_KEY: 'rk_wrong' }, /^This API key does not exist\. \(request [\w-]+\)$/],
  ['an unreachable server', { REFERRAL_BASE_URL: 'http://127.0.0.1:1' }, /^\S.*$/],
  ['missing credentials', { REFERRAL_API_KEY: '' }, /^Set REFERRAL_BASE_URL and REFERRAL_API_KEY/],
])('exit 1 and one line for %s', async ([_, env, sentence], { server }) => {
  const { code, stdout, stderr } = await run({ ...environment(server), ...env })
  expect([code, stdout, stderr.trim().split('\n').length]).toEqual([1, '', 1])
  expect(stderr.trim()).toMatch(sentence)
})
