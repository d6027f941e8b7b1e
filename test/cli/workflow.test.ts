import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli, json, noTerminal, onTerminal, openShop, type Shop, withAffiliate } from './support.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
}, 60_000)
afterAll(() => shop.close())

interface Row {
  id: string
  // biome-ignore lint/suspicious/noExplicitAny: replies of every shape
  [field: string]: any
}

const run = (...args: string[]) => json<Row>(args, { env: shop.env })
const one = async (rows: PromiseLike<{ data: Row[] }>, id: string) => (await rows).data.find((row) => row.id === id)

test('commands create a program, an affiliate, a code and an order', async () => {
  const { client } = shop
  const program = await run('programs', 'create', '--name', 'Friends', '--commission', '16', '--status', 'PRIVATE')
  await run(
    ...['programs', 'update', program.id, '--commission', '12.5', '--status', 'PUBLISH', '--auto-approve-orders'],
    ...['--discount', 'PERCENT', '--discount-value', '10', '--lifetime', '--cookie-days', '45'],
  )
  expect(await one(client.programs.list() as never, program.id)).toMatchObject({
    name: 'Friends',
    commissionPercent: 12.5,
    status: 'PUBLISH',
    autoApproveOrder: true,
    cookieDurationDays: 45,
  })
  for (const words of [
    ['create', '--name', 'Flat'],
    ['update', program.id],
  ]) {
    const flat = await cli(['programs', ...words, '--type', 'FLAT_PER_ORDER', '--json'], { env: shop.env })
    expect({ code: flat.code, stdout: flat.stdout }).toEqual({ code: 2, stdout: '' })
    expect(JSON.parse(flat.stderr).message).toContain('16 means 16.00 for each order, not 16%')
  }
  expect(await client.programs.list()).toMatchObject({ data: [{ commissionType: 'PERCENT_OF_SALE' }] })

  const affiliate = await run('affiliates', 'create', '--email', 'noor@example.com', '--name', 'Noor Haddad')
  expect(affiliate).toMatchObject({ status: 'PENDING', slug: 'noor-haddad', campaignId: program.id })
  const person = () => one(client.affiliates.list() as never, affiliate.id)
  await run('affiliates', 'update', affiliate.id, '--website', 'https://noor.example', '--phone', '+49 30 1')
  await run('affiliates', 'update', affiliate.id, '--phone', '')
  expect(await person()).toMatchObject({ website: 'https://noor.example', phone: null })
  await run('affiliates', 'reject', affiliate.id)
  expect(await person()).toMatchObject({ status: 'REJECTED' })
  await run('affiliates', 'approve', affiliate.id)
  expect(await person()).toMatchObject({ status: 'APPROVED' })

  expect(await run('coupons', 'assign', affiliate.id, '--code', 'NISA16')).toMatchObject({ code: 'NISA16' })
  expect(await person()).toMatchObject({ discountCode: 'NISA16' })

  const sent = await run('events', 'send', '--order', '1001', '--amount-cents', '10000', '--coupon', 'nisa16')
  expect(sent.commission).toMatchObject({ affiliateId: affiliate.id })
  expect(await run('affiliates', 'archive', affiliate.id, '--yes')).toMatchObject({ ok: true })
  expect(await person()).toBeUndefined()
  const [commission] = (await client.commissions.list()).data
  expect(commission).toMatchObject({ externalOrderId: '1001', commissionAmountCents: 1250 })
}, 60_000)

test('journey, analytics, commissions and explain show a reported order', async () => {
  await withAffiliate(shop, { code: 'ZED16', name: 'Zed Aziz', email: 'zed@example.com' })
  await shop.client.events.click({ ref: 'zed-aziz', sessionId: 's-77' })
  await shop.order('2001', undefined, 'ZED16')
  const journey = await run('journey', '--session', 's-77')
  expect(JSON.stringify(journey)).toContain('zed-aziz')
  const analytics = await run('analytics')
  expect(JSON.stringify(analytics)).toContain('Zed Aziz')
  const rows = await json<Row[]>(['commissions', 'list', '--order', '2001'], { env: shop.env })
  expect(rows).toMatchObject([{ externalOrderId: '2001', commissionAmountCents: 1600 }])
  const explained = await run('commissions', 'explain', '2001')
  expect(JSON.stringify(explained)).toContain('COUPON_MATCH')
}, 40_000)

test('3 when a subscription is deleted twice', async () => {
  const hook = await shop.client.webhooks.create({ url: 'https://shop.example/hooks' })
  expect((await cli(['webhooks', 'delete', hook.id, '-y'], { env: shop.env })).code).toBe(0)
  expect((await shop.client.webhooks.list()).data).toEqual([])
  expect((await cli(['webhooks', 'delete', hook.id, '-y'], { env: shop.env })).code).toBe(3)
})

test.skipIf(noTerminal)(
  'a paid commission reversed on a terminal is deducted from the next payout',
  async () => {
    const { client, env } = shop
    const id = await shop.order('3001', '2026-10-05', 'ZED16')
    await json(['commissions', 'approve', id], { env }).catch(() => {})
    const batch = await client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-10-31' })
    const paid = await onTerminal(['payouts', 'pay', batch.id], { env, answers: [[/total/i, '16.00\r']] })
    expect(paid.code, paid.output).toBe(0)
    const reversed = await onTerminal(['commissions', 'reverse', id], { env, answers: [[/\?/, 'y\r']] })
    expect(reversed.code, reversed.output).toBe(0)
    // The reversal offsets the commission of another order.
    const preview = await json<Row>(['payouts', 'preview', '--month', 'this'], { env })
    expect(preview.totals).toMatchObject({ commissions: 2, netPayableCents: 0 })
  },
  40_000,
)

test('commands use the credentials of the profile', async () => {
  const folder = temporaryFolder()
  const env = { REFERRAL_CONFIG_DIR: folder.path }
  const login = await cli(['login', '--base-url', shop.server.url, '--profile', 'a'], {
    env,
    input: `${shop.env.REFERRAL_API_KEY}\n${shop.env.REFERRAL_OWNER_TOKEN}\n`,
  })
  expect(login.code, login.stderr).toBe(0)
  expect(await json(['keys', 'list'], { env })).toHaveLength(1)
  expect((await cli(['logout', '--profile', 'a'], { env })).code).toBe(0)
  expect((await cli(['keys', 'list'], { env: { ...env, REFERRAL_BASE_URL: shop.server.url } })).code).toBe(4)
  folder.remove()
})
