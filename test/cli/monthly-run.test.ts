// What a run that pays every month may pass by: late approvals, and other currencies.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '../support/process.ts'
import { bare, cli, ended, MAIN, openShop, type Shop, withAffiliate, wrongWith } from './support.ts'

const folder = temporaryFolder()
let shop: Shop
let affiliate: string
beforeAll(async () => {
  shop = await openShop()
  affiliate = (await withAffiliate(shop)).affiliate.id
}, 60_000)
afterAll(async () => {
  await shop.close()
  folder.remove()
})

const payouts = (...args: string[]) => cli(['payouts', ...args], { env: shop.env })
const orderIn = (currency: string, externalOrderId: string, occurredAt: string) =>
  shop.client.events.conversion({ externalOrderId, amountCents: 10_000, couponCode: 'NISA16', currency, occurredAt })
const payLastMonth = (most: string, month: string) => {
  const script = fileURLToPath(new URL('../../examples/cli/pay-last-month.sh', import.meta.url))
  const env = bare({ ...shop.env, REFERRAL: `${process.execPath} ${MAIN}` })
  return ended(spawn('sh', [script, most, 'out', month], { env, cwd: folder.path }))
}
const batches = async () =>
  (await shop.client.payouts.list()).data.map(({ currency, status, totals }) => [
    currency,
    status,
    totals.netPayableCents,
  ])

test('approved commissions from before the period are told of, whether the period has any or not', async () => {
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
  expect((await payouts('preview', '--month', '2026-06')).stderr).toBe('Nothing was written.\n')
  const { stdout } = await cli(['doctor', '--json'], { env: shop.env })
  const { checks, ...report } = JSON.parse(stdout)
  expect(wrongWith('DoctorReport', { ...report, checks })).toEqual([])
  expect(checks).toContainEqual({ check: 'unpaid', result: 'warning', detail: expect.stringMatching(/^2 approved/) })
}, 30_000)

test('the script of the example pays every currency up to the limit, and passes on what waits from before', async () => {
  await orderIn('EUR', 'july-eur', '2026-07-11T12:00:00Z')
  const mixed = await payouts('preview', '--month', '2026-07')
  expect({ code: mixed.code, stdout: mixed.stdout }).toEqual({ code: 5, stdout: '' })
  await orderIn('USD', 'july-2', '2026-07-12T12:00:00Z')

  const tooMuch = await payLastMonth('3199', '2026-07')
  expect({ code: tooMuch.code, stderr: tooMuch.stderr }).toEqual({
    code: 9,
    stderr: expect.stringContaining('pays 3200 cents USD, more than 3199'),
  })
  expect(tooMuch.stderr).toContain('1 approved commission from before 2026-07-01 is in no batch (16.00 USD)')
  expect(await batches()).toEqual([
    ['USD', 'OPEN', 3200],
    ['EUR', 'PAID', 1600],
  ])

  const paid = await payLastMonth('3200', '2026-07')
  expect(paid.code).toBe(0)
  expect(paid.stderr).toContain('1 approved commission from before 2026-07-01 is in no batch (16.00 USD)')
  expect(await batches()).toEqual([
    ['USD', 'PAID', 3200],
    ['EUR', 'PAID', 1600],
  ])
  expect(readdirSync(join(folder.path, 'out')).filter((name) => name.startsWith('batch-'))).toEqual([])
}, 40_000)

test('one batch per currency in one command; one below the minimum is named', async () => {
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

  const set = await cli(['api', 'PATCH', '/admin/v1/settings', '-F', 'minimumPayoutCents=2000'], {
    env: shop.env,
  })
  expect(set.code).toBe(0)
  const some = await payouts('create', '--month', '2026-06', '--each-currency', '--json=currency')
  expect({ code: some.code, data: JSON.parse(some.stdout) }).toEqual({ code: 8, data: [{ currency: 'USD' }] })
  expect(some.stderr).toMatch(/EUR: The eligible total of 1600 cents is below/)
  expect((await payouts('preview', '--month', '2026-07')).stderr).toContain(
    'Approved commissions from before 2026-07-01 are in no batch and below the minimum payout; together with this period they may reach the minimum: referral payouts preview --from 2026-06-11 --to 2026-07-31',
  )
}, 30_000)
