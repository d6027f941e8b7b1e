import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { until } from '../../support/calls.ts'
import { type Fixture, webhookFixture } from '../../webhooks/fixture.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'

/** Fast, slow, and with a response that is recorded as a failure. */
const PATHS = ['/ok/1', '/ok/2', '/slow/10', '/slow/25', '/slow/60', '/status/500', '/status/410']
const ROUND = 20
const SENDER = fileURLToPath(new URL('../../webhooks/sender-process.ts', import.meta.url))

/** The last deliveries of a sender that has ended are still in transit to this process, for long on a busy machine. */
async function settled(received: unknown[]): Promise<void> {
  for (let before = -1; before !== received.length; await sleep(250)) before = received.length
}

/** Sends until more deliveries have arrived, and is then killed. Returns those that arrived without being recorded. */
async function sendAndDie(at: Fixture): Promise<string[]> {
  const { received } = at.receiver
  const child = fork(SENDER, [at.url, at.receiver.host], { stdio: 'inherit' })
  const enough = received.length + 1 + Math.floor(Math.random() * ROUND * PATHS.length * 0.9)
  await until(() => received.length >= enough, 20_000, 'deliveries')
  child.kill('SIGKILL')
  await once(child, 'exit')
  await settled(received)
  const waiting = new Set(at.deliveries({ status: 'PENDING' }).map(({ webhookId }) => webhookId))
  return [...new Set(received.map(({ headers }) => headers['webhook-id'] ?? ''))].filter((id) => waiting.has(id))
}

/** The dispatcher is killed repeatedly; only its in-flight deliveries are sent again, and none is missing. */
export const guarantee: LongTest = {
  title: 'Every event is delivered or recorded as failed (kill -9 while sending)',
  engines: ['sqlite', 'postgres'],
  minutes: 10,
  run: async (given) => {
    const at = await webhookFixture()
    for (const path of PATHS) at.plant(at.receiver.at(path), { secret: 'shh' })
    const kills = sized(50, given)
    const underWay = new Map<string, number>()
    let most = 0
    for (let kill = 0; kill < kills; kill++) {
      for (let n = 0; n < ROUND; n++) await at.test()
      const unrecorded = await sendAndDie(at)
      for (const id of unrecorded) underWay.set(id, (underWay.get(id) ?? 0) + 1)
      most = Math.max(most, unrecorded.length)
    }
    const sender = await at.send()
    await until(() => at.deliveries({ status: 'PENDING' }).length === 0, 60_000, 'the rest')
    await sender.stop()
    await settled(at.receiver.received)
    const times = Map.groupBy(at.receiver.received, ({ headers }) => headers['webhook-id'] ?? '')
    const rows = at.deliveries()
    const wrong = rows.filter(({ webhookId, status, subscriptionId }) => {
      const arrived = times.get(webhookId) ?? []
      const fails = arrived[0]?.url.startsWith('/status/') ?? false
      const mayArrive = 1 + (underWay.get(webhookId) ?? 0)
      return (
        arrived.length < 1 || arrived.length > mayArrive || status !== (fails ? 'FAILED' : 'SENT') || !subscriptionId
      )
    })
    assert.deepEqual(wrong, [], 'every delivery arrives, and again only when it was in flight at a kill')
    assert.equal(rows.length, kills * ROUND * PATHS.length)
    await at.close()
    const repeated = at.receiver.received.length - rows.length
    return `${kills} kills, ${figure(rows.length)} deliveries, none missing, ${repeated} sent twice, of ${[...underWay.values()].reduce((a, b) => a + b, 0)} in flight at a kill (at most ${most} at one)`
  },
}
