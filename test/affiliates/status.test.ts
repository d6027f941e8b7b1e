import { expect } from 'vitest'
import { statusEvents } from '../../server/src/domains/affiliates/affiliates.ts'
import { document } from '../support/document.ts'
import { auditLog, countOf, outbox, subscribe } from '../support/inspect.ts'
import { expectOk } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

const STATUSES = ['PENDING', 'ACTIVE', 'APPROVED', 'REJECTED'] as const
type Status = (typeof STATUSES)[number]

let events: ReturnType<typeof outbox>
test.beforeAll(async ({ server }) => {
  subscribe(server)
  events = outbox(server)
})

let people = 0
const create = (client: Client, campaignId?: string) =>
  client.affiliates.create({
    name: 'Nisa',
    email: `person-${++people}@example.com`,
    ...(campaignId ? { campaignId } : {}),
  })

const isIn = (status: Status) => status === 'APPROVED' || status === 'ACTIVE'

/** The documented transitions. */
function announced(from: Status, to: Status): string[] {
  if (from === to) return []
  if (isIn(to) && !isIn(from)) return ['affiliate.approved', 'affiliate.status_changed']
  return to === 'REJECTED' ? ['affiliate.rejected', 'affiliate.status_changed'] : ['affiliate.status_changed']
}

test.for(STATUSES.flatMap((from) => STATUSES.map((to) => [from, to] as const)))(
  '200 from %s to %s, with its events',
  async ([from, to], { server, client }) => {
    const { id } = await create(client)
    await client.affiliates.update(id, { status: from })
    events()
    const audits = auditLog(server)
    const affiliate = await client.affiliates.update(id, { status: to })
    expect(affiliate.status).toBe(to)
    const sent = events()
    expect(sent.map((one) => one.event)).toEqual(announced(from, to))
    for (const { data, shop_id, timestamp } of sent) {
      expect(data).toEqual({ ...affiliate, previousStatus: from })
      expect([shop_id, timestamp]).toEqual([server.shop.shopId, affiliate.updatedAt])
    }
    expect(audits().map((one) => [one.action, one.data])).toEqual(
      from === to ? [] : [['affiliate.updated', { fields: ['status'], previousStatus: from, status: to }]],
    )
  },
)

test('the event contains the affiliate after the whole change', async ({ client }) => {
  const { id } = await create(client)
  const after = await client.affiliates.update(id, { status: 'APPROVED', name: 'Renamed', phone: '1' })
  expect(events()[0]?.data).toEqual({ ...after, previousStatus: 'PENDING' })
})

test('creating and archiving send nothing', async ({ client }) => {
  const { id } = await create(client)
  await client.affiliates.update(id, { status: 'ACTIVE' })
  events()
  await client.affiliates.archive(id)
  await create(client)
  expect(events()).toEqual([])
})

test('a rejected change sends nothing', async ({ client }) => {
  const { id } = await create(client)
  const reply = client.affiliates.update(id, { status: 'APPROVED', campaignId: 'prg_none' })
  expect(await reply.safe()).toHaveProperty('error')
  expect(events()).toEqual([])
})

test('201 already approved in a program that auto-approves, with both events', async ({ server, client }) => {
  const program = await client.programs.create({ name: 'Auto', autoApproveAffiliate: true })
  const audits = auditLog(server)
  const affiliate = await create(client, program.id)
  expect([affiliate.status, affiliate.campaignId]).toEqual(['APPROVED', program.id])
  const sent = events()
  expect(sent.map((one) => one.event)).toEqual(['affiliate.approved', 'affiliate.status_changed'])
  for (const { data } of sent) expect(data).toEqual({ ...affiliate, previousStatus: 'PENDING' })
  expect(audits().map((one) => [one.action, one.subjectId])).toEqual([
    ['affiliate.created', affiliate.id],
    ['affiliate.approved', affiliate.id],
  ])
})

test('201 auto-approved when it joins the default program', async ({ server }) => {
  const { key } = await server.createShop()
  const other = server.clientOf(key)
  await other.programs.create({ name: 'Auto', autoApproveAffiliate: true })
  expect((await other.affiliates.create({ email: 'a@example.com', name: 'A' })).status).toBe('APPROVED')
})

test('each event is sent to the matching subscriptions, in order', async ({ server }) => {
  const { shopId, key, ownerToken } = await server.createShop()
  const other = server.clientOf(key)
  const { id } = await other.affiliates.create({ email: 'a@example.com', name: 'A' })
  await other.affiliates.update(id, { status: 'ACTIVE' })
  expect(countOf(server, 'deliveries', { shopId }), 'nobody was subscribed').toBe(0)

  const all = subscribe(server, [], shopId)
  const rejections = subscribe(server, ['affiliate.rejected', 'commission.created'], shopId)
  const nothing = subscribe(server, ['affiliate.created', 'made.up'], shopId)
  await other.affiliates.update(id, { status: 'REJECTED' })
  const sent: { subscriptionId: string; event: string; status: string }[] = await expectOk(
    server.owner('GET', '/deliveries', undefined, { key: ownerToken }),
  )
  const rows = sent.map(({ subscriptionId, event, status }) => ({ subscriptionId, event, status })).reverse()
  expect(rows).toHaveLength(3)
  expect(rows).toEqual(
    expect.arrayContaining([
      { subscriptionId: all, event: 'affiliate.rejected', status: 'PENDING' },
      { subscriptionId: rejections, event: 'affiliate.rejected', status: 'PENDING' },
      { subscriptionId: all, event: 'affiliate.status_changed', status: 'PENDING' },
    ]),
  )
  expect(rows.at(-1)).toMatchObject({ event: 'affiliate.status_changed' })
  expect(rows).not.toContainEqual(expect.objectContaining({ subscriptionId: nothing }))
})

test('an event has the documented fields only, whatever an affiliate has', async ({ client }) => {
  const affiliate = await create(client)
  const [event] = statusEvents(
    { ...affiliate, status: 'ACTIVE', note: 'internal' } as Parameters<typeof statusEvents>[0],
    'PENDING',
  )
  const documented = Object.keys(document.components.schemas.AffiliateSelf.properties)
  expect(Object.keys(event!.data as object).sort()).toEqual([...documented, 'previousStatus'].sort())
})
