import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { cliProcess } from '../../cli/support.ts'
import { testServer } from '../../support/server.ts'
import { withAffiliate } from '../../support/shop.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'

/** One order of the shop, before it is written in an export format. */
interface Sale {
  id: string
  /** Cents of goods before the discount. */
  goods: number
  discount: number
  shipping: number
  tax: number
  /** Whether the shop was paid and still has the money. */
  counts: boolean
  state: number
  code: string
  at: Date
}

const decimal = (cents: number) => `${Math.trunc(cents / 100)}.${String(cents % 100).padStart(2, '0')}`
const day = (at: Date) => at.toISOString().slice(0, 19).replace('T', ' ')

/** The same sales in every run: every tenth is finally unpaid, rotating through the reasons. */
function salesOf(prefix: string, count: number): Sale[] {
  return Array.from({ length: count }, (_, i) => {
    const goods = 1000 + ((i * 7919) % 90_000)
    const discount = i % 3 === 0 ? Math.trunc(goods / 10) : 0
    return {
      id: `${prefix}${i}`,
      goods,
      discount,
      shipping: (i % 4) * 250,
      tax: 0,
      counts: i % 10 !== 9,
      state: Math.trunc(i / 10),
      code: i % 7 === 0 ? 'SUMMER, NISA16' : i % 5 === 0 ? '' : 'NISA16',
      at: new Date(Date.UTC(2026, 8, 1) + i * 60_000),
    }
  })
}

type Cells = Record<string, string>
const pick = <T>(list: readonly T[], i: number): T => list[i % list.length] as T

const dialects: Record<string, (sale: Sale) => Cells> = {
  shopify: ({ id, goods, discount, shipping, counts, state, code, at }) => ({
    Name: `#${id}`,
    Email: 'ada@example.com',
    'Financial Status': counts
      ? 'paid'
      : pick(['pending', 'voided', 'refunded', 'partially_refunded', 'authorized'], state),
    'Paid at': `${day(at)} +0000`,
    Currency: 'USD',
    Subtotal: decimal(goods - discount),
    Shipping: decimal(shipping),
    Taxes: '0.00',
    Total: decimal(goods - discount + shipping),
    'Discount Code': code,
    'Discount Amount': decimal(discount),
    'Lineitem quantity': '1',
    'Lineitem name': 'Hut, "grün"',
    'Cancelled at': '',
    'Refunded Amount': '0.00',
    Id: id,
  }),
  woocommerce: ({ id, goods, discount, shipping, counts, state, code, at }) => ({
    order_id: id,
    order_number: id,
    order_date: day(at),
    status: counts
      ? pick(['completed', 'wc-processing'], state)
      : pick(['cancelled', 'on-hold', 'failed', 'pending', 'refunded'], state),
    shipping_total: decimal(shipping),
    tax_total: '0.00',
    discount_total: decimal(discount),
    order_total: decimal(goods - discount + shipping),
    order_subtotal: decimal(goods),
    order_currency: 'USD',
    billing_email: 'ada@example.com',
    coupon_items: code
      ? code
          .split(', ')
          .map((one) => `code:${one.toLowerCase()}|amount:1.00`)
          .join(';')
      : '',
  }),
  stripe: ({ id, goods, discount, counts, state, code, at }) => ({
    id,
    'Created date (UTC)': day(at),
    Amount: decimal(goods - discount),
    'Amount Refunded': !counts && state % 4 === 2 ? '1.00' : '0.00',
    Currency: 'usd',
    Captured: !counts && state % 4 === 1 ? 'false' : 'true',
    Status: !counts && state % 4 === 0 ? 'Failed' : 'Paid',
    'Disputed Amount': !counts && state % 4 === 3 ? '5.00' : '',
    'Dispute Status': !counts && state % 4 === 3 ? 'lost' : '',
    'Customer Email': 'ada@example.com',
    'coupon (metadata)': code,
  }),
}

const quoted = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
const csvOf = (rows: Cells[]) =>
  [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))]
    .map((cells) => `${cells.map(quoted).join(',')}\n`)
    .join('')

export const guarantee: LongTest = {
  title: 'Order exports of three shop systems are imported to the cent',
  minutes: 20,
  run: async (given) => {
    const count = sized(20_000, given)
    const server = await testServer()
    server.clock.ms = Date.now()
    const folder = temporaryFolder()
    const http = createServer(getRequestListener((request) => server.app.fetch(request))).listen(0, '127.0.0.1')
    await once(http, 'listening')
    try {
      await withAffiliate(server)
      const env = {
        REFERRAL_BASE_URL: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
        REFERRAL_API_KEY: server.shop.key,
      }
      for (const [name, write] of Object.entries(dialects)) {
        const sales = salesOf(`${name}-`, count)
        const file = join(folder.path, `${name}.csv`)
        writeFileSync(file, csvOf(sales.map(write)))
        const args = ['events', 'import', file, '--time-zone', 'UTC', '--parallel', '16', '--json']
        const { code, stdout, stderr } = await cliProcess(args, { env })
        assert.equal(code, 8, stderr)
        const counted = sales.filter((sale) => sale.counts)
        const { sent, failed } = JSON.parse(stdout)
        assert.deepEqual({ sent, failed }, { sent: counted.length, failed: count - counted.length }, name)
        // 16% of the goods net of discount, rounded half up, for orders with a coupon of an affiliate.
        const expected = counted
          .filter((sale) => sale.code !== '')
          .reduce((sum, sale) => sum + Math.floor(((sale.goods - sale.discount) * 16 + 50) / 100), 0)
        const { total } = server.sql
          .prepare(
            `select sum("commissionAmountCents") as total from commissions where "externalOrderId" like '${name}-%'`,
          )
          .get() as { total: number }
        assert.equal(Number(total), expected, `${name}: commissions in cents`)
      }
    } finally {
      http.closeAllConnections()
      http.close()
      await server.close()
      folder.remove()
    }
    return `3 × ${figure(count)} orders, every tenth unpaid and refused; sums equal to the cent`
  },
}
