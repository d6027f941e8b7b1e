// SQLite only: the pages call the use cases that are tested on both databases
import { unwrap } from '@referral/webhook-verifier'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { noticeOf, visitorOf } from '../admin/page-fixture.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let at: Fixture
let owner: ReturnType<typeof visitorOf>
beforeEach(async () => {
  at = await webhookFixture()
  owner = visitorOf(at)
  await owner.signIn()
})
afterEach(() => at.close())

const shownIn = (text: string) => [...text.matchAll(/<code id="secret[^>]*>([^<]+)</g)].map(([, value]) => value!)

test('a signing secret is good as it is, and in the spelling of Standard Webhooks libraries', async () => {
  // Their library looks at its own clock.
  at.clock.ms = Date.now()
  await at.send()
  await owner.signIn()
  const fields: [string, string][] = [
    ['url', at.receiver.at('/hook')],
    ['sign', '1'],
  ]
  expect((await owner.submit('/admin/webhooks', fields)).status).toBe(303)
  const [plain = '', theirs = ''] = shownIn((await owner.open('/admin/webhooks')).text)
  // A library that is given the plain one must not take it for its own spelling, and read another key from it.
  expect(plain).not.toMatch(/^whsec_/)
  expect((await owner.submit('/admin/webhooks/test')).status).toBe(303)
  await until(() => at.receiver.to('/hook').length === 1)
  const { body, headers } = at.receiver.to('/hook')[0]!
  expect(new Webhook(theirs).verify(body, headers)).toMatchObject({ event: 'test' })
  expect(await unwrap({ body, headers }, { secret: plain })).toMatchObject({ event: 'test' })
})

test('a test event is sent whatever has become of one of the addresses', async () => {
  at.plant(at.receiver.at('/healthy'))
  at.clock.advance(1000)
  at.plant('https://10.0.0.1/')
  await at.send()
  const sent = await owner.submit('/admin/webhooks/test')
  expect([sent.status, noticeOf(sent)]).toEqual([303, ''])
  await until(() => at.receiver.to('/healthy').length === 1)
})

test('a webhook with thousands of event names is listed in short, and saving its form keeps them', async () => {
  const events = ['', ...Array.from({ length: 5000 }, (_, i) => `name.${i}`)]
  const created = await at.request('POST', '/api/v1/webhooks', { body: { url: at.receiver.at('/many'), events } })
  const { text } = await owner.open('/admin/webhooks')
  expect(text).toContain('and 4981 more')
  expect(text).not.toContain('name.4000')
  const path = `/admin/webhooks/${created.body.data.id}`
  expect((await owner.open(path)).text).not.toContain('name.1')
  expect((await owner.submit(path, [['url', at.receiver.at('/moved')]])).status).toBe(303)
  const [changed] = (await at.request('GET', '/api/v1/webhooks')).body.data
  expect(changed).toMatchObject({ url: at.receiver.at('/moved'), events })
})
