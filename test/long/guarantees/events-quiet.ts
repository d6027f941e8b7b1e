import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { insertDeliveries, insertWebhookEvent } from '../../../server/src/core/outbox.ts'
import { until } from '../../support/calls.ts'
import { type Fixture, webhookFixture } from '../../webhooks/fixture.ts'
import { figure, type LongTest, sized } from '../guarantee.ts'

const SENDERS = 4
const SUBSCRIPTIONS = 20
const SENDER = fileURLToPath(new URL('../../webhooks/sender-process.ts', import.meta.url))

/** The number of events for every subscription. */
async function fillOutbox({ db, deps, shop }: Fixture, subscriptions: string[], events: number): Promise<void> {
  const createdAt = new Date(deps.now()).toISOString()
  for (let n = 0; n < events; n++) {
    await db.transact(async (trx) => {
      const id = deps.newId('evt')
      await insertWebhookEvent(trx, shop.shopId, { id, event: 'test', body: `{"n":${n}}`, createdAt })
      const rows = subscriptions.map((subscriptionId) => {
        const delivery = deps.newId('dlv')
        return { id: delivery, eventId: id, subscriptionId, webhookId: delivery, follows: null, createdAt }
      })
      await insertDeliveries(trx, shop.shopId, rows)
    })
  }
}

/** Four processes share an outbox, and none is killed. */
export const guarantee: LongTest = {
  title: 'Without failures, no event is sent twice',
  engines: ['sqlite', 'postgres'],
  minutes: 6,
  run: async (given) => {
    const at = await webhookFixture()
    const subscriptions = Array.from({ length: SUBSCRIPTIONS }, (_, n) =>
      at.plant(at.receiver.at(`/ok/${n}`), { secret: 'shh' }),
    )
    const total = sized(500, given) * SUBSCRIPTIONS
    await fillOutbox(at, subscriptions, total / SUBSCRIPTIONS)
    const senders = Array.from({ length: SENDERS }, () =>
      fork(SENDER, [at.url, at.receiver.host], { stdio: 'inherit' }),
    )
    const sent = () => Number(at.sql.prepare(`select count(*) from deliveries where status = 'SENT'`).pluck().get())
    await until(() => sent() === total, 120_000, 'all sent')
    // A duplicate would arrive late.
    await sleep(500)
    for (const sender of senders) sender.kill('SIGKILL')
    const { received } = at.receiver
    assert.equal(new Set(received.map(({ headers }) => headers['webhook-id'])).size, total)
    assert.equal(received.length, total)
    await at.close()
    return `${figure(total)} deliveries to ${SUBSCRIPTIONS} subscriptions by ${SENDERS} processes: each arrived, none twice`
  },
}
