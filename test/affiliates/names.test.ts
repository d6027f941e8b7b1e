import { expect } from 'vitest'
import { HOSTILE_NAMES, REAL_NAMES } from '../support/names.ts'
import { test } from '../support/test.ts'

let counter = 0
const email = () => `n${++counter}@example.com`

test.for(REAL_NAMES)('201 for %s, returned as sent and found', async (name, { client }) => {
  const { id, slug } = await client.affiliates.create({ email: email(), name })
  expect(slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
  const { data } = await client.affiliates.list({ q: name, limit: 100 })
  expect(data.filter((one) => one.id === id).map((one) => one.name)).toEqual([name])
  const [firstName = '', ...rest] = name.split(' ')
  const halves = { firstName, lastName: rest.join(' ') || null, homeCity: name, homeAddress: name }
  expect(await client.affiliates.update(id, halves)).toMatchObject({ name, ...halves })
})

test.for(HOSTILE_NAMES)('201 for %j: pages and the CLI neutralize it', async ([name], { client }) => {
  expect((await client.affiliates.create({ email: email(), name })).name).toBe(name)
})
