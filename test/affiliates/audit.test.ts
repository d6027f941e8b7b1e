import { expect } from 'vitest'
import { auditLog, outbox, subscribe } from '../support/inspect.ts'
import { expectOk } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  subscribe(server)
})

let people = 0
const create = (client: Client, name = 'Nisa Karim') =>
  client.affiliates.create({ email: `person-${++people}@example.com`, name })

test('an audit record has the action and the names of the changed fields, and no personal data', async ({
  server,
  client,
}) => {
  const audits = auditLog(server)
  const { id } = await create(client, 'Canary Bird')
  const change = { email: 'canary@example.com', name: 'Canary', phone: '+49canary', status: 'ACTIVE' } as const
  await client.affiliates.update(id, change)
  const written = audits()
  for (const { data } of written.slice(1)) (data.fields as string[]).sort()
  const shared = { subjectId: id, actor: `key:${server.shop.keyId}`, shopId: server.shop.shopId }
  expect(written).toMatchObject([
    { ...shared, action: 'affiliate.created' },
    {
      ...shared,
      action: 'affiliate.updated',
      data: { fields: ['email', 'name', 'phone', 'status'], previousStatus: 'PENDING', status: 'ACTIVE' },
    },
  ])
  expect(JSON.stringify(written).toLowerCase()).not.toMatch(/canary|bird/)
})

test('a change that changes nothing is not recorded, and sends nothing', async ({ server, client }) => {
  const { id, name, email } = await create(client)
  const [audits, events] = [auditLog(server), outbox(server)]
  server.clock.advance(1000)
  for (const body of [{}, { status: 'PENDING' }, { name, email, phone: null }] as const)
    await client.affiliates.update(id, body)
  expect([audits(), events()]).toEqual([[], []])
})

test('archiving and unarchiving are recorded once, also when several requests do it', async ({
  server,
  client,
  owner,
}) => {
  const { id } = await create(client)
  const audits = auditLog(server)
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => server.request('DELETE', `/api/v1/affiliates?id=${id}`)),
  )
  expect(replies.map((reply) => reply.status).sort()).toEqual([200, ...Array(7).fill(409)])
  for (let n = 0; n < 2; n++) await expectOk(owner('POST', `/affiliates/${id}/unarchive`))
  expect(audits().map(({ action, subjectId }) => [action, subjectId])).toEqual([
    ['affiliate.archived', id],
    ['affiliate.unarchived', id],
  ])
})
