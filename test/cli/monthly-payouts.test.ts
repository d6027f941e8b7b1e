// Commissions that a monthly payout may miss: late approvals and other currencies.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cli, json, noTerminal, onTerminal, openShop, type Shop, withAffiliate, wrongWith } from './support.ts'

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
  (await shop.client.payouts.list()).data
    .filter(({ status }) => status !== 'FAILED')
    .map(({ currency, status, totals }) => [currency, status, totals.netPayableCents])

test('--include-earlier includes late approvals; without it, they are reported, even for an empty period', async () => {
  await shop.order('june', '2026-06-10T12:00:00Z')
  await shop.order('july', '2026-07-10T12:00:00Z')
  const july = await payouts('preview', '--month', '2026-07', '--include-earlier', '--json')
  expect(JSON.parse(july.stdout)).toMatchObject({ includeEarlier: true, totals: { netPayableCents: 3200 } })
  expect(july.stderr).toBe('Preview: nothing was created.\n')
  const only = await payouts('preview', '--month', '2026-07', '--affiliate', affiliate)
  expect(only.code).toBe(0)
  expect(only.stderr).toMatch(/^warning: 1 commission \(16\.00 USD\).* --include-earlier/m)
  const august = await payouts('create', '--from', '2026-08-01', '--to', '2026-08-31T23:59:59.999Z', '--json')
  expect({ code: august.code, stdout: august.stdout, failure: JSON.parse(august.stderr) }).toMatchObject({
    code: 3,
    stdout: '',
    failure: {
      hint: expect.stringMatching(/^2 commissions \(32\.00 USD\).* --include-earlier/),
    },
  })
  const unpaid = await payouts('unpaid', '--month', '2026-08', '--json')
  expect(JSON.parse(unpaid.stdout)).toMatchObject([{ affiliateId: affiliate, reason: 'LATE', netPayableCents: 3200 }])
  expect((await payouts('preview', '--month', '2026-06')).stderr).toBe('Preview: nothing was created.\n')
  await orderIn('EUR', 'june-eur', '2026-06-11T12:00:00Z')
  const { stdout } = await cli(['doctor', '--json'], { env: shop.env })
  const { checks, ...report } = JSON.parse(stdout)
  expect(wrongWith('DoctorReport', { ...report, checks })).toEqual([])
  const detail = checks.find(({ check }: { check: string }) => check === 'unpaid').detail
  expect(detail).toContain('2 approved commissions (32.00 USD)')
  expect(detail).toContain('1 approved commission (16.00 EUR)')
  expect(detail).toContain('--include-earlier --each-currency')
}, 30_000)

test('months and days are those of the shop, or of --time-zone', async () => {
  const setZone = (timeZone: string) =>
    cli(['api', 'PATCH', '/admin/v1/settings', '--input', '-'], { env: shop.env, input: JSON.stringify({ timeZone }) })
  expect((await setZone('America/New_York')).code).toBe(0)
  const periodOf = async (...args: string[]) => {
    const { stdout } = await payouts('preview', ...args, '--json')
    const { periodStart, periodEnd } = JSON.parse(stdout)
    return [periodStart, periodEnd]
  }
  // July in New York ends four hours after July in UTC.
  const july = ['2026-07-01T04:00:00.000Z', '2026-08-01T03:59:59.999Z']
  expect(await periodOf('--month', '2026-07')).toEqual(july)
  expect(await periodOf('--from', '2026-07-01', '--to', '2026-07-31')).toEqual(july)
  expect(await periodOf('--month', '2026-07', '--time-zone', 'Europe/Berlin')).toEqual([
    '2026-06-30T22:00:00.000Z',
    '2026-07-31T21:59:59.999Z',
  ])
  const { code, stderr } = await payouts('preview', '--month', '2026-07', '--time-zone', 'Mars')
  expect([code, stderr]).toEqual([2, expect.stringContaining('Mars is not a time zone')])
  expect((await payouts('preview', '--month', '2026-07', '-o', 'table')).stdout).toMatch(/2026-07-01 +2026-07-31/)
  const batch = await json<{ id: string }>(['payouts', 'create', '--month', '2026-07'], { env: shop.env })
  const { stdout: listed } = await payouts('list', '-o', 'table')
  expect(listed).toMatch(/2026-07-01 +2026-07-31/)
  if (!noTerminal) {
    const paid = await onTerminal(['payouts', 'pay', batch.id], { env: shop.env, answers: [[/Type the total/, '0\n']] })
    expect(paid.output).toContain('2026-07-01 to 2026-07-31')
  }
  await cli(['payouts', 'cancel', batch.id, '--yes'], { env: shop.env })
  await shop.order('new-york', '2026-08-01T02:30:00Z')
  const { stdout: earned } = await cli(['commissions', 'list', '--month', '2026-07', '-o', 'table'], { env: shop.env })
  expect(earned).toMatch(/ new-york .* 2026-07-31 22:30$/m)
  expect((await setZone('UTC')).code).toBe(0)
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
  const each = await cli(['payouts', 'create', '--month', '2026-07', '--each-currency', '--json=currency'], {
    env,
  })
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
    stderr: expect.stringMatching(/1 commission \(16.00 EUR\).*1 commission \(16.00 USD\)/s),
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
  expect(some.stderr).toMatch(/EUR: .*16\.00 EUR/)
  expect((await payouts('preview', '--month', '2026-07')).stderr).toContain('(16.00 EUR)')
}, 30_000)
