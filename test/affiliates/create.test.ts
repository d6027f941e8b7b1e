import { expect } from 'vitest'
import { type Client, test } from '../support/test.ts'

let people = 0
const create = (client: Client, name: string) =>
  client.affiliates.create({ email: `person-${++people}@example.com`, name })
const together = (client: Client, count: number, name: string) =>
  Promise.all(Array.from({ length: count }, () => create(client, name)))

test('equal names get numbered slugs, and a name without ASCII letters gets a generic one', async ({ client }) => {
  const slugs: string[] = []
  for (const name of ['Zoë Ångström', 'Zoe Angstrom', 'ZOE  ANGSTROM!', '李小龙', 'Иван'])
    slugs.push((await create(client, name)).slug)
  expect(slugs).toEqual(['zoe-angstrom', 'zoe-angstrom-2', 'zoe-angstrom-3', 'affiliate', 'affiliate-2'])
})

test('equal names created in parallel get different slugs', async ({ client }) => {
  const all = await together(client, 30, 'Twin')
  expect(new Set(all.map((one) => one.slug)).size).toBe(30)
  expect(all.every((one) => /^twin(-[0-9a-f]+)?$/.test(one.slug))).toBe(true)
})

test('generated codes are random, use the documented alphabet, and are unique', async ({ client }) => {
  const codes = (await together(client, 60, 'Coded')).map((one) => one.discountCode)
  expect(new Set(codes).size).toBe(60)
  for (const code of codes) expect(code).toMatch(/^[A-NP-Z1-9]{8}$/)
  expect(new Set(codes.join('')).size).toBeGreaterThan(30)
})
