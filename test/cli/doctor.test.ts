import { once } from 'node:events'
import { globSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReferralClient } from '@referral/sdk'
import Stripe from 'stripe'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { updateRows } from '../support/inspect.ts'
import { openSqliteSql } from '../support/sql.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  cli,
  cliProcess,
  type Env,
  ended,
  json,
  openShop,
  type Shop,
  start,
  withAffiliate,
  wrongWith,
} from './support.ts'

const folder = temporaryFolder()

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  await withAffiliate(shop)
}, 60_000)
afterAll(() => {
  folder.remove()
  return shop.close()
})

interface Report {
  healthy: boolean
  checks: { check: string; result: string; detail: string }[]
}

async function examine(env = shop.env) {
  const { code, stdout } = await cli(['doctor', '--json'], { env })
  const report: Report = JSON.parse(stdout)
  expect(wrongWith('DoctorReport', report)).toEqual([])
  return { code, find: (name: string) => report.checks.filter(({ check }) => check === name), healthy: report.healthy }
}

type Examined = Awaited<ReturnType<typeof examine>>

test('all checks pass, and nothing is changed', async () => {
  const before = (await shop.client.affiliates.list()).data
  const { code, healthy, find } = await examine()
  expect({ code, healthy }).toEqual({ code: 0, healthy: true })
  expect(find('scopes')).toEqual([{ check: 'scopes', result: 'ok', detail: 'all 13' }])
  for (const name of ['service', 'clock', 'key', 'plan', 'rate limit', 'payouts'])
    expect(find(name)[0]?.result, name).toBe('ok')
  expect((await shop.client.affiliates.list()).data).toEqual(before)
  expect((await shop.client.programs.list()).data).toHaveLength(1)
})

test('a 403 is attributed to the key, the plan or the scope', async () => {
  const free = await shop.newShop('FREE')
  const keys = [
    'rk_unknown',
    await shop.newKey(['all'], free.shopId),
    await shop.newKey(['affiliates:read', 'events:write']),
  ]
  const examined = await Promise.all(keys.map((key) => examine({ ...shop.env, REFERRAL_API_KEY: key })))
  const [unknown, plan, narrow] = examined as [Examined, Examined, Examined]
  expect([unknown.code, unknown.find('key')[0]?.result, unknown.find('plan')]).toEqual([4, 'failed', []])

  expect([plan.code, plan.find('key')[0]?.result, plan.find('plan')[0]?.result]).toEqual([4, 'ok', 'failed'])

  expect([narrow.code, narrow.find('key')[0]?.result, narrow.find('plan')[0]?.result]).toEqual([0, 'ok', 'ok'])
  const [scopes] = narrow.find('scopes')
  expect(scopes).toMatchObject({ result: 'warning', detail: expect.stringContaining('2 of 13') })
  expect(scopes?.detail).toContain('payouts:write')
  expect(scopes?.detail).not.toContain('events:write')
}, 30_000)

test('a warning when recent orders are in another currency than that of the shop', async () => {
  const { shopId } = await shop.newShop('PROFESSIONAL')
  const env: Env = { ...shop.env, REFERRAL_API_KEY: await shop.newKey(['all'], shopId), REFERRAL_SHOP_ID: shopId }
  const client = createReferralClient({ apiKey: env.REFERRAL_API_KEY ?? '', baseUrl: env.REFERRAL_BASE_URL ?? '' })
  await withAffiliate({ client })
  const report = (externalOrderId: string, currency: string) =>
    client.events.conversion({ externalOrderId, amountCents: 10_000, couponCode: 'NISA16', currency })
  await report('dollars', 'USD')
  expect((await examine(env)).find('currency')).toEqual([{ check: 'currency', result: 'ok', detail: 'USD' }])
  await report('euros', 'EUR')
  const { code, find } = await examine(env)
  expect(find('currency')[0]).toMatchObject({ result: 'warning', detail: expect.stringContaining('are in EUR') })
  expect(code).toBe(0)
}, 30_000)

test('7 when the service does not respond, or another one does', async () => {
  expect((await examine({ ...shop.env, REFERRAL_BASE_URL: 'http://127.0.0.1:1' })).code).toBe(7)
  const other = createServer((_, response) => response.writeHead(404).end('<h1>Not here</h1>')).listen(0)
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const stranger = await examine({ ...shop.env, REFERRAL_BASE_URL: `http://127.0.0.1:${port}` })
  other.closeAllConnections()
  other.close()
  expect([stranger.code, stranger.find('service')[0]?.detail]).toEqual([7, expect.stringContaining('404')])
})

test('8 when the total of a batch is wrong', async () => {
  await shop.order('d-1', '2026-10-05')
  const { id } = await shop.client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-10-31' })
  const sql = openSqliteSql(join(shop.dataDir, 'referral.db'))
  updateRows({ sql }, 'commissions', { commissionAmountCents: 1 }, { payoutBatchId: id })
  sql.close()
  const { code, find } = await examine()
  expect([code, find('payouts')[0]]).toEqual([
    8,
    { check: 'payouts', result: 'failed', detail: expect.stringContaining(id) },
  ])
})

test('dev --once prints one signed webhook and leaves no files behind', async () => {
  const left = () => [
    ...globSync('referral-dev-*', { cwd: tmpdir() }),
    ...readdirSync('/dev/shm').filter((name) => name.startsWith('referral-dev-')),
  ]
  const before = left()
  const { code, stdout } = await cliProcess(['dev', '--once', '--json'])
  expect(code).toBe(0)
  const made = JSON.parse(stdout)
  expect(wrongWith('DevServer', made)).toEqual([])
  expect(made.webhook).toMatchObject({ event: 'commission.created', verified: true })
  expect(JSON.parse(made.webhook.body).data).toMatchObject({
    externalOrderId: 'demo-1001',
    commissionAmountCents: 1440,
  })
  expect(left()).toEqual(before)
  await expect(fetch(`${made.baseUrl}/healthz`)).rejects.toThrow()
}, 40_000)

test('dev runs until Ctrl-C, forwards webhooks, and receives what the Stripe CLI forwards', async () => {
  const got: string[] = []
  const receiver = createServer((request, response) => {
    got.push(String(request.headers['x-service-event']))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const { port } = receiver.address() as { port: number }
  const stripeSecret = 'whsec_0123456789abcdef0123456789abcdef'
  const forward = ['--forward-to', `http://127.0.0.1:${port}/`]
  const child = start(['dev', ...forward, '--stripe', '--secret-stdin', '--json'])
  child.stdin?.end(`${stripeSecret}\n`)
  const end = ended(child)
  const made = JSON.parse(
    await new Promise<string>((done) => child.stdout?.once('data', (chunk) => done(String(chunk)))),
  )
  expect(wrongWith('DevServer', made)).toEqual([])
  const env = { REFERRAL_BASE_URL: made.baseUrl, REFERRAL_API_KEY: made.apiKey, REFERRAL_OWNER_TOKEN: made.ownerToken }
  expect(await json(['commissions', 'list'], { env })).toHaveLength(1)
  expect(await json(['whoami'], { env })).toMatchObject({ valid: true, user: 'owner@demo.example (OWNER)' })
  const payload = JSON.stringify({
    id: 'evt_1',
    object: 'event',
    type: 'invoice.paid',
    created: Math.floor(Date.now() / 1000),
    livemode: false,
    data: {
      object: {
        id: 'in_1',
        object: 'invoice',
        currency: 'usd',
        total: 10_000,
        metadata: { referral_code: 'NISA16' },
        lines: { data: [{ id: 'il_1', amount: 10_000 }] },
      },
    },
  })
  const signature = new Stripe('sk_test_unused').webhooks.generateTestHeaderString({ payload, secret: stripeSecret })
  const [listen, url] = made.stripeListen.split(' --forward-to ')
  expect(listen).toBe('stripe listen')
  const headers = { 'Stripe-Signature': signature }
  expect((await fetch(url, { method: 'POST', body: payload, headers })).status).toBe(200)
  expect(await json(['orders', 'get', 'in_1'], { env })).toMatchObject({
    orderId: 'stripe:in_1',
    orderSubtotalCents: 10_000,
  })
  expect(await json(['commissions', 'list'], { env })).toHaveLength(2)
  child.kill('SIGINT')
  expect((await end).code).toBe(0)
  expect(got[0]).toBe('commission.created')
  await expect(fetch(`${made.baseUrl}/healthz`)).rejects.toThrow()
  receiver.closeAllConnections()
  receiver.close()
}, 40_000)

test('--orders tells which orders of a file were never reported, credited to nobody, canceled, or restricted', async () => {
  const reported = await openShop()
  await withAffiliate(reported)
  const order = { amountCents: 10_000, couponCode: 'NISA16' }
  const { events, cancellations } = reported.client
  for (const externalOrderId of ['1001', '1002', '1003']) await events.conversion({ ...order, externalOrderId })
  await events.conversion({ ...order, externalOrderId: 'x-4', orderName: '#1004', couponCode: 'SUMMER' })
  await events.conversion({ ...order, externalOrderId: '1005', discountCents: 10_000 })
  await cancellations.create({ externalOrderId: '1003' })
  const expected = {
    counts: { neverReported: 1, nobody: 1, canceled: 1, credited: 3 },
    rows: [
      { state: 'canceled', id: '1003', orderId: 'api:1003', reason: null },
      { state: 'nobody', id: '#1004', orderId: 'api:x-4', reason: 'NO_MATCH' },
      { state: 'credited', id: '1005', orderId: 'api:1005', reason: 'ZERO_BASE' },
      { state: 'neverReported', id: '1006', orderId: null, reason: null },
    ],
  }
  const ids = ['1001', 'api:1002', '1003', '#1004', '1005', '1006']
  const writeFile = (name: string, text: string) => {
    writeFileSync(join(folder.path, name), text)
    return join(folder.path, name)
  }
  const compare = async (name: string, lines: string[]) => {
    const { code, stdout } = await cli(['doctor', '--orders', writeFile(name, lines.join('\n')), '--json'], reported)
    const report = JSON.parse(stdout)
    expect(wrongWith('DoctorReport', report)).toEqual([])
    return { code, orders: report.orders }
  }
  // One id a line, a column of a CSV file, and so many reported orders that each id is looked up.
  const csv = ['Total,Order ID', ...ids.map((id) => `9.00,${id}`)]
  expect(await compare('ids.txt', [...ids, '', '1001'])).toEqual({ code: 8, orders: expected })
  expect(await compare('ids.csv', csv)).toEqual({ code: 8, orders: expected })
  await Promise.all(
    Array.from({ length: 700 }, (_, n) => events.conversion({ externalOrderId: `more-${n}`, amountCents: 1 })),
  )
  expect(await compare('ids.txt', ids)).toEqual({ code: 8, orders: expected })
  expect((await compare('all.txt', ['1001', '1002'])).code).toBe(0)
  const listed = await cli(['orders', 'list', '--order', '1005'], reported)
  expect(listed.stdout).toMatch(/^api:1005\t.*\taff_\w+\tCOUPON_MATCH\tZERO_BASE\t/)
  const unknown = await cli(['doctor', '--orders', writeFile('other.csv', 'Total,Note\n1,2')], reported)
  expect([unknown.code, unknown.stdout]).toEqual([2, ''])
  reported.close()
}, 60_000)
