import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isValidCode } from '../../cli/src/commands/import/plan.ts'
import { sanitizeText } from '../../cli/src/output/text.ts'
import { codeProblem } from '../../server/src/engine/affiliate-codes.ts'
import { HOSTILE_NAMES, REAL_NAMES } from '../support/names.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { cli, json, openShop, type Shop, withAffiliate } from './support.ts'

const folder = temporaryFolder()
let shop: Shop
beforeAll(async () => {
  shop = await openShop()
}, 60_000)
afterAll(async () => {
  await shop.close()
  folder.remove()
})

test('`assign` and `explain` warn about a code that is the slug of another affiliate', async () => {
  const { env, client } = shop
  const { affiliate } = await withAffiliate(shop)
  const vera = await client.affiliates.create({ email: 'vera@example.com', name: 'Vera' })
  const assigned = await cli(['coupons', 'assign', affiliate.id, '--code', 'VERA'], { env })
  expect([assigned.code, assigned.stderr]).toEqual([
    0,
    `warning: This code is also the slug of affiliate ${vera.id}. Orders with it count for the affiliate with the code.\n`,
  ])
  await shop.order('v-1', undefined, 'vera')
  const { stdout } = await cli(['commissions', 'explain', 'v-1'], { env })
  expect(stdout).toMatch(new RegExp(`slug of affiliate ${vera.id}`))
  const plain = await cli(['coupons', 'assign', affiliate.id, '--code', 'NISA16'], { env })
  expect([plain.code, plain.stderr]).toEqual([0, ''])
})

test('names in every script are shown unchanged, without control characters', async () => {
  const { env, client } = shop
  const made = [...REAL_NAMES.map((name) => [name, sanitizeText(name)] as const), ...HOSTILE_NAMES]
  for (const [index, [name]] of made.entries()) await client.affiliates.create({ email: `n${index}@example.com`, name })
  const { stdout } = await cli(['affiliates', 'list', '--all'], { env })
  for (const [, shown] of made) expect(stdout).toContain(shown)
  expect(stdout).not.toMatch(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u)
  // Only direction marks are removed from real names.
  for (const name of REAL_NAMES) expect(sanitizeText(name)).toBe(name.replace(/[\u200e\u200f]/g, ''))
  const all = await json<{ name: string }[]>(['affiliates', 'list', '--all'], { env })
  expect(all.map(({ name }) => name)).toEqual(expect.arrayContaining(made.map(([name]) => name)))
})

test('the import accepts the same codes as the service', () => {
  const codes = [
    'NISA16',
    'ÄÖÜ',
    'СУМ',
    '٠',
    '🎁',
    'A０',
    'ｏ',
    '№',
    'A\u200bB',
    'A\u202eB',
    'A\u00ad',
    '\u3164',
    'A B',
    '',
  ]
  for (const code of codes) expect([code, isValidCode(code)]).toEqual([code, codeProblem(code) === null])
})

test('the import finds an affiliate by an equivalent email address', async () => {
  const { env, client } = shop
  const { id } = await client.affiliates.create({ email: 'müller@bücher.example', name: 'Müller' })
  const file = join(folder.path, 'old.csv')
  writeFileSync(file, 'email,name\nMu\u0308ller@BU\u0308CHER.example,Müller\n')
  const rows = await json<{ id: string; action: string }[]>(['import', 'rewardful', 'affiliates', file, '--yes'], {
    env,
  })
  expect(rows).toMatchObject([{ id, action: 'existed' }])
})
