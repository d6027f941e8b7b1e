import { describe, expect } from 'vitest'
import { auditLog } from '../support/inspect.ts'
import { rejection, rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { type Client, test } from '../support/test.ts'

let people = 0
const create = (client: Client, campaignId?: string) =>
  client.affiliates.create({
    email: `person-${++people}@example.com`,
    name: 'Nisa Karim',
    ...(campaignId ? { campaignId } : {}),
  })
const assign = (server: TestServer, affiliateId: string, code?: unknown) =>
  server.request('POST', '/api/v1/coupons', { body: { affiliateId, ...(code === undefined ? {} : { code }) } })

test('200 with the sent code and the discount of the program', async ({ server, client }) => {
  const program = await client.programs.create({ name: 'P' })
  await client.programs.update(program.id, { discountEnabled: true, discountType: 'FIXED', discountValue: 7.5 })
  const affiliate = await create(client, program.id)
  server.clock.advance(1000)
  const { data, response } = await client.coupons.assign({ affiliateId: affiliate.id, code: 'NISA16' }).withResponse()
  expect([response.status, data]).toEqual([
    200,
    {
      affiliateId: affiliate.id,
      affiliateName: 'Nisa Karim',
      affiliateStatus: 'PENDING',
      code: 'NISA16',
      programId: program.id,
      discountEnabled: true,
      discountType: 'FIXED',
      discountValue: 7.5,
      warnings: [],
      createdAt: affiliate.createdAt,
      updatedAt: new Date(server.clock.ms).toISOString(),
    },
  ])
  expect((await client.affiliates.list({ limit: 1 })).data[0]?.discountCode).toBe('NISA16')
})

test('200 without a discount for an affiliate without a program', async ({ client }) => {
  const { id } = await create(client)
  await client.affiliates.update(id, { campaignId: null })
  const { programId, discountEnabled, discountType, discountValue } = await client.coupons.assign({ affiliateId: id })
  expect([programId, discountEnabled, discountType, discountValue]).toEqual([null, false, null, null])
})

test('200 with a random code when none is sent, another one each time', async ({ server, client }) => {
  const { id, discountCode } = await create(client)
  const codes = new Set([discountCode])
  for (const code of [undefined, null, undefined]) {
    const { status, body } = await assign(server, id, code)
    expect([status, body.data.code]).toEqual([200, expect.stringMatching(/^[A-NP-Z1-9]{8}$/)])
    codes.add(body.data.code)
  }
  expect(codes.size).toBe(4)
})

test.for(['A', '123456789', 'nisa-16', 'ÄÖÜ', '🎩🎩🎩🎩🎩🎩🎩🎩🎩', '%_\\', '٠', 'Ø'])(
  '200 for the code %j',
  async (code, { client }) => {
    const { id } = await create(client)
    expect((await client.coupons.assign({ affiliateId: id, code })).code).toBe(code)
  },
)

test.for([
  '',
  ' ',
  '1234567890',
  '🎩🎩🎩🎩🎩🎩🎩🎩🎩🎩',
  'A0',
  'HELLO',
  'hello',
  'A B',
  ' AB',
  'AB ',
  'A\tB',
  'A\u00a0B',
  'A\u2028',
  'A\u2800',
  '\u0007',
])('400 for the code %j', async (code, { server, client }) => {
  const affiliate = await create(client)
  const reply = await assign(server, affiliate.id, code)
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'discount_code_invalid'])
  expect((await client.affiliates.list({ limit: 1 })).data).toEqual([affiliate])
})

test.for([
  [{ code: 'A' }, 'affiliateId'],
  [{ affiliateId: null, code: 'A' }, 'affiliateId'],
  [{ affiliateId: 'aff_x', code: 16 }, 'code'],
])('400 for the body %j names the field %s', async ([body, field], { server }) => {
  const reply = await server.request('POST', '/api/v1/coupons', { body })
  expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: field })
})

test('409 for a code that another affiliate of the shop has, in any letter case', async ({ client }) => {
  const [first, second] = [await create(client), await create(client)]
  for (const [given, asked] of [
    ['TAKEN', 'taken'],
    ['straße', 'STRASSE'],
    ['Ünal', 'U\u0308NAL'],
  ] as const) {
    await client.coupons.assign({ affiliateId: first.id, code: given })
    expect(await rejection(client.coupons.assign({ affiliateId: second.id, code: asked })), asked).toEqual([
      409,
      'discount_code_taken',
    ])
  }
})

test('a code no longer in use is available, and another shop may use the same code', async ({ server, client }) => {
  const [first, second] = [await create(client), await create(client)]
  await client.coupons.assign({ affiliateId: first.id, code: 'FREED' })
  await client.coupons.assign({ affiliateId: first.id })
  expect((await client.coupons.assign({ affiliateId: second.id, code: 'FREED' })).code).toBe('FREED')
  const { key } = await server.createShop()
  const other = server.clientOf(key)
  const { id } = await other.affiliates.create({ email: 'a@example.com', name: 'A' })
  expect((await other.coupons.assign({ affiliateId: id, code: 'FREED' })).code).toBe('FREED')
})

test('200 and nothing changed for the current code of the affiliate', async ({ server, client }) => {
  const { id } = await create(client)
  const first = await client.coupons.assign({ affiliateId: id, code: 'SAME' })
  server.clock.advance(1000)
  const audits = auditLog(server)
  expect(await client.coupons.assign({ affiliateId: id, code: 'SAME' })).toEqual(first)
  expect(audits()).toEqual([])
})

test('200 for its own code in another letter case, stored as sent', async ({ client }) => {
  const { id } = await create(client)
  await client.coupons.assign({ affiliateId: id, code: 'LETTERS' })
  expect((await client.coupons.assign({ affiliateId: id, code: 'Letters' })).code).toBe('Letters')
})

test('404 for an affiliate that does not exist or belongs to another shop', async ({ server, client }) => {
  const { key } = await server.createShop()
  const foreign = await server.clientOf(key).affiliates.create({ email: 'f@example.com', name: 'F' })
  for (const affiliateId of ['aff_none', foreign.id])
    expect(await rejection(client.coupons.assign({ affiliateId }))).toEqual([404, 'affiliate_not_found'])
  expect((await server.clientOf(key).affiliates.list()).data).toEqual([foreign])
})

test('409 when the code was changed by another request', async ({ server, client }) => {
  const { id } = await create(client)
  await client.coupons.assign({ affiliateId: id, code: 'STAYS' })
  const [changed, same] = await Promise.all([assign(server, id, 'NEWER'), assign(server, id, 'STAYS')])
  expect([changed.status, same.status]).toEqual([200, 409])
})

test('parallel requests for one code: one wins', async ({ server, client }) => {
  const affiliates = await Promise.all(Array.from({ length: 6 }, () => create(client)))
  const replies = await Promise.all(affiliates.map(({ id }) => assign(server, id, 'WINNER')))
  expect(replies.map((reply) => reply.status).sort()).toEqual([200, 409, 409, 409, 409, 409])
})

test('one audit record, with the codes and without personal data', async ({ server, client }) => {
  const { id, discountCode } = await create(client)
  const audits = auditLog(server)
  await client.coupons.assign({ affiliateId: id, code: 'AUDIT' })
  expect(audits()).toMatchObject([
    { action: 'coupon.assigned', subjectId: id, data: { code: 'AUDIT', previousCode: discountCode } },
  ])
})

describe('list', () => {
  let lister: TestServer['client']
  const ids: string[] = []
  test.beforeAll(async ({ server }) => {
    lister = server.clientOf((await server.createShop()).key)
    for (const code of ['ALPHA-1', 'Beta_%1', 'GAMMA\\1', 'Straße']) {
      const { id } = await lister.affiliates.create({ email: `${ids.length}@example.com`, name: code })
      await lister.coupons.assign({ affiliateId: id, code: code.replace('o', '') })
      ids.push(id)
    }
    await lister.affiliates.update(ids[1]!, { status: 'ACTIVE' })
  })
  const found = async (query: Parameters<typeof lister.coupons.list>[0]) =>
    (await lister.coupons.list(query)).data.map((one) => ids.indexOf(one.affiliateId))

  test('200 newest affiliate first, page by page', async () => {
    expect(await found({})).toEqual([3, 2, 1, 0])
    expect(await found({ page: 2, limit: 3 })).toEqual([0])
    const { data, pagination } = await lister.coupons.list({ page: 3, limit: 3 })
    expect([data, pagination]).toEqual([[], { page: 3, limit: 3, total: 4, totalPages: 2 }])
  })

  test.each([
    ['alpha', [0]],
    ['A-1', [0]],
    ['beta', [1]],
    ['%', [1]],
    ['_', [1]],
    ['_%', [1]],
    ['\\', [2]],
    ['STRASSE', [3]],
    ['1', [2, 1, 0]],
    ['zeta', []],
  ])('a search for the code %j finds the affiliates at %j', async (code, expected) => {
    expect(await found({ code })).toEqual(expected)
  })

  test('affiliateId and status filter, alone and together', async () => {
    expect(await found({ affiliateId: ids[2]! })).toEqual([2])
    expect(await found({ status: 'ACTIVE' })).toEqual([1])
    expect(await found({ status: 'PENDING', code: '1' })).toEqual([2, 0])
    expect(await found({ status: 'ACTIVE', affiliateId: ids[2]! })).toEqual([])
    expect(await found({ affiliateId: 'aff_none' })).toEqual([])
  })
})
