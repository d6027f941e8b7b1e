// Full: it waits for receivers that hang or fail.
import { createHmac } from 'node:crypto'
import { expect } from 'vitest'
import { purgeExpired } from '../../server/src/operator/retention.ts'
import { countOf, rowsOf, updateRows } from '../support/inspect.ts'
import { staffOf } from '../support/owner.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  await withAffiliate(server)
})

interface Message {
  event: string
  id: string | undefined
  data: Record<string, never> & {
    headers: Record<string, string>
    body: string
    secret: string
    subscriptionId: string
  }
}

/** A client of the stream that reads one message at a time. */
async function listen(server: TestServer, query = '', lastEventId?: string) {
  const response = await server.app.request(`/admin/v1/deliveries/stream${query}`, {
    headers: {
      Authorization: `Bearer ${server.shop.ownerToken}`,
      ...(lastEventId ? { 'Last-Event-ID': lastEventId } : {}),
    },
  })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async (): Promise<Message> => {
    while (!text.includes('\n\n')) {
      const { value, done } = await reader.read()
      if (done) throw new Error('the stream ended')
      text += value
    }
    const [message = '', ...rest] = text.split('\n\n')
    text = rest.join('\n\n')
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(message)?.[1]
    return { event: field('event') ?? '', id: field('id'), data: JSON.parse(field('data') ?? '{}') }
  }
  return { response, next, leave: () => reader.cancel() }
}

let orders = 0
const order = (server: TestServer) =>
  expectOk(convert(server, { externalOrderId: `s-${++orders}`, amountCents: 100, couponCode: 'NISA16' }))

test('200 the exact bytes and headers of each event, signed with its own secret, and nothing in the outbox', async ({
  server,
}) => {
  const client = await listen(server)
  expect(client.response.headers.get('Content-Type')).toContain('text/event-stream')
  const opened = await client.next()
  const { secret, subscriptionId } = opened.data
  expect([opened.event, subscriptionId]).toEqual(['open', expect.stringMatching(/^whs_/)])
  await order(server)
  const { event, id, data } = await client.next()
  expect([event, id]).toEqual(['delivery', data.headers['webhook-id']])
  expect(data.headers['X-Service-Event']).toBe('commission.created')
  expect(data.headers['X-Service-Signature']).toBe(createHmac('sha256', secret).update(data.body).digest('hex'))
  const stored = rowsOf(server, 'webhookEvents').at(-1)?.body
  expect(data.body).toBe(stored)
  expect(countOf(server, 'deliveries')).toBe(0)
  expect((await server.request('GET', '/api/v1/webhooks')).body.data).toEqual([])
  await client.leave()
})

test('200 after a gap, with each missed event once and in order', async ({ server }) => {
  const first = await listen(server)
  const { data } = await first.next()
  await order(server)
  const last = await first.next()
  await first.leave()
  await order(server)
  await order(server)
  const second = await listen(server, '', last.id)
  const opened = await second.next()
  expect(opened.data).toEqual(data)
  const bodies = [await second.next(), await second.next()].map((message) => JSON.parse(message.data.body))
  expect(bodies.map((body) => body.data.externalOrderId)).toEqual([`s-${orders - 1}`, `s-${orders}`])
  await order(server)
  expect(JSON.parse((await second.next()).data.body).data.externalOrderId).toBe(`s-${orders}`)
  await second.leave()
})

test('200 a gap before the first delivery loses no event', async ({ server }) => {
  const first = await listen(server)
  const opened = await first.next()
  expect(opened.id).toBe(opened.data.subscriptionId)
  await first.leave()
  await order(server)
  const second = await listen(server, '', opened.id)
  const again = await second.next()
  expect([again.id, again.data]).toEqual([undefined, opened.data])
  expect(JSON.parse((await second.next()).data.body).data.externalOrderId).toBe(`s-${orders}`)
  await second.leave()
})

test('200 only the requested events', async ({ server }) => {
  const client = await listen(server, '?events=affiliate.rejected,affiliate.status_changed')
  await client.next()
  await order(server)
  const { body } = await server.request('GET', '/api/v1/affiliates')
  await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${body.data[0].id}`, { body: { status: 'REJECTED' } }))
  const names = [await client.next(), await client.next()].map((message) => message.data.headers['X-Service-Event'])
  expect(names).toEqual(['affiliate.rejected', 'affiliate.status_changed'])
  await client.leave()
  await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${body.data[0].id}`, { body: { status: 'APPROVED' } }))
})

test('200 with new events only when the gap was too long', async ({ server }) => {
  const first = await listen(server)
  const { data } = await first.next()
  await order(server)
  const last = await first.next()
  await first.leave()
  server.clock.advance(2 * 3_600_000)
  const second = await listen(server, '', last.id)
  expect((await second.next()).data.subscriptionId).not.toBe(data.subscriptionId)
  await order(server)
  expect(JSON.parse((await second.next()).data.body).data.externalOrderId).toBe(`s-${orders}`)
  await second.leave()
  await purgeExpired(server.deps)
  // The first stream is deleted with its deliveries.
  expect(countOf(server, 'streams', { id: data.subscriptionId })).toBe(0)
  expect(countOf(server, 'streamDeliveries', { streamId: data.subscriptionId })).toBe(0)
})

test('200 another shop receives none of its events, and cannot resume it', async ({ server }) => {
  const other = await server.createShop()
  const mine = await listen(server)
  await mine.next()
  await order(server)
  const { id } = await mine.next()
  await mine.leave()
  const before = { ...server.shop }
  Object.assign(server.shop, other)
  const theirs = await listen(server, '', id)
  const opened = await theirs.next()
  Object.assign(server.shop, before)
  await order(server)
  const quiet = await Promise.race([theirs.next(), new Promise((done) => setTimeout(() => done('quiet'), 700))])
  expect(quiet).toBe('quiet')
  expect(opened.event).toBe('open')
})

test('200 the log shows how deliveries ended, and a redelivery carries the same bytes under the same webhook-id', async ({
  server,
  owner,
}) => {
  const staff = await staffOf(server)
  await expectOk(
    server.request('POST', '/api/v1/webhooks', { body: { url: 'https://hooks.example.com/x', secret: 's' } }),
  )
  await order(server)
  const [{ id, ...waiting }] = (await owner('GET', '/deliveries?status=PENDING')).body.data
  expect(waiting).toMatchObject({ event: 'commission.created', code: null, finishedAt: null, webhookId: id })
  const finished = { status: 'FAILED', code: 'timeout', finishedAt: '2026-11-02T12:00:10.000Z' } as const
  updateRows(server, 'deliveries', finished, { id })
  let woken = 0
  server.deps.wakeDispatcher = () => {
    woken++
  }
  const again = await expectOk(owner('POST', `/deliveries/${id}/redeliver`, undefined, { key: staff }))
  expect(again).toMatchObject({ status: 'PENDING', webhookId: id, eventId: waiting.eventId })
  expect([again.id === id, woken]).toEqual([false, 1])
  const { body } = await owner('GET', '/deliveries?event=commission.created')
  expect(body.data.map((one: { status: string }) => one.status)).toEqual(['PENDING', 'FAILED'])
  expect(JSON.stringify(body)).not.toContain('hooks.example')
})
