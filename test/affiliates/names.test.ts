import { expect } from 'vitest'
import { countOf } from '../support/inspect.ts'
import { HOSTILE_NAMES, REAL_NAMES } from '../support/names.ts'
import { rejectionOf } from '../support/rejection.ts'
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

test.for(['Ann\u0000', '\ud800', '', '   '])('400 for the name %j', async (name, { server }) => {
  const before = countOf(server, 'affiliates') + countOf(server, 'audits')
  const reply = await server.request('POST', '/api/v1/affiliates', { body: { email: email(), name } })
  expect(rejectionOf(reply)).toMatchObject({ status: 400, code: 'invalid_body' })
  expect(countOf(server, 'affiliates') + countOf(server, 'audits')).toBe(before)
})
