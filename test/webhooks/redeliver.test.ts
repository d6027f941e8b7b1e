import { afterEach, beforeEach, expect, test } from 'vitest'
import { rowsOf, updateRows } from '../support/inspect.ts'
import { expectOk } from '../support/shop.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
})
afterEach(() => fixture.close())

const MINUTE = 60_000
const at = (offset: number) => new Date(fixture.clock.ms + offset).toISOString()
const redeliver = (id: string, body: object) => expectOk(fixture.owner('POST', `/webhooks/${id}/redeliver`, body))
const finish = (status: 'SENT' | 'FAILED') =>
  updateRows(fixture, 'deliveries', { status, code: 'ok', finishedAt: at(0) }, { status: 'PENDING' })
const testEvents = async (count: number) => {
  for (let i = 0; i < count; i++) await fixture.test()
}
const pending = (subscriptionId: string) => fixture.deliveries({ subscriptionId, status: 'PENDING' })

test('the failed deliveries of one subscription and period are queued again, once', async () => {
  const id = fixture.plant(fixture.receiver.at('/hook'))
  const other = fixture.plant(fixture.receiver.at('/other'))
  await testEvents(2)
  finish('FAILED')
  fixture.clock.advance(10 * MINUTE)
  const from = at(0)
  await testEvents(3)
  finish('FAILED')
  fixture.clock.advance(MINUTE)
  const to = at(0)
  fixture.clock.advance(MINUTE)
  await testEvents(1)
  finish('FAILED')

  expect(await redeliver(id, { from, to, dryRun: true })).toEqual({ dryRun: true, queued: 0, remaining: 3 })
  expect(pending(id)).toEqual([])
  expect(await redeliver(id, { from, to })).toEqual({ dryRun: false, queued: 3, remaining: 0 })
  const again = pending(id)
  expect(again).toHaveLength(3)
  const originals = fixture.deliveries({ subscriptionId: id, status: 'FAILED' }).map(({ webhookId }) => webhookId)
  for (const { webhookId } of again) expect(originals).toContain(webhookId)
  expect(pending(other)).toEqual([])
  expect(await redeliver(id, { from, to })).toEqual({ dryRun: false, queued: 0, remaining: 0 })
  await fixture.send()
  await until(() => fixture.receiver.to('/hook').length === 3)
  const audits = rowsOf(fixture, 'audits', { action: 'deliveries.redelivered' })
  expect(audits.map(({ subjectId, data }) => [subjectId, JSON.parse(data).queued])).toEqual([
    [id, 3],
    [id, 0],
  ])
})

test('by status and by event', async () => {
  const id = fixture.plant(fixture.receiver.at('/hook'))
  const from = at(0)
  await testEvents(2)
  finish('SENT')
  await testEvents(1)
  finish('FAILED')
  const preview = (body: object) => redeliver(id, { from, dryRun: true, ...body })
  expect((await preview({})).remaining).toBe(1)
  expect((await preview({ status: 'SENT' })).remaining).toBe(2)
  expect((await preview({ status: 'SENT', event: 'test' })).remaining).toBe(2)
  expect((await preview({ status: 'SENT', event: 'commission.created' })).remaining).toBe(0)
})

test('more than 500 take several calls, and each delivery is queued once', async () => {
  const id = fixture.plant(fixture.receiver.at('/hook'))
  const from = at(0)
  for (let n = 0; n < 21; n++) await Promise.all(Array.from({ length: 30 }, () => fixture.test()))
  finish('FAILED')
  fixture.clock.advance(1)
  const to = at(0)
  fixture.clock.advance(1)
  const both = await Promise.all([redeliver(id, { from, to }), redeliver(id, { from, to })])
  const last = await redeliver(id, { from, to })
  expect([...both, last].reduce((sum, { queued }) => sum + queued, 0)).toBe(630)
  const webhookIds = pending(id).map(({ webhookId }) => webhookId)
  expect([webhookIds.length, new Set(webhookIds).size]).toEqual([630, 630])
})
