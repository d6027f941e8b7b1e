// SQLite only: it tests what the command sends, not storage.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli, json, openShop, type Shop, withAffiliate } from './support.ts'

const folder = temporaryFolder()
let shop: Shop
let affiliateId: string
let programId: string
beforeAll(async () => {
  shop = await openShop()
  const { affiliate } = await withAffiliate(shop)
  affiliateId = affiliate.id
  programId = affiliate.campaignId!
}, 60_000)
afterAll(async () => {
  await shop.close()
  folder.remove()
})

interface Terms {
  version: number
  summary: string
  rules: object[]
}
const set = (...options: string[]) => json<Terms>(['programs', 'terms', 'set', programId, ...options], shop)

test('each option changes its part of the terms', async () => {
  expect((await set('--first-months', '12', '--hold-days', '30')).summary).toBe(
    "Pays 16% for 12 months from a customer's first order, then nothing; payable after 30 days.",
  )
  await set('--tier', '10', '--rate', '20')
  await set('--affiliate', affiliateId, '--rate', '25')
  const stepped = await set('--first-months', '24', '--then', '7.5')
  expect(stepped.rules).toEqual([
    { when: { affiliateIds: [affiliateId] }, commissionPercent: 25 },
    { when: { affiliateOrders: { from: 10, period: 'MONTH' } }, commissionPercent: 20 },
    { when: { customerMonth: { from: 24 } }, commissionPercent: 7.5 },
  ])
  await set('--affiliate', affiliateId, '--rate', '30', '--months', '6')
  const ended = await set('--first-orders', '3')
  expect(ended.rules.map((rule) => Object.keys((rule as { when: object }).when).sort())).toEqual([
    ['affiliateIds', 'customerMonth'],
    ['affiliateIds'],
    ['customerOrder'],
    ['affiliateOrders'],
    ['customerMonth'],
  ])
  const { stderr } = await cli(['programs', 'terms', 'set', programId, '--first-months', '12'], shop)
  expect(stderr).toContain(`referral programs update ${programId} --lifetime`)
  const file = join(folder.path, 'rules.json')
  writeFileSync(file, JSON.stringify([{ when: {}, commissionPercent: 9 }]))
  expect((await set('--rules', file)).summary).toBe('Pays 9%; payable after 30 days.')
  const first = await json<Terms>(['programs', 'terms', 'get', programId, '--earlier', '1'], shop)
  expect([first.version, first.summary]).toEqual([1, 'Pays 16%.'])
})

test('an option that is missing, a length of 0, or a file that is not JSON, changes nothing', async () => {
  for (const options of [
    ['--tier', '3'],
    ['--then', '5'],
    ['--first-months', '0'],
    ['--months', '12'],
    ['--first-orders', '0', '--then', '5'],
    ['--rules', 'missing.json'],
  ])
    expect((await cli(['programs', 'terms', 'set', programId, ...options], shop)).code).toBe(2)
  const { stdout } = await cli(['programs', 'terms', 'set', programId, '--first-orders', '1', '--dry-run'], shop)
  expect(stdout).toContain('customerOrder')
})
