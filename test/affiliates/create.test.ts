import { expect } from 'vitest'
import { auditLog, countOf } from '../support/inspect.ts'
import { rejection, rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { test } from '../support/test.ts'

let people = 0
const email = () => `person-${++people}@example.com`
const post = (server: TestServer, body: object) => server.request('POST', '/api/v1/affiliates', { body })

test('201 with every field, pending and without a program in a shop that has none', async ({ server, client }) => {
  const { data, response } = await client.affiliates
    .create({ email: 'Nisa@Example.com', name: 'Nisa Karim' })
    .withResponse()
  expect(response.status).toBe(201)
  const now = new Date(server.clock.ms).toISOString()
  expect(data).toEqual({
    id: expect.stringMatching(/^aff_[0-9A-Z]{26}$/),
    name: 'Nisa Karim',
    firstName: null,
    lastName: null,
    email: 'Nisa@Example.com',
    phone: null,
    website: null,
    status: 'PENDING',
    campaignId: null,
    slug: 'nisa-karim',
    discountCode: expect.stringMatching(/^[A-NP-Z1-9]{8}$/),
    instagramHandle: null,
    tiktokHandle: null,
    youtubeHandle: null,
    homeCountry: null,
    homeState: null,
    homeCity: null,
    homePostalCode: null,
    homeAddress: null,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  })
})

test('201 with a name derived from first and last name, or from the first alone', async ({ client }) => {
  const both = await client.affiliates.create({ email: email(), firstName: 'Ada', lastName: 'Lovelace' })
  expect([both.name, both.firstName, both.lastName, both.slug]).toEqual([
    'Ada Lovelace',
    'Ada',
    'Lovelace',
    'ada-lovelace',
  ])
  const first = await client.affiliates.create({ email: email(), firstName: 'Cher' })
  expect([first.name, first.firstName, first.lastName]).toEqual(['Cher', 'Cher', null])
})

test('201 with the sent name when a first and last name are sent too', async ({ client }) => {
  const affiliate = await client.affiliates.create({
    email: email(),
    name: 'Countess',
    firstName: 'Ada',
    lastName: 'L',
  })
  expect([affiliate.name, affiliate.firstName, affiliate.lastName]).toEqual(['Countess', 'Ada', 'L'])
})

test('201 with null for fields that are not sent', async ({ server }) => {
  const reply = await post(server, { email: email(), name: 'Null', firstName: null, lastName: null, campaignId: null })
  expect([reply.status, reply.body.data.firstName, reply.body.data.lastName]).toEqual([201, null, null])
})

test.for([
  [{ name: 'N' }, 'email'],
  [{ email: null, name: 'N' }, 'email'],
  [{ email: 'nobody', name: 'N' }, 'email'],
  [{ email: 'a@b', name: 'N' }, 'email'],
  [{ email: 'a b@example.com', name: 'N' }, 'email'],
  [{ email: `${'a'.repeat(250)}@example.com`, name: 'N' }, 'email'],
  [{ email: 'x1@example.com' }, 'name'],
  [{ email: 'x1@example.com', lastName: 'L' }, 'name'],
  [{ email: 'x1@example.com', name: '   ' }, 'name'],
  [{ email: 'x1@example.com', name: ' ', firstName: '\t' }, 'name'],
  [{ email: 'x1@example.com', name: 7 }, 'name'],
])('400 for the body %j names the field %s', async ([body, field], { server }) => {
  const before = countOf(server, 'affiliates') + countOf(server, 'audits')
  const reply = await post(server, body)
  expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: field })
  expect(countOf(server, 'affiliates') + countOf(server, 'audits')).toBe(before)
})

test.for(['id', 'status', 'slug', 'discountCode', 'shopId', 'deletedAt', 'phone'])(
  '400 when %s is sent',
  async (name, { server }) => {
    const reply = await post(server, { email: email(), name: 'N', [name]: 'x' })
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'unknown_property', field: name })
  },
)

test('the email address is trimmed, and returned as sent', async ({ server }) => {
  const { data } = (await post(server, { email: '  Grace.Hopper@Example.COM ', name: 'Grace' })).body
  expect(data.email).toBe('Grace.Hopper@Example.COM')
})

test('409 for an email address in use, in any letter case', async ({ client }) => {
  await client.affiliates.create({ email: 'Ünal@Example.com', name: 'Ü' })
  for (const taken of ['Ünal@Example.com', 'ünal@example.com', ' ÜNAL@EXAMPLE.COM ', 'U\u0308nal@example.com'])
    expect(await rejection(client.affiliates.create({ email: taken, name: 'X' })), taken).toEqual([409, 'email_taken'])
})

test('201 for the email address of an archived affiliate, with another slug and code', async ({ client }) => {
  const given = { email: 'again@example.com', name: 'Again' }
  const first = await client.affiliates.create(given)
  await client.affiliates.archive(first.id)
  const second = await client.affiliates.create({ ...given, email: 'AGAIN@example.com' })
  expect([second.slug, second.id === first.id]).toEqual(['again-2', false])
  expect(second.discountCode).not.toBe(first.discountCode)
  expect(await rejection(client.affiliates.create(given))).toEqual([409, 'email_taken'])
})

test('201 for an email address that another shop uses', async ({ server, client }) => {
  const other = await server.createShop()
  await client.affiliates.create({ email: 'both@example.com', name: 'Both' })
  const { slug } = await server.clientOf(other.key).affiliates.create({ email: 'both@example.com', name: 'Both' })
  expect(slug).toBe('both')
})

test('equal names get numbered slugs, and a name without ASCII letters gets a generic one', async ({ client }) => {
  const slugs: string[] = []
  for (const name of ['Zoë Ångström', 'Zoe Angstrom', 'ZOE  ANGSTROM!', '李小龙', 'Иван'])
    slugs.push((await client.affiliates.create({ email: email(), name })).slug)
  expect(slugs).toEqual(['zoe-angstrom', 'zoe-angstrom-2', 'zoe-angstrom-3', 'affiliate', 'affiliate-2'])
})

test('equal names created in parallel get different slugs', async ({ client }) => {
  const all = await Promise.all(
    Array.from({ length: 30 }, () => client.affiliates.create({ email: email(), name: 'Twin' })),
  )
  expect(new Set(all.map((one) => one.slug)).size).toBe(30)
  expect(all.every((one) => /^twin(-[0-9a-f]+)?$/.test(one.slug))).toBe(true)
})

test('generated codes are random, use the documented alphabet, and are unique', async ({ client }) => {
  const all = await Promise.all(
    Array.from({ length: 60 }, () => client.affiliates.create({ email: email(), name: 'Coded' })),
  )
  const codes = all.map((one) => one.discountCode)
  expect(new Set(codes).size).toBe(60)
  for (const code of codes) expect(code).toMatch(/^[A-NP-Z1-9]{8}$/)
  expect(new Set(codes.join('')).size).toBeGreaterThan(30)
})

test('the audit record contains the action and no personal data', async ({ server, client }) => {
  const audits = auditLog(server)
  const { id } = await client.affiliates.create({ email: 'canary@example.com', firstName: 'Canary', lastName: 'Bird' })
  const [audit, ...more] = audits()
  expect(more).toEqual([])
  expect(audit).toMatchObject({
    action: 'affiliate.created',
    subjectId: id,
    actor: `key:${server.shop.keyId}`,
    shopId: server.shop.shopId,
  })
  expect(JSON.stringify(audit).toLowerCase()).not.toMatch(/canary|bird/)
})
