// Commissions that a monthly payout may miss: late approvals and other currencies.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cli, openShop, type Shop, withAffiliate, wrongWith } from './support.ts'

let shop: Shop
let affiliate: string
beforeAll(async () => {
  shop = await openShop()
  affiliate = (await withAffiliate(shop)).affiliate.id
}, 60_000)
afterAll(async () => {
  await shop.close()
})

const payouts = (...args: string[]) => cli(['payouts', ...args], { env: shop.env })
const orderIn = (currency: string, externalOrderId: string, occurredAt: string) =>
  shop.client.events.conversion({ externalOrderId, amountCents: 10_000, couponCode: 'NISA16', currency, occurredAt })
const batches = async () =>
  (await shop.client.payouts.list()).data.map(({ currency, status, totals }) => [
    currency,
    status,
    totals.netPayableCents,
  ])

test('approved commissions from before the period are reported, even for an empty period', async () => {
  await shop.order('june', '2026-06-10T12:00:00Z')
  await shop.order('july', '2026-07-10T12:00:00Z')
  const july = await payouts('preview', '--month', '2026-07', '--affiliate', affiliate)
  expect(july.code).toBe(0)
  expect(july.stderr).toContain(
    `warning: 1 approved commission from before 2026-07-01 is in no batch (16.00 USD): referral payouts preview --from 2026-06-10 --to 2026-06-30 --affiliate ${affiliate}\n`,
  )
  const august = await payouts('create', '--month', '2026-08', '--json')
  expect({ code: august.code, stdout: august.stdout, failure: JSON.parse(august.stderr) }).toMatchObject({
    code: 3,
    stdout: '',
    failure: {
      hint: '2 approved commissions from before 2026-08-01 are in no batch (32.00 USD): referral payouts preview --from 2026-06-10 --to 2026-07-31',
    },
  })
  expect((await payouts('preview', '--month', '2026-06')).stderr).toBe('Preview: nothing was created.\n')
  const { stdout } = await cli(['doctor', '--json'], { env: shop.env })
  const { checks, ...report } = JSON.parse(stdout)
  expect(wrongWith('DoctorReport', { ...report, checks })).toEqual([])
  expect(checks).toContainEqual({ check: 'unpaid', result: 'warning', detail: expect.stringMatching(/^2 approved/) })
}, 30_000)

test('currencies come from the header of the 409, not from its message', async () => {
  await orderIn('EUR', 'july-eur', '2026-07-11T12:00:00Z')
  await orderIn('USD', 'july-2', '2026-07-12T12:00:00Z')
  const mixed = await payouts('preview', '--month', '2026-07')
  expect({ code: mixed.code, stdout: mixed.stdout }).toEqual({ code: 5, stdout: '' })

  const base = shop.env.REFERRAL_BASE_URL ?? ''
  // The same API, with a message that lists other currencies.
  const proxy = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    const headers = new Headers(request.headers as Record<string, string>)
    for (const name of ['host', 'connection', 'content-length', 'transfer-encoding']) headers.delete(name)
    const { method = 'GET' } = request
    const answer = await fetch(base + request.url, { method, headers, ...(method !== 'GET' && { body }) })
    const text = (await answer.text()).replace('in EUR and USD', 'in XXX, YYY or ZZZ')
    const kept = [...answer.headers].filter(([name]) => !['content-length', 'content-encoding'].includes(name))
    response.writeHead(answer.status, kept.flat()).end(text)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const env = { ...shop.env, REFERRAL_BASE_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }
  const each = await cli(['payouts', 'create', '--month', '2026-07', '--each-currency', '--json=currency'], { env })
  proxy.close()
  expect({ code: each.code, data: JSON.parse(each.stdout) }).toEqual({
    code: 0,
    data: [{ currency: 'EUR' }, { currency: 'USD' }],
  })
  expect(await batches()).toEqual([
    ['USD', 'OPEN', 3200],
    ['EUR', 'OPEN', 1600],
  ])
}, 40_000)

test('--each-currency creates one batch per currency, and reports a currency below the minimum', async () => {
  await orderIn('EUR', 'june-eur', '2026-06-11T12:00:00Z')
  const all = await payouts('create', '--month', '2026-06', '--each-currency', '--dry-run', '--json=currency,id')
  expect({ code: all.code, data: JSON.parse(all.stdout) }).toEqual({
    code: 0,
    data: [
      { currency: 'EUR', id: null },
      { currency: 'USD', id: null },
    ],
  })
  const late = await payouts('preview', '--month', '2026-07')
  expect({ code: late.code, stderr: late.stderr }).toMatchObject({
    code: 3,
    stderr: expect.stringContaining(
      '(16.00 EUR, 16.00 USD): referral payouts preview --from 2026-06-10 --to 2026-06-30 --each-currency',
    ),
  })
  await orderIn('USD', 'june-2', '2026-06-12T12:00:00Z')

  // The minimum payout is set per currency.
  const set = await cli(['api', 'PATCH', '/admin/v1/settings', '--input', '-'], {
    env: shop.env,
    input: JSON.stringify({ minimumPayoutCents: 2000, minimumPayoutCentsByCurrency: { EUR: 2000 } }),
  })
  expect(set.code).toBe(0)
  const some = await payouts('create', '--month', '2026-06', '--each-currency', '--json=currency')
  expect({ code: some.code, data: JSON.parse(some.stdout) }).toEqual({ code: 8, data: [{ currency: 'USD' }] })
  expect(some.stderr).toMatch(/EUR: The eligible total of 1600 cents is below/)
  expect((await payouts('preview', '--month', '2026-07')).stderr).toContain(
    'Approved commissions from before 2026-07-01 are in no batch because they are below the minimum payout; together with this period they may reach it: referral payouts preview --from 2026-06-11 --to 2026-07-31',
  )
}, 30_000)
