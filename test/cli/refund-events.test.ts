import { afterAll, beforeAll, expect, test } from 'vitest'
import { cli, json, openShop, type Shop, withAffiliate } from './support.ts'

let shop: Shop
beforeAll(async () => {
  shop = await openShop()
  await withAffiliate(shop)
}, 60_000)
afterAll(() => shop.close())

const run = (...args: string[]) => cli(['events', ...args], { env: shop.env })
const record = (...args: string[]) =>
  json<{ outcome: string; changed: boolean; dryRun: boolean; commission: { amountCents: number; status: string } }>(
    ['events', ...args],
    { env: shop.env },
  )

test('events refund previews and records a refund, once', async () => {
  await shop.client.events.conversion({ externalOrderId: 'r-1', amountCents: 10_000, couponCode: 'NISA16' })
  const args = ['refund', 'r-1', '--refund-id', 're-1', '--amount-cents', '2500']
  const preview = await record(...args, '--dry-run')
  const recorded = await record(...args)
  expect(preview).toMatchObject({ dryRun: true, commission: recorded.commission })
  expect(recorded).toMatchObject({ outcome: 'applied', changed: true, dryRun: false })
  expect(await record(...args, '--idempotency-key', 'other')).toMatchObject({ changed: false })
  expect((await run(...args)).stderr).toContain('already recorded')
  expect((await run(...args.with(-1, '2600'))).stderr).toContain('another amount')
  const { code, stderr } = await run('refund', 'r-1', '--refund-id', 're-2', '--amount-cents', '99999')
  expect([code, stderr]).toEqual([0, expect.stringContaining('Less was left')])
})

test('events cancel-refund takes a refund back', async () => {
  await shop.client.events.conversion({ externalOrderId: 'r-2', amountCents: 10_000, couponCode: 'NISA16' })
  await record('refund', 'r-2', '--refund-id', 're-1', '--amount-cents', '2500', '--at', '2026-10-28')
  const args = ['cancel-refund', 'r-2', '--refund-id', 're-1']
  expect(await record(...args, '--dry-run')).toMatchObject({
    method: 'DELETE',
    path: '/api/v1/refunds?externalOrderId=r-2&externalRefundId=re-1',
  })
  expect(await record(...args)).toMatchObject({
    changed: true,
    commissionCents: 400,
    commission: { amountCents: 1600 },
  })
  expect(await record(...args)).toMatchObject({ changed: false })
})

test('events cancel before the order is stored', async () => {
  expect(await record('cancel', 'c-1')).toMatchObject({ outcome: 'stored', commission: null })
  await shop.client.events.conversion({ externalOrderId: 'c-1', amountCents: 10_000, couponCode: 'NISA16' })
  expect(await record('cancel', 'c-1', '--idempotency-key', 'again')).toMatchObject({
    outcome: 'applied',
    changed: false,
    commission: { status: 'CANCELED' },
  })
})

test('events send twice is a replay, and with another key an order that is already recorded', async () => {
  const args = [
    'send',
    '--order',
    's-1',
    '--amount-cents',
    '10000',
    '--currency',
    'USD',
    '--coupon',
    'NISA16',
    '--json',
  ]
  expect((await run(...args)).stderr).not.toContain('already recorded')
  const again = await run(...args)
  expect(again.stderr).toContain('already recorded')
  expect(JSON.parse(again.stdout)).toMatchObject({ alreadyRecorded: false })
  const other = await run(...args, '--idempotency-key', 'another')
  expect(other.stderr).toContain('already recorded')
  expect(JSON.parse(other.stdout)).toMatchObject({ alreadyRecorded: true })
})

test.for([[[]], [['--amount-cents', '1', '--item', 'variant:1*1']]])('exit code 2 with %j', async ([args = []]) => {
  const { code, stderr } = await run('refund', 'r-1', '--refund-id', 'x', ...args)
  expect([code, stderr]).toEqual([2, expect.stringContaining('Pass either --amount-cents or --item.')])
})
