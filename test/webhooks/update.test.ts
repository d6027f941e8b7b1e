import { createHmac } from 'node:crypto'
import { expect } from 'vitest'
import { createDeliver } from '../../server/src/domains/webhooks/delivery/deliver.ts'
import { codeOf } from '../commissions/money.ts'
import { rowOf, rowsOf } from '../support/inspect.ts'
import { staffOf } from '../support/owner.ts'
import type { TestServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type Owner, test } from '../support/test.ts'

const subscribe = (server: TestServer, given: object = {}) =>
  expectOk(
    server.request('POST', '/api/v1/webhooks', {
      body: { url: 'https://hooks.example.com/a', secret: 'old', ...given },
    }),
  )
const update = (owner: Owner, id: string, body: object) => owner('PATCH', `/webhooks/${id}`, body)

/** The headers that the next delivery to a subscription would carry. */
async function headersFor(server: TestServer, id: string): Promise<Record<string, string>> {
  let sent: Record<string, string> = {}
  const transport = {
    post: async (_: unknown, headers: Record<string, string>) => {
      sent = headers
      return { code: 'ok' as const, httpStatus: 200, isComplete: true }
    },
    close: async () => {},
  }
  const destination = { ...rowOf(server, 'subscriptions', { id }), clockOffsetMs: 0 }
  const { shopId } = destination
  const delivery = {
    shopId,
    id: 'dlv_1',
    subscriptionId: id,
    webhookId: 'dlv_1',
    attempts: 0,
    event: 'test',
    body: '{}',
  }
  await createDeliver({ ...server.deps, transport })({ ...delivery, traceparent: null, destination })
  return sent
}

const signed = (secret: string, { 'webhook-timestamp': at }: Record<string, string>) =>
  `v1,${createHmac('sha256', secret).update(`dlv_1.${at}.{}`).digest('base64')}`
const plain = (secret: string) => createHmac('sha256', secret).update('{}').digest('hex')

test('200 a new secret signs immediately, and the old one signs for another 24 hours', async ({ server, owner }) => {
  const { id } = await subscribe(server)
  expect(await expectOk(update(owner, id, { secret: 'new' }))).toMatchObject({ id, hasSecret: true })
  const both = await headersFor(server, id)
  expect(both['X-Service-Signature']).toBe(plain('new'))
  expect(both['webhook-signature']).toBe(`${signed('new', both)} ${signed('old', both)}`)
  server.clock.advance(86_400_000 - 1)
  expect((await headersFor(server, id))['webhook-signature']).toContain(' ')
  server.clock.advance(1)
  const one = await headersFor(server, id)
  expect(one['webhook-signature']).toBe(signed('new', one))
})

test('200 removing the secret ends signing immediately', async ({ server, owner }) => {
  const { id } = await subscribe(server)
  expect(await expectOk(update(owner, id, { secret: null }))).toMatchObject({ hasSecret: false })
  const headers = await headersFor(server, id)
  expect([headers['X-Service-Signature'], headers['webhook-signature']]).toEqual(['', undefined])
})

test('200 the address and the events; changing nothing writes nothing', async ({ server, owner }) => {
  const { id } = await subscribe(server)
  const url = 'https://hooks.example.com/canary'
  expect(await expectOk(update(owner, id, { url, events: ['commission.created'] }))).toMatchObject({
    url,
    events: ['commission.created'],
  })
  const audits = () => rowsOf(server, 'audits', { action: 'webhook.updated', subjectId: id }).map(({ data }) => data)
  expect(audits()).toEqual([JSON.stringify({ fields: ['url', 'events'], names: 1, hasSecret: true })])
  await expectOk(update(owner, id, { url, secret: 'old' }))
  expect(audits()).toHaveLength(1)
})

test('400 an address that is not public, 403 for STAFF, 409 when another change was first', async ({
  server,
  owner,
}) => {
  const { id } = await subscribe(server)
  expect(codeOf(await update(owner, id, { url: 'http://hooks.example.com' }))).toEqual([400, 'webhook_url_refused'])
  const key = await staffOf(server)
  expect(codeOf(await owner('PATCH', `/webhooks/${id}`, { secret: 'x' }, { key }))).toEqual([403, 'role_missing'])
  const replies = await Promise.all(['a', 'b', 'c'].map((secret) => update(owner, id, { secret })))
  expect(replies.map(({ status }) => status).sort()).toEqual([200, 409, 409])
})
