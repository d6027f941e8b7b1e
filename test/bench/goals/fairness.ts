import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { insertDeliveries, insertWebhookEvent } from '../../../server/src/core/outbox.ts'
import type { Database } from '../../../server/src/database/database.ts'
import { openDatabase } from '../../../server/src/database/open.ts'
import { insertRow } from '../../../server/src/database/rows.ts'
import { PLAIN_SUBSCRIPTION } from '../../../server/src/domains/webhooks/queries.ts'
import { createCluster } from '../../support/postgres-cluster.ts'
import { spreadOf } from '../harness/compare.ts'
import { copyOf, type DataSet, fill } from '../harness/data.ts'
import type { Options } from '../harness/options.ts'
import { print } from '../harness/report.ts'
import { launchOther, launchOurs } from '../harness/subject.ts'

const KINDS = ['silent', 'open', 'drip', 'informational', 'extensions']
const SUBSCRIPTIONS = Number(process.env.BENCH_SUBSCRIPTIONS ?? 100)
const EVENTS = 30
const SAMPLES = 400
const PER_SECOND = 40
/** Longer times are capped to this. */
const LOST_MS = 30_000

/**
 * How long deliveries of a shop take while another shop has a full outbox for receivers that never complete a response,
 * compared with how long they take alone: p99 from the event to its arrival, in turn on one server.
 */
export async function fairness({ rounds }: Options): Promise<void> {
  const { data, remove } = await copyOf(10_000)
  await onEngine('SQLite', data, rounds).finally(remove)
  const cluster = await createCluster(['shared_buffers=128MB'])
  try {
    await onEngine('PostgreSQL', await fill(cluster.urlOf('postgres'), 0), rounds)
  } finally {
    await cluster.remove()
  }
}

async function onEngine(engine: string, data: DataSet, rounds: number): Promise<void> {
  const hostile = await launchOther('hostile', 'floor/hostile.ts', {})
  const receiver = await startReceiver()
  const db = await openDatabase(data.url)
  // The subscriber of the data set receives nothing.
  await db.transact(async (trx) => {
    await trx.deleteFrom('subscriptions').where('shopId', '=', data.shopId).execute()
  }, data.shopId)
  await subscribe(db, data.shopId, [receiver.url])
  const allow = [new URL(hostile.url).host, new URL(receiver.url).host].join(',')
  const ours = await launchOurs({ DATABASE_URL: data.url, REFERRAL_WEBHOOK_ALLOW: allow })
  const measure = () => p99Of(ours.url, data.keys, receiver)
  await measure()
  for (const kind of KINDS) {
    const [alone, underLoad]: [number[], number[]] = [[], []]
    for (let round = 0; round < Math.min(rounds, 3); round++) {
      alone.push(await measure())
      const remove = await attack(db, Array(SUBSCRIPTIONS).fill(`${hostile.url}/${kind}`))
      underLoad.push(await measure())
      await remove()
      await sleep(11_000)
    }
    print({
      goal: 'FAIR',
      what: `${engine}: p99 alongside ${SUBSCRIPTIONS} × ${kind} ÷ alone`,
      wanted: { most: 2 },
      result: spreadOf(underLoad.map((p99, n) => p99 / (alone[n] ?? Number.NaN))),
      ours: `${spreadOf(underLoad).median.toFixed(1)} ms`,
      floor: `${spreadOf(alone).median.toFixed(1)} ms`,
    })
  }
  await ours.stop()
  await db.close()
  await hostile.stop()
  receiver.stop()
}

/** A receiver in this process, which is otherwise idle. */
async function startReceiver() {
  let delays: number[] = []
  const server = createServer((request, response) => {
    const now = performance.timeOrigin + performance.now()
    let body = ''
    request.setEncoding('utf8').on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      response.end()
      delays.push(now - Date.parse(JSON.parse(body).timestamp))
    })
  }).listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    count: () => delays.length,
    take: () => {
      const taken = delays
      delays = []
      return taken
    },
    stop: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

let next = 0

async function p99Of(
  url: string,
  keys: string[],
  receiver: Awaited<ReturnType<typeof startReceiver>>,
): Promise<number> {
  receiver.take()
  const sending: Promise<unknown>[] = []
  for (let n = 0; n < SAMPLES; n++) {
    const key = keys[next++ % keys.length]
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const body = JSON.stringify({ url: 'https://8.8.8.8/' })
    sending.push(fetch(`${url}/api/v1/webhooks?test=1`, { method: 'POST', headers, body }).then((r) => r.text()))
    await sleep((Math.random() * 2000) / PER_SECOND)
  }
  await Promise.all(sending)
  const until = performance.now() + LOST_MS
  while (receiver.count() < SAMPLES && performance.now() < until) await sleep(20)
  const delays = receiver.take()
  const all = [...delays, ...Array(Math.max(0, SAMPLES - delays.length)).fill(LOST_MS)].sort((a, b) => a - b)
  if (process.env.BENCH_DETAIL)
    console.log(
      all.length,
      delays.length,
      [0.5, 0.9, 0.99, 1].map((q) => all[Math.ceil(q * all.length) - 1]?.toFixed(1)).join(' '),
    )
  return all[Math.ceil(all.length * 0.99) - 1] ?? Number.NaN
}

let made = 0
const id = (prefix: string) => `${prefix}_bench${String(++made).padStart(12, '0')}`

async function subscribe(db: Database, shopId: string, urls: string[]): Promise<string[]> {
  const at = new Date().toISOString()
  return db.transact(async (trx) => {
    const ids: string[] = []
    for (const url of urls) {
      const row = { id: id('whs'), url, events: '["test"]', source: 'API', secret: null, createdAt: at, updatedAt: at }
      await insertRow(trx, 'subscriptions', { shopId, ...PLAIN_SUBSCRIPTION, ...row })
      ids.push(row.id)
    }
    return ids
  }, shopId)
}

/** Fills the outbox of a separate shop. Returns a function that removes all of it. */
async function attack(db: Database, urls: string[]): Promise<() => Promise<void>> {
  const shopId = '0-attacker'
  const ids = await subscribe(db, shopId, urls)
  const createdAt = new Date().toISOString()
  const event = 'test'
  const body = JSON.stringify({ event, timestamp: createdAt, shop_id: shopId, data: { note: 'x'.repeat(600) } })
  await db.transact(async (trx) => {
    for (let n = 0; n < EVENTS; n++) {
      const eventId = id('evt')
      await insertWebhookEvent(trx, shopId, { id: eventId, event, body, createdAt })
      const rows = ids.map((subscriptionId) => {
        const deliveryId = id('dlv')
        return { id: deliveryId, eventId, subscriptionId, webhookId: deliveryId, follows: null, createdAt }
      })
      await insertDeliveries(trx, shopId, rows)
    }
  }, shopId)
  return () =>
    db.transact(async (trx) => {
      await trx.deleteFrom('deliveries').where('shopId', '=', shopId).execute()
      await trx.deleteFrom('subscriptions').where('shopId', '=', shopId).execute()
    }, shopId)
}
