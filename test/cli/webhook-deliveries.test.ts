// SQLite only: these tests cover the client. Redelivery and the feed are tested with both databases.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { disable } from '../../server/src/domains/webhooks/webhooks.ts'
import { updateRows } from '../support/inspect.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { type Fixture, webhookFixture } from '../webhooks/fixture.ts'
import { cli, json, wrongWith } from './support.ts'

let fixture: Fixture
let http: Server
let env: Record<string, string>
beforeEach(async () => {
  fixture = await webhookFixture()
  fixture.clock.ms = Date.now()
  http = createServer(getRequestListener((request) => fixture.app.fetch(request))).listen(0, '127.0.0.1')
  await once(http, 'listening')
  const { port } = http.address() as { port: number }
  env = {
    REFERRAL_BASE_URL: `http://127.0.0.1:${port}`,
    REFERRAL_API_KEY: fixture.shop.key,
    REFERRAL_OWNER_TOKEN: fixture.shop.ownerToken,
  }
})
afterEach(async () => {
  http.closeAllConnections()
  http.close()
  await fixture.close()
})

interface Delivery {
  id: string
  event: string
  subscriptionId: string
  webhookId: string
  status: string
}
interface Redelivered {
  dryRun: boolean
  queued: number
  remaining: number
  deliveryId: string | null
}
const deliveries = (...args: string[]) => json<Delivery[]>(['webhooks', 'deliveries', ...args], { env })
const redeliver = (...args: string[]) => json<Redelivered>(['webhooks', 'redeliver', ...args], { env })
const finish = (status: 'SENT' | 'FAILED', id: string) => {
  const at = new Date(fixture.clock.ms).toISOString()
  updateRows(fixture, 'deliveries', { status, code: 'ok', finishedAt: at }, { subscriptionId: id, status: 'PENDING' })
}

test('deliveries are listed by subscription, event and status, with what is left out', async () => {
  const [one, other] = [fixture.plant('https://9.9.9.9/one'), fixture.plant('https://9.9.9.9/two')]
  for (let i = 0; i < 3; i++) await fixture.test()
  finish('FAILED', one)
  finish('SENT', other)
  expect((await deliveries()).length).toBe(6)
  expect((await deliveries('--webhook', one)).map(({ subscriptionId }) => subscriptionId)).toEqual([one, one, one])
  expect((await deliveries('--status', 'SENT')).map(({ status }) => status)).toEqual(['SENT', 'SENT', 'SENT'])
  expect(await deliveries('--event', 'commission.created')).toEqual([])
  const page = await cli(['webhooks', 'deliveries', '--limit', '2', '--page', '3', '--json'], { env })
  expect([page.code, JSON.parse(page.stdout).length, page.stderr]).toEqual([0, 2, 'showing 2 of 6\n'])
  const unknown = await cli(['webhooks', 'deliveries', '--status', 'LOST'], { env })
  expect([unknown.code, unknown.stdout]).toEqual([2, ''])
})

test('one delivery, or all of a subscription and period, are sent again once; a dry run counts them', async () => {
  const id = fixture.plant('https://9.9.9.9/one')
  const from = new Date(fixture.clock.ms).toISOString()
  for (let i = 0; i < 3; i++) await fixture.test()
  const pending = () => deliveries('--status', 'PENDING')
  const [first] = await pending()
  const early = await cli(['webhooks', 'redeliver', first!.id, '--json'], { env })
  expect([early.code, JSON.parse(early.stderr).code]).toEqual([5, 'delivery_not_finished'])
  finish('FAILED', id)
  const many = ['--webhook', id, '--from', from]
  expect(await redeliver(...many, '--dry-run')).toEqual({ dryRun: true, queued: 0, remaining: 3, deliveryId: null })
  expect(await pending()).toEqual([])
  const again = await redeliver(first!.id)
  expect(again).toMatchObject({ queued: 1, remaining: 0 })
  expect((await pending()).map(({ id, webhookId }) => [id, webhookId])).toEqual([[again.deliveryId, first!.webhookId]])
  // The one that was sent again is not the latest of its event.
  expect(await redeliver(...many)).toEqual({ dryRun: false, queued: 2, remaining: 0, deliveryId: null })
  expect(await redeliver(...many)).toEqual({ dryRun: false, queued: 0, remaining: 0, deliveryId: null })
  finish('SENT', id)
  expect(await redeliver(...many, '--status', 'SENT', '--dry-run')).toMatchObject({ remaining: 3 })
  expect(await redeliver(...many, '--event', 'commission.created', '--status', 'SENT')).toMatchObject({ queued: 0 })
  for (const args of [[], [first!.id, '--webhook', id], ['--webhook', id]]) {
    const { code, stdout } = await cli(['webhooks', 'redeliver', ...args], { env })
    expect([args, code, stdout]).toEqual([args, 2, ''])
  }
})

test('a disabled subscription is enabled, and redelivered what it missed', async () => {
  const id = fixture.plant('https://9.9.9.9/one', { retryPolicy: 'standard' })
  await fixture.test()
  finish('FAILED', id)
  const from = new Date(fixture.clock.ms - 1000).toISOString()
  await disable(fixture.deps, { shopId: fixture.shop.shopId, id, reason: 'gone' })
  const refused = await cli(['webhooks', 'redeliver', '--webhook', id, '--from', from, '--json'], { env })
  expect([refused.code, JSON.parse(refused.stderr).code]).toEqual([5, 'webhook_disabled'])
  const doctor = await cli(['doctor'], { env })
  expect(doctor.stdout).toContain(`Run referral webhooks enable ${id}`)
  const command = ['webhooks', 'enable', id]
  expect(await json(['webhooks', 'enable', id, '--dry-run'], { env })).toMatchObject({ body: { status: 'enabled' } })
  for (const _ of ['first', 'again']) {
    const enabled = await json<{ status: string }>(command, { env })
    expect([enabled.status, wrongWith('WebhookSubscription', enabled)]).toEqual(['enabled', []])
  }
  expect(await redeliver('--webhook', id, '--from', from)).toMatchObject({ queued: 1 })
  const unknown = await cli(['webhooks', 'enable', 'whs_unknown', '--json'], { env })
  expect([unknown.code, JSON.parse(unknown.stderr).code]).toEqual([3, 'webhook_not_found'])
})

test('events are listed page by page; extended ones only with --extended-events', async () => {
  await withAffiliate(fixture)
  // Extended events are recorded while somebody asks for them.
  fixture.plant('https://9.9.9.9/one', { extendedEvents: 1, events: ['none'] })
  await expectOk(convert(fixture, { externalOrderId: 'e-1', amountCents: 10_000, couponCode: 'NISA16' }))
  const events = (...args: string[]) => json<{ id: string; event: string }[]>(['webhooks', 'events', ...args], { env })
  const all = await events()
  expect(all.map(({ event }) => event)).toEqual([
    'affiliate.approved',
    'affiliate.status_changed',
    'commission.created',
  ])
  expect(wrongWith('WebhookEventItem[]', all)).toEqual([])
  expect(await events('--after', all[1]!.id)).toEqual(all.slice(2))
  const extended = (await events('--extended-events')).map(({ event }) => event)
  expect(extended).toEqual([...all.map(({ event }) => event), 'commission.approved'])
  const part = await cli(['webhooks', 'events', '--limit', '2', '--json'], { env })
  expect([JSON.parse(part.stdout), part.stderr]).toEqual([
    all.slice(0, 2),
    `more events follow; continue with --after ${all[1]!.id}\n`,
  ])
  const unknown = await cli(['webhooks', 'events', '--after', 'evt_unknown', '--json'], { env })
  expect([unknown.code, unknown.stdout]).toEqual([2, ''])
})

test('listen receives extended events only with --extended-events', async () => {
  await withAffiliate(fixture)
  fixture.plant('https://9.9.9.9/one', { extendedEvents: 1, events: ['none'] })
  const report = (externalOrderId: string) =>
    expectOk(convert(fixture, { externalOrderId, amountCents: 10_000, couponCode: 'NISA16' }))
  const firstEvent = async (order: string, ...args: string[]) => {
    const last = (await json<{ id: string }[]>(['webhooks', 'events', '--extended-events'], { env })).at(-1)
    await report(order)
    const position = ['--after', last?.id ?? '', '--count', '1']
    const { code, stdout } = await cli(['webhooks', 'listen', ...position, '--json', ...args], { env })
    expect(code).toBe(0)
    return (JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as { event: string }).event
  }
  const approved = ['--events', 'commission.approved']
  expect(await firstEvent('l-1', ...approved, '--extended-events')).toBe('commission.approved')
  expect(await firstEvent('l-2', ...approved, '--events', 'commission.created')).toBe('commission.created')
})
