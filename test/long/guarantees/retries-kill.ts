import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { until } from '../../support/calls.ts'
import { updateRows } from '../../support/inspect.ts'
import { webhookFixture } from '../../webhooks/fixture.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'

const EVENTS = 20
const SENDER = fileURLToPath(new URL('../../webhooks/sender-process.ts', import.meta.url))
const LONG_AGO = '2026-01-01T00:00:00.000Z'

/** A receiver is down while the process that retries is killed; each attempt that was recorded was made, and no event is missing. */
export const guarantee: LongTest = {
  title: 'Every event arrives when the process is killed during retries',
  engines: ['sqlite', 'postgres'],
  minutes: 20,
  run: async (given) => {
    const at = await webhookFixture()
    // The senders use the clock of the machine.
    at.clock.ms = Date.now()
    at.receiver.respond('/hook', 503)
    const subscriptionId = at.plant(at.receiver.at('/hook'), { secret: 'shh', retryPolicy: 'standard' })
    const kills = sized(50, given)
    const recorded = new Map<string, number>()
    /** Counts the recorded attempts, and makes the next ones due. */
    const makeDue = () => {
      for (const { webhookId, attempts } of at.deliveries({ subscriptionId, status: 'RETRYING' }))
        recorded.set(webhookId, (recorded.get(webhookId) ?? 0) + attempts)
      updateRows(at, 'deliveries', { nextAttemptAt: LONG_AGO, attempts: 0 }, { status: 'RETRYING' })
    }
    for (let kill = 0; kill < kills; kill++) {
      for (let n = 0; n < EVENTS; n++) await at.test()
      const waiting = at.deliveries({ subscriptionId }).length
      const { received } = at.receiver
      const enough = received.length + 1 + Math.floor(Math.random() * waiting * 0.9)
      const child = fork(SENDER, [at.url, at.receiver.host], { stdio: 'inherit' })
      await until(() => received.length >= enough, 60_000, 'deliveries')
      child.kill('SIGKILL')
      await once(child, 'exit')
      // Its last deliveries are still in transit to this process.
      await sleep(40)
      makeDue()
    }
    at.receiver.respond('/hook', 200)
    const sender = await at.send()
    await until(() => at.deliveries({ status: 'SENT' }).length === kills * EVENTS, 120_000, 'the rest')
    await sender.stop()
    await sleep(40)
    const rows = at.deliveries()
    assert.equal(rows.length, kills * EVENTS)
    const times = Map.groupBy(at.receiver.received, ({ headers }) => headers['webhook-id'] ?? '')
    let unrecorded = 0
    for (const { webhookId, attempts } of rows) {
      const arrived = times.get(webhookId)?.length ?? 0
      const known = (recorded.get(webhookId) ?? 0) + attempts
      // An attempt in flight at a kill is made again.
      assert.ok(arrived >= known && arrived - known <= kills, `${webhookId}: ${arrived} arrived, ${known} recorded`)
      unrecorded += arrived - known
    }
    await at.close()
    const arrived = figure(at.receiver.received.length)
    return `${kills} kills, ${figure(rows.length)} events, ${arrived} attempts, none missing; ${unrecorded} attempts were in flight at a kill and made again`
  },
}
