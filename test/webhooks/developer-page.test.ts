// SQLite only: the pages call the use cases that are tested on both databases
import { unwrap } from '@referral/webhook-verifier'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { noticeOf, visitorOf } from '../admin/page-fixture.ts'
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
