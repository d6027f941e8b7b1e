// SQLite only: the pages call the use cases that are tested on both databases
import { unwrap } from '@referral/webhook-verifier'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { DeliveryRow } from '../../server/src/database/tables.ts'
import { disable } from '../../server/src/domains/webhooks/webhooks.ts'
import { noticeOf, visitorOf, wordsOf } from '../dashboard/visitor.ts'
import { updateRows } from '../support/inspect.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let fixture: Fixture
let owner: ReturnType<typeof visitorOf>
beforeEach(async () => {
  fixture = await webhookFixture()
  owner = visitorOf(fixture)
  await owner.signIn()
})
afterEach(() => fixture.close())

const shownIn = (text: string) => [...text.matchAll(/<code id="secret[^>]*>([^<]+)</g)].map(([, value]) => value!)

test('a signing secret works as shown and in the format of Standard Webhooks libraries', async () => {
  // The library uses its own clock.
  fixture.clock.ms = Date.now()
  await fixture.send()
  await owner.signIn()
  const fields: [string, string][] = [
    ['url', fixture.receiver.at('/hook')],
    ['sign', '1'],
  ]
  expect((await owner.submit('/admin/webhooks', fields)).status).toBe(303)
  const [plain = '', theirs = ''] = shownIn((await owner.open('/admin/webhooks')).text)
  // A library that receives the plain secret must not mistake it for its own format and derive another key.
  expect(plain).not.toMatch(/^whsec_/)
  expect((await owner.submit('/admin/webhooks/test')).status).toBe(303)
  await until(() => fixture.receiver.to('/hook').length === 1)
  const { body, headers } = fixture.receiver.to('/hook')[0]!
  expect(new Webhook(theirs).verify(body, headers)).toMatchObject({ event: 'test' })
  expect(await unwrap({ body, headers }, { secret: plain })).toMatchObject({ event: 'test' })
})

test('a test event is sent even when one of the addresses is private', async () => {
  fixture.plant(fixture.receiver.at('/healthy'))
  fixture.clock.advance(1000)
  fixture.plant('https://10.0.0.1/')
  await fixture.send()
  const sent = await owner.submit('/admin/webhooks/test')
  expect([sent.status, noticeOf(sent)]).toEqual([303, ''])
  await until(() => fixture.receiver.to('/healthy').length === 1)
})

test('a webhook with thousands of event names is shown abbreviated, and saving its form keeps them', async () => {
  const events = ['', ...Array.from({ length: 5000 }, (_, i) => `name.${i}`)]
  const created = await fixture.request('POST', '/api/v1/webhooks', {
    body: { url: fixture.receiver.at('/many'), events },
  })
  const { text } = await owner.open('/admin/webhooks')
  expect(text).toContain('and 4981 more')
  expect(text).not.toContain('name.4000')
  const path = `/admin/webhooks/${created.body.data.id}`
  expect((await owner.open(path)).text).not.toContain('name.1')
  expect((await owner.submit(path, [['url', fixture.receiver.at('/moved')]])).status).toBe(303)
  const [changed] = (await fixture.request('GET', '/api/v1/webhooks')).body.data
  expect(changed).toMatchObject({ url: fixture.receiver.at('/moved'), events })
})

test('many deliveries are counted before they are redelivered, and queued once', async () => {
  const id = fixture.plant(fixture.receiver.at('/hook'))
  for (let i = 0; i < 3; i++) await fixture.test()
  const at = new Date(fixture.clock.ms).toISOString()
  updateRows(fixture, 'deliveries', { status: 'FAILED', code: 'http_5xx', finishedAt: at }, { subscriptionId: id })
  const redelivered = () => fixture.deliveries({ subscriptionId: id, status: 'PENDING' }).length
  const preview = async (query: string) =>
    owner.open(`/admin/deliveries/redeliver?subscriptionId=${id}&from=2026-11-02T00:00&${query}`)

  const list = await owner.open('/admin/deliveries?status=FAILED')
  expect(wordsOf(list.text)).toContain('Redeliver 3 deliveries')
  expect(list.text).toContain(`/admin/deliveries/redeliver?subscriptionId=${id}&amp;status=FAILED"`)
  expect((await owner.open('/admin/deliveries')).text).not.toContain('/admin/deliveries/redeliver?')
  expect(wordsOf((await preview('status=SENT&to=')).text)).toContain('No deliveries match')
  const { text } = await preview('status=FAILED&to=')
  expect(wordsOf(text)).toContain('Redeliver 3 deliveries')
  expect(redelivered()).toBe(0)
  // What the button of the page sends.
  const fields = [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
    .map(([, name = '', value = '']): [string, string] => [name, value])
    .filter(([name]) => name !== 'csrf')
  expect(Object.fromEntries(fields)).toMatchObject({ subscriptionId: id, status: 'FAILED' })
  // A delivery that fails after the count is not part of it.
  fixture.clock.advance(60_000)
  await fixture.test()
  updateRows(fixture, 'deliveries', { status: 'FAILED', finishedAt: at }, { subscriptionId: id, status: 'PENDING' })
  const sent = await owner.submit('/admin/deliveries/redeliver', fields)
  expect(sent.status).toBe(303)
  expect(noticeOf(await owner.open(sent.headers.get('Location') ?? ''))).toContain('3 deliveries')
  expect(redelivered()).toBe(3)
  const again = await owner.submit('/admin/deliveries/redeliver', fields)
  expect(noticeOf(await owner.open(again.headers.get('Location') ?? ''))).toContain('0 deliveries')
  expect(redelivered()).toBe(3)
  expect((await preview('status=FAILED&to=2026-11-01T00:00')).status).toBe(400)
})

test('a disabled webhook is named, and enabled with one click', async () => {
  const id = fixture.plant(fixture.receiver.at('/hook'), { retryPolicy: 'standard' })
  await disable(fixture.deps, { shopId: fixture.shop.shopId, id, reason: 'gone' })
  const { text } = await owner.open('/admin/webhooks')
  expect(wordsOf(text)).toContain('returned 410')
  expect(wordsOf((await owner.open('/admin')).text)).toContain('1 webhook is disabled: its receiver failed')
  const refused = await owner.open(`/admin/deliveries/redeliver?subscriptionId=${id}&from=2026-11-02T00:00`)
  expect([refused.status, wordsOf(refused.text)]).toEqual([409, expect.stringContaining('is disabled')])
  expect(text).toContain(`action="/admin/webhooks/${id}/enable"`)
  expect((await owner.submit(`/admin/webhooks/${id}/enable`)).status).toBe(303)
  expect((await fixture.request('GET', '/api/v1/webhooks')).body.data[0]).toMatchObject({
    status: 'enabled',
    disabledAt: null,
  })
  expect((await owner.open('/admin/webhooks')).text).not.toContain(`/admin/webhooks/${id}/enable`)
})

const list = async () => (await fixture.request('GET', '/api/v1/webhooks')).body.data

test('the page subscribes to all events with retries, or to those that are selected', async () => {
  const url = fixture.receiver.at('/hook')
  const add = (fields: [string, string][]) => owner.submit('/admin/webhooks', [['url', url], ...fields])
  const { text } = await owner.open('/admin/webhooks')
  expect(text).toMatch(/name="choice" value="all" checked/)
  expect(text).toMatch(/<option value="standard" selected>/)
  expect(text.match(/name="events" value="payout.paid"/g)).toHaveLength(1)
  expect(
    (
      await add([
        ['choice', 'all'],
        ['retryPolicy', 'standard'],
      ])
    ).status,
  ).toBe(303)
  expect(await list()).toEqual([expect.objectContaining({ events: [], extendedEvents: true, retryPolicy: 'standard' })])
  const none = await add([['choice', 'some']])
  expect([none.status, noticeOf(none)]).toEqual([400, expect.stringContaining('at least one event')])
  const some: [string, string][] = [
    ['choice', 'some'],
    ['events', 'commission.created'],
    ['events', 'payout.paid'],
  ]
  fixture.clock.advance(1000)
  expect((await add(some)).status).toBe(303)
  const [newest] = await list()
  expect(newest).toMatchObject({ events: ['commission.created', 'payout.paid'], extendedEvents: true })
  const edited = [
    ['url', url],
    ['choice', 'some'],
    ['events', 'test'],
  ] as [string, string][]
  expect((await owner.submit(`/admin/webhooks/${newest.id}`, edited)).status).toBe(303)
  expect((await list())[0]).toMatchObject({ events: ['test'], extendedEvents: false, retryPolicy: 'standard' })
})

test('names without retries and events that are not received are warned about, each with a button', async () => {
  const id = fixture.plant(fixture.receiver.at('/hook'), { events: ['payout.paid', 'order.made'] })
  const { text } = await owner.open('/admin/webhooks')
  expect(wordsOf(text)).toContain('no retries')
  expect(wordsOf(text)).toMatch(/lists events that it does not receive yet: payout.paid +Receive payout.paid/)
  expect(wordsOf(text)).toContain('lists events that are never sent: order.made')
  expect((await owner.submit(`/admin/webhooks/${id}/extend`)).status).toBe(303)
  expect((await owner.submit(`/admin/webhooks/${id}/retries`)).status).toBe(303)
  expect(await list()).toEqual([expect.objectContaining({ extendedEvents: true, retryPolicy: 'standard' })])
  const after = wordsOf((await owner.open('/admin/webhooks')).text)
  expect(after).not.toMatch(/does not receive yet|no retries/)
})

test('rolling the secret says what happens, and shows the new one once', async () => {
  const id = fixture.plant(fixture.receiver.at('/hook'), { secret: 'hush-hush' })
  expect(wordsOf((await owner.open(`/admin/webhooks/${id}/secret`)).text)).toContain('For 24 hours')
  const rolled = await owner.submit(`/admin/webhooks/${id}/secret`)
  const shown = await owner.open(rolled.headers.get('Location') ?? '')
  expect(shownIn(shown.text)).toHaveLength(2)
  expect(wordsOf((await owner.open(`/admin/webhooks/${id}`)).text)).toContain('also signed with the previous secret')
})

test('the page of a delivery shows its payload, its outcome, and other deliveries of the event', async () => {
  const id = fixture.plant(fixture.receiver.at('/hook'), { secret: 'hush-hush-hush', retryPolicy: 'standard' })
  await fixture.test()
  const [one] = fixture.deliveries({ subscriptionId: id })
  const nextAttemptAt = new Date(fixture.clock.ms + 60_000).toISOString()
  const failed = { status: 'RETRYING', code: 'http_5xx', httpStatus: 503, attempts: 3, durationMs: 12, nextAttemptAt }
  updateRows(fixture, 'deliveries', failed as Partial<DeliveryRow>, { id: one!.id })
  await fixture.request('PATCH', '/admin/v1/settings', {
    key: fixture.shop.ownerToken,
    body: { timeZone: 'Asia/Tokyo' },
  })
  const { text } = await owner.open(`/admin/deliveries/${one!.id}`)
  const words = wordsOf(text)
  expect(words).toContain('receiver failed')
  expect(words).toContain('3 of 8')
  expect(words).toMatch(/Next attempt Nov \d+, 2026 \d\d:\d\d (?!UTC)/)
  expect(text).toContain('&quot;message&quot;: &quot;This is a test event.&quot;')
  expect(text).not.toContain('hush-hush')
  expect(text).toContain('Retry now')
  const retried = await owner.submit(`/admin/deliveries/${one!.id}/redeliver`)
  expect(retried.headers.get('Location')).toBe(`/admin/deliveries/${one!.id}`)
  expect((await owner.open(`/admin/deliveries/${one!.id}`)).text).not.toContain('Retry now')
  const finished = { status: 'FAILED', nextAttemptAt: null, finishedAt: nextAttemptAt }
  updateRows(fixture, 'deliveries', finished as Partial<DeliveryRow>, { id: one!.id })
  const again = await owner.submit(`/admin/deliveries/${one!.id}/redeliver`)
  const there = again.headers.get('Location') ?? ''
  expect(there).toMatch(/^\/admin\/deliveries\/dlv_/)
  expect((await owner.open(there)).text).toContain(`href="/admin/deliveries/${one!.id}"`)
  expect((await owner.open('/admin/deliveries')).text).toContain(`href="/admin/deliveries/${one!.id}"`)
})
