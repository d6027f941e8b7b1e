// Full: it waits for time to pass.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { bare, cli, json, MAIN, noTerminal, onTerminal, openShop, type Shop, withAffiliate } from './support.ts'

let shop: Shop
let program: string
beforeAll(async () => {
  shop = await openShop()
  program = (await withAffiliate(shop)).program.id
  await shop.client.programs.update(program, { autoApproveOrder: false })
}, 60_000)
afterAll(() => shop.close())

const order = (id: string) => shop.order(id, '2026-10-05')
const statusOf = async (id: string) => (await shop.client.commissions.list().toArray()).find((one) => one.id === id)

test('keys are created, used, rotated and revoked; revoking twice succeeds', async () => {
  const { env } = shop
  const key = await json<{ id: string; secret: string; scopes: string[] }>(
    ['keys', 'create', '--label', 'X', '--scope', 'affiliates:read,coupons:read'],
    { env },
  )
  expect(key.scopes).toEqual(['affiliates:read', 'coupons:read'])
  const use = (secret: string) => cli(['affiliates', 'list'], { env: { ...env, REFERRAL_API_KEY: secret } })
  expect((await use(key.secret)).code).toBe(0)
  expect((await cli(['keys', 'rotate', key.id], { env })).code).toBe(9)
  expect((await use(key.secret)).code).toBe(0)
  const rotated = await json<{ secret: string }>(['keys', 'rotate', key.id, '--yes'], { env })
  expect([(await use(key.secret)).code, (await use(rotated.secret)).code]).toEqual([4, 0])
  const again = await json<{ secret: string }>(['keys', 'rotate', key.id, '--yes', '--overlap-seconds', '60'], { env })
  expect([(await use(rotated.secret)).code, (await use(again.secret)).code]).toEqual([0, 0])
  expect(await json(['keys', 'revoke', key.id, '--yes'], { env })).toEqual({ id: key.id, changed: true })
  expect(await json(['keys', 'revoke', key.id, '--yes'], { env })).toEqual({ id: key.id, changed: false })
  expect((await use(rotated.secret)).code).toBe(4)
  expect(JSON.stringify(await json(['keys', 'list'], { env }))).not.toContain(rotated.secret)
})

test('a test shop is created, its clock advanced, and deleted', async () => {
  const { env } = shop
  const made = await json<{ id: string; apiKey: string; ownerToken: string; now: string }>(
    ['test-shops', 'create', '--name', 'Checkout tests'],
    { env },
  )
  expect(made.apiKey).toMatch(/^rk_test_/)
  expect((await cli(['programs', 'list'], { env: { ...env, REFERRAL_API_KEY: made.apiKey } })).code).toBe(0)
  const advance = (...options: string[]) =>
    json<{ now: string }>(['test-shops', 'advance', made.id, ...options], { env })
  const days = (to: { now: string }) => (Date.parse(to.now) - Date.parse(made.now)) / 86_400_000
  expect(Math.floor(days(await advance('--days', '31')))).toBe(31)
  expect(Math.floor(days(await advance('--seconds', '86400')))).toBe(32)
  const to = new Date(Date.parse(made.now) + 40 * 86_400_000).toISOString()
  expect(Math.floor(days(await advance('--to', to)))).toBe(40)
  expect((await cli(['test-shops', 'advance', made.id], { env })).code).toBe(2)
  expect((await cli(['test-shops', 'advance', made.id, '--days', '1', '--to', to], { env })).code).toBe(2)
  expect((await cli(['test-shops', 'delete', made.id], { env })).code).toBe(9)
  expect(await json<{ id: string }[]>(['test-shops', 'list'], { env })).toMatchObject([{ id: made.id }])
  await json(['test-shops', 'delete', made.id, '--yes'], { env })
  expect(await json(['test-shops', 'list'], { env })).toEqual([])
})

test('4 without an owner token', async () => {
  const { REFERRAL_OWNER_TOKEN: _, ...env } = shop.env
  const { code, stderr } = await cli(['keys', 'list', '--json'], { env })
  expect({ code, failure: JSON.parse(stderr).code }).toEqual({ code: 4, failure: 'owner_token_missing' })
})

test('one commission is approved, and refunded in parts that count once', async () => {
  const { env } = shop
  const id = await order('one')
  expect(await json(['commissions', 'approve', id], { env })).toMatchObject({
    id,
    changed: true,
    orderStatus: 'APPROVED',
  })
  expect(await json(['commissions', 'approve', id], { env })).toMatchObject({
    id,
    changed: false,
    orderStatus: 'APPROVED',
  })
  const refund = ['commissions', 'refund', id, '--refund-id', 'r-1', '--amount-cents', '2500']
  expect((await cli(refund, { env })).code).toBe(9)
  expect((await statusOf(id))?.commissionAmountCents).toBe(1600)
  expect(await json([...refund, '--yes'], { env })).toMatchObject({ data: { commissionAmountCents: 1200 } })
  expect(await json([...refund, '--yes'], { env })).toMatchObject({ data: { commissionAmountCents: 1200 } })
  const other = await cli([...refund.slice(0, -1), '3000', '--yes', '--json'], { env })
  expect({ stdout: other.stdout, ...JSON.parse(other.stderr) }).toMatchObject({
    code: 'refund_recorded_otherwise',
    stdout: '',
    message: expect.stringMatching(/r-1 .*25\.00 USD/),
  })
  expect(other.code).toBe(5)
  // `Date` has a resolution of one second.
  await new Promise((done) => setTimeout(done, 1200))
  expect((await cli([...refund, '--yes'], { env })).stderr).toContain('r-1 is already recorded; nothing was changed')
  const tooMuch = await cli(
    ['commissions', 'refund', id, '--refund-id', 'r-2', '--amount-cents', '9000', '--yes', '--json'],
    { env },
  )
  expect({ code: tooMuch.code, failure: JSON.parse(tooMuch.stderr).code }).toEqual({
    code: 5,
    failure: 'refund_exceeds_order',
  })
  expect(await json(['commissions', 'reject', id], { env })).toMatchObject({ orderStatus: 'REJECTED' })
  expect(await json(['commissions', 'reopen', id], { env })).toMatchObject({ changed: true })
})

test('--matching counts, confirms and changes commissions; 3 for none, 8 for skipped ones', async () => {
  const { env } = shop
  const ids = [await order('m-1'), await order('m-2'), await order('m-3')]
  const matching = ['commissions', 'approve', '--matching', '--month', '2026-10', '--status', 'PENDING']
  expect(await json([...matching, '--dry-run'], { env })).toMatchObject({
    changed: 0,
    dryRun: true,
    totals: [{ currency: 'USD', commissions: expect.any(Number), commissionCents: expect.any(Number) }],
  })
  expect((await cli([...matching, '--dry-run'], { env })).stderr).toMatch(/Would approve \d+ commissions, [\d.,]+ USD/)
  expect((await cli(matching, { env })).code).toBe(9)
  expect((await statusOf(ids[0] ?? ''))?.orderStatus).toBe('PENDING')
  expect(await json<{ changed: number }>([...matching, '--yes'], { env })).toMatchObject({ remaining: 0, skipped: [] })
  for (const id of ids) expect((await statusOf(id))?.orderStatus).toBe('APPROVED')
  expect((await cli([...matching, '--yes'], { env })).code).toBe(3)
  const some = await cli(['commissions', 'approve', await order('m-4'), ids[0] ?? '', '--json'], { env })
  expect({ code: some.code, ...JSON.parse(some.stdout) }).toMatchObject({
    code: 8,
    changed: 1,
    skipped: [{ id: ids[0] }],
  })
  expect((await cli(['commissions', 'approve'], { env })).code).toBe(2)
  expect((await cli(['commissions', 'approve', '--month', 'last'], { env })).code).toBe(2)
}, 40_000)

test('canceling a batch releases its commissions', async () => {
  const { env } = shop
  const id = await order('c-1')
  expect(await json(['commissions', 'approve', id], { env })).toMatchObject({ changed: true })
  const batch = await shop.client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-10-31' })
  expect((await statusOf(id))?.orderStatus).toBe('PAYABLE')
  expect((await cli(['payouts', 'cancel', batch.id], { env })).code).toBe(9)
  expect(await json(['payouts', 'cancel', batch.id, '--yes'], { env })).toMatchObject({ status: 'FAILED' })
  expect((await statusOf(id))?.orderStatus).toBe('APPROVED')
  expect((await cli(['payouts', 'pay', batch.id, '--yes', '--expect-total', '0'], { env })).code).toBe(5)
  expect((await cli(['payouts', 'export', batch.id], { env })).code).toBe(5)
})

test('get reads one row, and lists without rows say so', async () => {
  const { env } = shop
  const [affiliate] = (await shop.client.affiliates.list()).data
  const { code, stdout } = await cli(['affiliates', 'get', affiliate?.id ?? ''], { env })
  expect([code, stdout]).toEqual([0, expect.stringContaining(`email\t${affiliate?.email}\n`)])
  expect((await cli(['payouts', 'get', 'bat_none'], { env })).code).toBe(3)
  const empty = await cli(['affiliates', 'list', '--search', 'nobody'], { env })
  expect(empty).toEqual({ code: 0, stdout: '', stderr: 'no rows\n' })
})

test('a flat rate is shown as money of the shop', async () => {
  const flat = { name: 'Flat', commissionType: 'FLAT_PER_ORDER', commissionPercent: 5.5 } as const
  const { id } = await shop.client.programs.create(flat)
  const { stdout } = await cli(['programs', 'list', '-o', 'table'], { env: shop.env })
  expect(stdout.split('\n').find((line) => line.startsWith(id))).toContain(' 5.50 USD ')
})

test('settings are changed one by one, as text, JSON or a secret', async () => {
  const { env } = shop
  const set = (...args: string[]) =>
    cli(['settings', 'set', ...args, '--json'], { env, input: 'the secret of the store\n' })
  expect(JSON.parse((await set('timeZone', 'Europe/Berlin')).stdout)).toMatchObject({ timeZone: 'Europe/Berlin' })
  expect(JSON.parse((await set('minimumPayoutCentsByCurrency', '{"EUR":2500}')).stdout)).toMatchObject({
    minimumPayoutCentsByCurrency: { EUR: 2500 },
  })
  expect((await set('storeWebhookSecret', 'in the history')).code).toBe(2)
  expect(JSON.parse((await set('storeWebhookSecret', '--secret-stdin')).stdout)).toMatchObject({
    hasStoreWebhookSecret: true,
  })
  expect((await set('timeZone', 'EST')).stderr).toContain('America/Panama')
  expect((await set('timeZone', 'UTC')).stderr).toBe('')
  await set('minimumPayoutCentsByCurrency', '{}')
  expect(await json(['settings', 'get'], { env })).toMatchObject({ timeZone: 'UTC' })
})

test('a subscription is updated, and its secret replaced after a confirmation', async () => {
  const { env, client } = shop
  const { id } = await client.webhooks.create({ url: 'https://shop.example/update', secret: 'old' })
  const webhooks = (...args: string[]) => cli(['webhooks', ...args, '--json'], { env, input: 'new\n' })
  const updated = await webhooks('update', id, '--events', 'commission.created', '--retry-policy', 'standard')
  expect(JSON.parse(updated.stdout)).toMatchObject({ events: ['commission.created'], retryPolicy: 'standard' })
  expect(JSON.parse((await webhooks('update', id, '--events', 'all')).stdout)).toMatchObject({ events: [] })
  expect((await webhooks('update', id)).code).toBe(2)
  expect((await webhooks('rotate-secret', id)).code).toBe(9)
  expect(JSON.parse((await webhooks('rotate-secret', id, '--yes')).stdout).secret).toMatch(/./)
  expect(JSON.parse((await webhooks('rotate-secret', id, '--secret-stdin', '--yes')).stdout).secret).toBeNull()
  await client.webhooks.delete(id)
})

test('an order is explained by its name in the store', async () => {
  await shop.client.events.conversion({ externalOrderId: '77001', orderName: '#N-1', amountCents: 100 })
  const explained = await json<{ externalOrderId: string }>(['commissions', 'explain', '#N-1'], { env: shop.env })
  expect(explained.externalOrderId).toBe('77001')
})

test.skipIf(noTerminal)('explain prints text on a terminal', async () => {
  const { code, output } = await onTerminal(['commissions', 'explain', 'one'], { env: shop.env })
  expect(code).toBe(0)
  for (const text of ['Evidence', 'COUPON', 'NISA16', 'Amount', 'gives the same result']) expect(output).toContain(text)
  for (const text of [output, (await cli(['commissions', 'explain', 'one'], { env: shop.env })).stdout]) {
    expect(text).toMatch(/earns [\d,]+\.\d\d USD on /)
  }
  expect((await cli(['commissions', 'explain', 'never'], { env: shop.env })).code).toBe(3)
})

test('lists report omitted rows; --all prints every row, --limit may exceed a page', async () => {
  const { env } = shop
  const batch = Array.from({ length: 105 }, (_, i) => `L${i},1.00,NISA16`).join('\n')
  const folder = temporaryFolder()
  writeFileSync(
    join(folder.path, 'orders.csv'),
    `order id,amount,coupon
${batch}
`,
  )
  const { sent } = await json<{ sent: number }>(
    ['events', 'import', join(folder.path, 'orders.csv'), '--parallel', '8'],
    { env },
  )
  expect(sent).toBe(105)
  folder.remove()
  const list = (...args: string[]) => cli(['commissions', 'list', ...args], { env })
  const all = (await list('--all')).stdout.trim().split('\n')
  expect(new Set(all).size).toBe(all.length)
  const some = await list()
  expect(some.stdout.trim().split('\n')).toEqual(all.slice(0, 20))
  expect(some.stderr).toBe(`showing 20 of ${all.length}, use --all\n`)
  expect((await list('--limit', '102')).stdout.trim().split('\n')).toEqual(all.slice(0, 102))
  expect((await list('--page', '2', '--limit', '3')).stdout.trim().split('\n')).toEqual(all.slice(3, 6))
  expect((await list('--limit', '0')).code).toBe(2)
  expect((await list('--all', '--limit', '5')).code).toBe(2)
}, 40_000)

test('0 when the reader closes the pipe early', async () => {
  const line = `${process.execPath} ${MAIN} commissions list --all -o ndjson | head -1; echo "\${PIPESTATUS[0]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', line], { env: bare(shop.env), encoding: 'utf8' })
  expect(stderr).toBe('')
  expect(stdout.trim().split('\n').at(-1)).toBe('0')
  // More than the buffer of the pipe, without a server.
  const main = new URL('../conformance/src/main.ts', import.meta.url).pathname
  const listing = spawnSync('bash', ['-c', `${process.execPath} ${main} --list | (read line; exec <&-; sleep 0.5)`], {
    env: bare(shop.env),
    encoding: 'utf8',
  })
  expect(listing.stderr).toBe('')
})
