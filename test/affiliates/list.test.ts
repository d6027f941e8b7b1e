import { describe, expect } from 'vitest'
import { rejectionOf } from '../support/rejection.ts'
import { type Client, test } from '../support/test.ts'

const ids: string[] = []
let program = ''

const people = [
  { name: 'Ärzte Özdemir', email: 'one@example.com' },
  { name: 'Straße Groß', email: 'two@example.com' },
  { name: 'İlker Işık', email: 'three@example.com' },
  { name: 'Per%cent', email: 'four@example.com' },
  { name: 'Under_score', email: 'five@example.com' },
  { name: 'Back\\slash', email: 'six@example.com' },
  { name: 'Nick', firstName: 'Ada', lastName: 'Lovelace', email: 'Seven.Lucky@Example.com' },
  { name: 'ΟΔΥΣΣΕΥΣ Παπάς', email: 'eight@example.com' },
]

test.beforeAll(async ({ client }) => {
  for (const one of people) ids.push((await client.affiliates.create(one)).id)
  program = (await client.programs.create({ name: 'P' })).id
  await client.affiliates.update(ids[0]!, { campaignId: program, status: 'APPROVED' })
  await client.affiliates.update(ids[1]!, { campaignId: program })
  await client.affiliates.update(ids[2]!, { status: 'APPROVED' })
})

const found = async (client: Client, query: Parameters<Client['affiliates']['list']>[0]) =>
  (await client.affiliates.list(query)).data.map((one) => ids.indexOf(one.id))

test('200 newest first, the first page of 20 without parameters', async ({ client }) => {
  const { data, pagination } = await client.affiliates.list()
  expect(data.map((one) => one.id)).toEqual([...ids].reverse())
  expect(pagination).toEqual({ page: 1, limit: 20, total: 8, totalPages: 1 })
})

describe('q', () => {
  test.for([
    ['ärzte', [0]],
    ['ÄRZTE ÖZ', [0]],
    ['A\u0308rzte', [0]],
    ['GROẞ', [1]],
    ['gross', [1]],
    ['STRASSE', [1]],
    ['İLKER', [2]],
    ['ilker', [2]],
    ['IŞIK', [2]],
    ['ışık', [2]],
    ['%', [3]],
    ['r%c', [3]],
    ['_', [4]],
    ['r_s', [4]],
    ['\\', [5]],
    ['k\\s', [5]],
    ['\\%', []],
    ['ada', [6]],
    ['LOVELACE', [6]],
    ['nick', [6]],
    ['seven.lucky@', [6]],
    ['οδυσσευς', [7]],
    ['ΣΣΕΥΣ', [7]],
    ['σσευσ', [7]],
    ['example.COM', [7, 6, 5, 4, 3, 2, 1, 0]],
    ['nobody', []],
    ['', [7, 6, 5, 4, 3, 2, 1, 0]],
  ])('a search for %j finds the affiliates %j', async ([q, expected], { client }) => {
    expect(await found(client, { q })).toEqual(expected)
  })

  test('does not match across fields', async ({ client }) => {
    expect(await found(client, { q: 'Ada Lovelace' })).toEqual([])
    expect(await found(client, { q: 'ada\nlovelace' })).toEqual([])
  })

  test('finds an affiliate by its new values, and no longer by the old ones', async ({ client }) => {
    const { id } = await client.affiliates.create({ name: 'Before', email: 'before@example.com' })
    await client.affiliates.update(id, { name: 'After', email: 'after@example.com', lastName: 'Surname' })
    expect((await client.affiliates.list({ q: 'before' })).data).toEqual([])
    for (const q of ['AFTER', 'after@', 'surname'])
      expect((await client.affiliates.list({ q })).data, q).toHaveLength(1)
    await client.affiliates.archive(id)
  })
})

test('status and campaignId filter, alone and together', async ({ client }) => {
  expect(await found(client, { status: 'APPROVED' })).toEqual([2, 0])
  expect(await found(client, { campaignId: program })).toEqual([1, 0])
  expect(await found(client, { campaignId: program, status: 'APPROVED' })).toEqual([0])
  expect(await found(client, { campaignId: program, q: 'gross', status: 'PENDING' })).toEqual([1])
  expect(await found(client, { status: 'REJECTED' })).toEqual([])
  expect(await found(client, { campaignId: 'prg_none' })).toEqual([])
})

describe('pages', () => {
  test('contain every row once, even when all were created in the same millisecond', async ({ client }) => {
    const pages = await Promise.all([1, 2, 3].map((page) => client.affiliates.list({ page, limit: 3 })))
    expect(pages.flatMap(({ data }) => data.map((one) => one.id))).toEqual([...ids].reverse())
    expect(pages[2]?.pagination).toEqual({ page: 3, limit: 3, total: 8, totalPages: 3 })
  })

  test('beyond the end are empty and contain the totals', async ({ client }) => {
    for (const page of [4, 2147483647]) {
      const { data, pagination } = await client.affiliates.list({ page, limit: 3 })
      expect([data, pagination]).toEqual([[], { page, limit: 3, total: 8, totalPages: 3 }])
    }
  })

  test('are 0 for an empty list', async ({ client }) => {
    const { data, pagination } = await client.affiliates.list({ q: 'nobody' })
    expect([data, pagination]).toEqual([[], { page: 1, limit: 20, total: 0, totalPages: 0 }])
  })

  test.for([
    ['page=0', 'page'],
    ['page=1.5', 'page'],
    ['page=', 'page'],
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['status=approved', 'status'],
    [`q=${'x'.repeat(201)}`, 'q'],
    ['q=%00', 'q'],
  ])('400 for the query %s names the field %s', async ([query, field], { server }) => {
    const reply = await server.request('GET', `/api/v1/affiliates?${query}`)
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_parameter', field: field })
  })

  test('unknown parameters are ignored', async ({ server }) => {
    const reply = await server.request('GET', '/api/v1/affiliates?sort=name&limit=1')
    expect([reply.status, reply.body.data.length]).toEqual([200, 1])
  })
})
