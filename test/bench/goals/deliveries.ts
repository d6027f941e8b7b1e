import { spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import SQLite from 'better-sqlite3'
import { readConfig } from '../../../server/src/config.ts'
import { createDeps } from '../../../server/src/core/context.ts'
import { insertDeliveries, insertWebhookEvent } from '../../../server/src/core/outbox.ts'
import { openDatabase } from '../../../server/src/database/open.ts'
import { deleteRows, insertRow } from '../../../server/src/database/rows.ts'
import { listSubscriptions, PLAIN_SUBSCRIPTION } from '../../../server/src/domains/webhooks/queries.ts'
import { spreadOf } from '../harness/compare.ts'
import { CACHE, copyOf, type DataSet } from '../harness/data.ts'
import type { Options } from '../harness/options.ts'
import { perSecond, print } from '../harness/report.ts'
import { launchOther, launchOurs } from '../harness/subject.ts'

const SUBSCRIBERS = 50
const DELIVERIES = 10_000
const FLOOR = fileURLToPath(new URL('../floor/deliveries.ts', import.meta.url))

/** P7: emptying a full outbox with every result stored, compared with sending alone; and with a subscriber that hangs. */
export async function p7({ rounds }: Options): Promise<void> {
  const receiver = await launchOther('receiver', 'floor/receiver.ts', {})
  const [rates, floors, alone, hanging]: [number[], number[], number[], number[]] = [[], [], [], []]
  for (let round = 0; round < Math.min(rounds, 3); round++) {
    const usual = await empty(receiver.url, { hangs: false })
    floors.push(usual.floor)
    rates.push(usual.rate)
    alone.push(usual.p99)
    hanging.push((await empty(receiver.url, { hangs: true })).p99)
  }
  await receiver.stop()
  print({
    goal: 'P7',
    what: 'deliveries with outbox ÷ bare undici Pool + HMAC',
    wanted: { least: 0.6 },
    result: spreadOf(rates.map((rate, n) => rate / (floors[n] ?? Number.NaN))),
    ours: perSecond(spreadOf(rates).median),
    floor: perSecond(spreadOf(floors).median),
  })
  print({
    goal: 'P7',
    what: `p99 of the others when 1 of ${SUBSCRIBERS} hangs ÷ when none does`,
    wanted: { most: 2 },
    result: spreadOf(hanging.map((p99, n) => p99 / (alone[n] ?? Number.NaN))),
    ours: `${Math.round(spreadOf(hanging).median)} ms`,
    floor: `${Math.round(spreadOf(alone).median)} ms`,
  })
}

/** Fills an outbox, sends it with the floor, then lets the server empty it. */
async function empty(receiver: string, { hangs }: { hangs: boolean }) {
  const { data, remove } = await copyOf(10_000)
  await fillOutbox(data, receiver, hangs)
  const sent = spawnSync(process.execPath, [FLOOR], {
    env: { DATABASE_URL: data.url, RECEIVER: receiver },
    encoding: 'utf8',
  })
  const { seconds } = JSON.parse(sent.stdout) as { seconds: number }
  await (await fetch(`${receiver}/stats`)).json()
  const ours = await launchOurs({ DATABASE_URL: data.url, REFERRAL_WEBHOOK_ALLOW: new URL(receiver).host })
  const { took } = await settled(data, hangs ? DELIVERIES / SUBSCRIBERS : 0)
  const { p99 } = (await (await fetch(`${receiver}/stats`)).json()) as { p99: number }
  await ours.stop()
  remove()
  return { floor: DELIVERIES / seconds, rate: took, p99 }
}

/** Deliveries recorded per second from the first to the last; those for a receiver that hangs may remain. */
async function settled({ url }: DataSet, left: number): Promise<{ took: number }> {
  const database = new SQLite(url.slice('file:'.length), { readonly: true })
  const waiting = database.prepare<[], { count: number }>(
    `select count(*) count from deliveries where status = 'PENDING'`,
  )
  const until = performance.now() + 60_000
  let began: { at: number; count: number } | undefined
  for (;;) {
    const { count = 0 } = waiting.get() ?? {}
    const at = performance.now()
    if (!began && count < DELIVERIES) began = { at, count }
    if (began && count <= left) {
      database.close()
      return { took: ((began.count - count) / (at - began.at)) * 1000 }
    }
    if (at > until) throw new Error(`${count} deliveries still wait after a minute`)
    await sleep(5)
  }
}

async function fillOutbox({ url, shopId }: DataSet, receiver: string, hangs: boolean): Promise<void> {
  const db = await openDatabase(url)
  const key = Buffer.alloc(32, 7).toString('base64')
  const config = readConfig({ DATABASE_URL: url, REFERRAL_DATA_DIR: CACHE, REFERRAL_ENCRYPTION_KEY: key })
  const deps = createDeps({ ...config, logLevel: 'silent' }, db)
  const at = new Date().toISOString()
  await db.transact(async (trx) => {
    for (const { id } of await listSubscriptions(trx, shopId)) await deleteRows(trx, 'subscriptions', { shopId, id })
    const ids = Array.from({ length: SUBSCRIBERS }, () => deps.newId('whs'))
    for (const [n, id] of ids.entries()) {
      const target = hangs && n === 0 ? `${receiver}/hang` : `${receiver}/${n}`
      const secret = deps.vault.seal('whsec', id)
      const row = { id, url: target, events: '[]', source: 'API', secret, createdAt: at, updatedAt: at }
      await insertRow(trx, 'subscriptions', { shopId, ...PLAIN_SUBSCRIPTION, ...row })
    }
    for (let n = 0; n < DELIVERIES; n++) {
      const [eventId, id] = [deps.newId('evt'), deps.newId('dlv')]
      const event = 'commission.created'
      const body = JSON.stringify({
        event,
        timestamp: at,
        shop_id: shopId,
        data: { id: `com_${n}`, amountCents: 12_345, note: 'x'.repeat(600) },
      })
      await insertWebhookEvent(trx, shopId, { id: eventId, event, body, createdAt: at })
      const subscriptionId = ids[n % SUBSCRIBERS] ?? ''
      await insertDeliveries(trx, shopId, [
        { id, eventId, subscriptionId, webhookId: id, follows: null, createdAt: at },
      ])
    }
  }, shopId)
  await db.close()
}
