import { describe, expect } from 'vitest'
import { auditLog, outbox, subscribe } from '../support/inspect.ts'
import { rejection, rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { type Client, test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  subscribe(server)
})

let people = 0
const create = (
  client: Client,
  given: { name?: string; firstName?: string; lastName?: string } = { name: 'Nisa Karim' },
) =>
  client.affiliates.create({ name: undefined, ...given, email: `person-${++people}@example.com` } as {
    name: string
    email: string
  })
const patch = (server: TestServer, id: string, body: object) =>
  server.request('PATCH', `/api/v1/affiliates?id=${id}`, { body })

test('200 with the sent fields changed and all others unchanged', async ({ server, client }) => {
  const before = await create(client)
  server.clock.advance(5000)
  const sent = {
    phone: '+49 30 1234',
    website: 'https://nisa.example',
    instagramHandle: 'nisa.i',
    tiktokHandle: 'nisa.t',
    youtubeHandle: 'nisa.y',
    homeCountry: 'DE',
    homeState: 'BE',
    homeCity: 'Berlin',
    homePostalCode: '10115',
    homeAddress: 'Straße 1',
  }
  const after = await client.affiliates.update(before.id, sent)
  expect(after).toEqual({ ...before, ...sent, updatedAt: new Date(server.clock.ms).toISOString() })
  const { data } = await client.affiliates.list({ q: before.email })
  expect(data).toEqual([after])
  const cleared = Object.fromEntries(Object.keys(sent).map((name) => [name, null]))
  expect(await client.affiliates.update(before.id, cleared)).toEqual({ ...before, updatedAt: after.updatedAt })
})

describe('names', () => {
  test('a derived name follows the first and last name', async ({ client }) => {
    const { id, slug } = await create(client, { firstName: 'Ada', lastName: 'Byron' })
    const steps = [
      [{ lastName: 'Lovelace' }, 'Ada Lovelace'],
      [{ firstName: 'Augusta Ada' }, 'Augusta Ada Lovelace'],
      [{ lastName: null }, 'Augusta Ada'],
      [{ lastName: 'King' }, 'Augusta Ada King'],
      [{ firstName: null }, 'King'],
      [{ firstName: 'Grace', lastName: 'Hopper' }, 'Grace Hopper'],
    ] as const
    for (const [body, name] of steps) {
      const after = await client.affiliates.update(id, body)
      expect([after.name, after.slug], JSON.stringify(body)).toEqual([name, slug])
    }
  })

  test('an explicit name is kept', async ({ client }) => {
    const { id } = await create(client, { name: 'Countess', firstName: 'Ada', lastName: 'Byron' })
    expect((await client.affiliates.update(id, { lastName: 'Lovelace' })).name).toBe('Countess')
    const other = await create(client, { firstName: 'Ada', lastName: 'Byron' })
    expect((await client.affiliates.update(other.id, { name: 'Lady A', firstName: 'Augusta' })).name).toBe('Lady A')
    expect((await client.affiliates.update(other.id, { firstName: 'Ada' })).name).toBe('Lady A')
  })

  test('a name is kept when the parts it was derived from are removed', async ({ client }) => {
    const { id } = await create(client, { firstName: 'Ada', lastName: 'Byron' })
    const { name, firstName, lastName } = await client.affiliates.update(id, { firstName: null, lastName: null })
    expect([name, firstName, lastName]).toEqual(['Ada Byron', null, null])
  })

  test('a name is trimmed, as on create', async ({ client }) => {
    const { id } = await create(client)
    expect((await client.affiliates.update(id, { name: '  New Name ' })).name).toBe('New Name')
  })

  test('the slug and the code never change', async ({ client }) => {
    const { id, slug, discountCode } = await create(client, { name: 'First Name' })
    const after = await client.affiliates.update(id, { name: 'Other Name', status: 'ACTIVE' })
    expect([after.slug, after.discountCode]).toEqual([slug, discountCode])
  })
})

test.for([
  [{ email: null }, 'email'],
  [{ email: 'nobody' }, 'email'],
  [{ name: null }, 'name'],
  [{ name: '' }, 'name'],
  [{ name: ' \n ' }, 'name'],
  [{ status: null }, 'status'],
  [{ status: 'approved' }, 'status'],
  [{ phone: 7 }, 'phone'],
  [{ firstName: '' }, 'firstName'],
])('400 for the body %j names the field %s', async ([body, field], { server, client }) => {
  const before = await create(client)
  const reply = await patch(server, before.id, body)
  expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: field })
  expect((await client.affiliates.list({ q: before.email })).data).toEqual([before])
})

test('400 for a list as body', async ({ server, client }) => {
  const { id } = await create(client)
  expect(rejectionOf(await patch(server, id, []))).toEqual({ status: 400, code: 'invalid_body' })
})

test.for(['id', 'slug', 'discountCode', 'createdAt', 'deletedAt', 'affiliateCount'])(
  '400 when %s is sent',
  async (name, { server, client }) => {
    const { id } = await create(client)
    const reply = await patch(server, id, { phone: '1', [name]: 'x' })
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'unknown_property', field: name })
  },
)

test('200 and nothing written for an empty body or unchanged values', async ({ server, client }) => {
  const affiliate = await create(client)
  const [audits, events] = [auditLog(server), outbox(server)]
  server.clock.advance(1000)
  for (const body of [{}, { status: 'PENDING' }, { name: affiliate.name, email: affiliate.email, phone: null }]) {
    const reply = await patch(server, affiliate.id, body)
    expect([reply.status, reply.body.data]).toEqual([200, affiliate])
  }
  expect([audits(), events()]).toEqual([[], []])
})

describe('email', () => {
  test('409 for an address that another affiliate uses', async ({ client }) => {
    const [first, second] = [await create(client), await create(client)]
    expect(await rejection(client.affiliates.update(second.id, { email: first.email.toUpperCase() }))).toEqual([
      409,
      'email_taken',
    ])
  })

  test('200 for the same address in another letter case, trimmed', async ({ server, client }) => {
    const { id, email } = await create(client)
    const { data } = (await patch(server, id, { email: ` ${email.toUpperCase()} ` })).body
    expect(data.email).toBe(email.toUpperCase())
    const taken = client.affiliates.create({ email, name: 'X' })
    expect(await rejection(taken)).toEqual([409, 'email_taken'])
  })

  test('an address no longer in use is available', async ({ client }) => {
    const { id, email } = await create(client)
    await client.affiliates.update(id, { email: `new-${email}` })
    expect((await client.affiliates.create({ email, name: 'Heir' })).email).toBe(email)
  })
})

describe('campaignId', () => {
  test('200 joins a program of the shop, and null leaves it', async ({ client }) => {
    const affiliate = await create(client)
    const program = await client.programs.create({ name: 'Other' })
    expect((await client.affiliates.update(affiliate.id, { campaignId: program.id })).campaignId).toBe(program.id)
    expect((await client.affiliates.update(affiliate.id, { campaignId: null })).campaignId).toBeNull()
  })

  test('404 for a program that does not exist or belongs to another shop', async ({ server, client }) => {
    const { id } = await create(client)
    const other = await server.createShop()
    const foreign = await server.clientOf(other.key).programs.create({ name: 'Foreign' })
    for (const campaignId of ['prg_none', foreign.id]) {
      const update = client.affiliates.update(id, { campaignId, phone: '1' })
      expect(await rejection(update)).toEqual([404, 'program_not_found'])
      const created = client.affiliates.create({ email: 'lost@example.com', name: 'Lost', campaignId })
      expect(await rejection(created)).toEqual([404, 'program_not_found'])
    }
    expect((await client.affiliates.list({ q: 'lost@' })).data).toEqual([])
  })

  test('joining a program that auto-approves does not approve existing affiliates', async ({ client }) => {
    const affiliate = await create(client)
    const program = await client.programs.create({ name: 'Auto', autoApproveAffiliate: true })
    expect((await client.affiliates.update(affiliate.id, { campaignId: program.id })).status).toBe('PENDING')
  })
})

test('404 for an id that does not exist or belongs to another shop', async ({ server, client }) => {
  const other = await server.createShop()
  const foreign = await server.clientOf(other.key).affiliates.create({ email: 'f@example.com', name: 'F' })
  for (const id of ['aff_none', foreign.id])
    expect(await rejection(client.affiliates.update(id, { phone: '1' }))).toEqual([404, 'affiliate_not_found'])
})

test('the audit record contains the names of the changed fields, not their values', async ({ server, client }) => {
  const { id } = await create(client)
  const audits = auditLog(server)
  await client.affiliates.update(id, {
    email: 'canary@example.com',
    name: 'Canary',
    phone: '+49canary',
    status: 'ACTIVE',
  })
  const written = audits()
  for (const { data } of written) (data.fields as string[]).sort()
  expect(written).toEqual([
    {
      action: 'affiliate.updated',
      subjectId: id,
      actor: `key:${server.shop.keyId}`,
      shopId: server.shop.shopId,
      data: { fields: ['email', 'name', 'phone', 'status'], previousStatus: 'PENDING', status: 'ACTIVE' },
    },
  ])
  expect(JSON.stringify(written).toLowerCase()).not.toContain('canary')
})

test('400 for a blank name before 404 for an unknown id', async ({ client }) => {
  expect(await rejection(client.affiliates.update('aff_none', { name: ' ' }))).toEqual([400, 'invalid_body'])
})
