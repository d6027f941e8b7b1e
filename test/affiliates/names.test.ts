import { afterAll, beforeAll, expect, test } from 'vitest'
import { HOSTILE_NAMES, REAL_NAMES } from '../support/names.ts'
import { type TestServer, testServer } from '../support/server.ts'

let server: TestServer
let client: TestServer['client']
beforeAll(async () => {
  server = await testServer()
  client = server.client
})
afterAll(() => server.close())

let counter = 0
const email = () => `n${++counter}@example.com`

test.each(REAL_NAMES)('201 for %s, returned as sent and found', async (name) => {
  const { id, slug } = await client.affiliates.create({ email: email(), name })
  expect(slug).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/)
  const { data } = await client.affiliates.list({ q: name, limit: 100 })
  expect(data.filter((one) => one.id === id).map((one) => one.name)).toEqual([name])
  const [firstName = '', ...rest] = name.split(' ')
  const halves = { firstName, lastName: rest.join(' ') || null, homeCity: name, homeAddress: name }
  expect(await client.affiliates.update(id, halves)).toMatchObject({ name, ...halves })
})

test.each(HOSTILE_NAMES)('201 for %j: pages and command line make it harmless', async (name) => {
  expect((await client.affiliates.create({ email: email(), name })).name).toBe(name)
})

test.each(['Ann\u0000', '\ud800', '', '   '])('400 for %j', async (name) => {
  const raw = JSON.stringify({ email: email(), name })
  expect((await server.request('POST', '/api/v1/affiliates', { raw })).status).toBe(400)
})
