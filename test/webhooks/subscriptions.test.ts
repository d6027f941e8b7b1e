import { afterEach, beforeEach, expect, test } from 'vitest'
import { document } from '../support/document.ts'
import { rejectWrites } from '../support/faults.ts'
import { rowOf, rowsOf } from '../support/inspect.ts'
import { rejectionOf } from '../support/rejection.ts'
import type { RequestOptions } from '../support/server.ts'
import { type Fixture, names, webhookFixture } from './fixture.ts'

const PATH = '/api/v1/webhooks'
const URL = 'https://hooks.example.com/referral?token=in-the-url'
const SECRET = 'a-very-secret-secret'

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
  names.set('hooks.example.com', ['8.8.8.8'])
})
afterEach(() => fixture.close())

const post = (body: object, options: RequestOptions = {}) => fixture.request('POST', PATH, { body, ...options })
const list = async (options: RequestOptions = {}) => (await fixture.request('GET', PATH, options)).body
const audits = (action: string) => rowsOf(fixture, 'audits', { action })

test('200 with the subscription; the list shows it, newest first, and never the secret', async () => {
  const first = await post({ url: URL })
  expect(first.body.data).toEqual({
    id: expect.stringMatching(/^whs_/),
    url: URL,
    events: [],
    source: 'api',
    hasSecret: false,
    retryPolicy: 'none',
    extendedEvents: false,
    status: 'enabled',
    disabledAt: null,
    disabledReason: null,
    failingSince: null,
    createdAt: '2026-11-02T12:00:00.000Z',
    updatedAt: '2026-11-02T12:00:00.000Z',
  })
  const events = ['commission.created', 'commission.paid', 'never.heard.of', 'test']
  const second = await post({ url: URL, events, secret: SECRET, source: 'zapier', extra: 1 })
  expect(second.body.data).toMatchObject({ events, source: 'zapier', hasSecret: true })
  const { data } = await list()
  expect(data).toEqual([second.body.data, first.body.data])
  expect(JSON.stringify([second.body, data])).not.toContain(SECRET)
})

test('the list contains the event names that can be filtered and those that are sent', async () => {
  const example = document.components.examples.webhookList.value
  const reply = await list()
  expect(reply.available_events).toEqual(example.available_events)
  expect(reply.emitted_events).toEqual(example.emitted_events)
  expect([reply.available_events.length, reply.emitted_events.length]).toEqual([14, 4])
  expect(reply.available_events).not.toContain('test')
})

test('hookUrl and target_url are aliases of url, and must have the same value', async () => {
  const url = 'https://hooks.example.com/a'
  expect((await post({ hookUrl: url })).body.data.url).toBe(url)
  expect((await post({ target_url: url })).body.data.url).toBe(url)
  expect((await post({ url, hookUrl: url, target_url: ' ' })).body.data.url).toBe(url)
  const two = await post({ url, target_url: 'https://hooks.example.com/b' })
  expect(rejectionOf(two)).toEqual({ status: 400, code: 'invalid_body', field: 'target_url' })
  expect((await post({ url: null, hookUrl: url, secret: null, source: null, events: null })).body.data).toMatchObject({
    url,
    events: [],
    source: 'api',
    hasSecret: false,
  })
})

test('400 without a url', async () => {
  for (const body of [{}, { url: null }, { url: '' }, { url: '  ' }, { secret: 'x' }]) {
    for (const query of ['', '?test=1']) {
      const reply = await fixture.request('POST', PATH + query, { body })
      expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: 'url' })
    }
  }
})

test('the secret is stored encrypted, and the audit contains neither it nor the URL', async () => {
  const { id } = (await post({ url: URL, secret: SECRET, source: URL, events: [SECRET] })).body.data
  const secret = rowOf(fixture, 'subscriptions', { id }).secret!
  expect(secret).not.toContain(SECRET)
  expect(fixture.deps.vault.open(secret, id)).toBe(SECRET)
  expect(fixture.deps.vault.open(secret, 'whs_another')).toBeNull()
  await fixture.request('DELETE', `${PATH}?id=${id}`)
  expect(audits('webhook.created')).toMatchObject([
    { subjectId: id, actor: `key:${fixture.shop.keyId}`, shopId: fixture.shop.shopId },
  ])
  expect(audits('webhook.deleted')).toMatchObject([{ subjectId: id }])
  const everything = JSON.stringify([rowsOf(fixture, 'audits'), fixture.logs])
  for (const hidden of [SECRET, 'hooks.example.com', 'in-the-url']) expect(everything).not.toContain(hidden)
})

test('an empty secret is treated as no secret', async () => {
  expect((await post({ url: URL, secret: '' })).body.data.hasSecret).toBe(false)
})

test('DELETE removes it once, with its pending deliveries', async () => {
  const { id } = (await post({ url: URL })).body.data
  await fixture.test()
  expect(fixture.deliveries()).toHaveLength(1)
  const removed = await fixture.request('DELETE', `${PATH}?id=${id}`)
  expect([removed.status, removed.body]).toEqual([200, { ok: true, message: 'Webhook subscription removed.', id }])
  expect(fixture.deliveries()).toEqual([])
  expect((await list()).data).toEqual([])
  const again = await fixture.request('DELETE', `${PATH}?id=${id}`)
  expect([again.status, again.headers.get('X-Error-Code')]).toEqual([404, 'webhook_not_found'])
})

test('404 for the subscription of another shop, which is kept; each shop sees its own', async () => {
  const { key } = await fixture.createShop()
  const { id } = (await post({ url: URL })).body.data
  expect((await fixture.request('DELETE', `${PATH}?id=${id}`, { key })).status).toBe(404)
  expect((await list({ key })).data).toEqual([])
  expect((await list()).data).toHaveLength(1)
})

test('503 when the audit fails, and nothing is stored', async () => {
  const { id } = (await post({ url: URL })).body.data
  const allowWrites = rejectWrites(fixture, 'insert', 'audits')
  for (const reply of [
    await post({ url: URL, secret: SECRET }),
    await fixture.request('POST', `${PATH}?test=1`, { body: { url: URL } }),
    await fixture.request('DELETE', `${PATH}?id=${id}`),
  ]) {
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([503, 'audit_unavailable'])
  }
  allowWrites()
  expect((await list()).data).toHaveLength(1)
  expect(fixture.deliveries()).toEqual([])
  expect((await fixture.request('DELETE', `${PATH}?id=${id}`)).status).toBe(200)
})
