import SQLite from 'better-sqlite3'
import { measure, type Rounds, ratios, spreadOf } from '../harness/compare.ts'
import { type DataSet, sqliteData } from '../harness/data.ts'
import type { Options } from '../harness/options.ts'
import { millis, print, say } from '../harness/report.ts'
import { launchOurs, type Subject } from '../harness/subject.ts'
import { LIST } from './lists.ts'

/** P5: the slowest lists while two clients continuously request analytics of the whole large database. */
export async function p5({ rounds, seconds, rows }: Options): Promise<void> {
  const data = await sqliteData(rows)
  const ours = await launchOurs({ DATABASE_URL: data.url })
  const job = { template: LIST, keys: data.keys.slice(10), connections: 8, seconds }
  await measure(ours, { ...job, seconds: 5 })
  const [alone, underLoad]: [number[], number[]] = [[], []]
  let asked = 0
  const alongside = async () => {
    const stop = new AbortController()
    const clients = [0, 1].map(async (n) => {
      while (!stop.signal.aborted) asked += await askAnalytics(ours, data.keys[n] ?? '')
    })
    const sample = await measure(ours, job)
    stop.abort()
    await Promise.all(clients)
    return sample
  }
  for (let round = 0; round < rounds; round++) {
    const first = round % 2 === 0
    if (first) alone.push((await measure(ours, job)).p99Micros)
    underLoad.push((await alongside()).p99Micros)
    if (!first) alone.push((await measure(ours, job)).p99Micros)
  }
  print({
    goal: 'P5',
    what: `list p99 alongside 2 analytics clients, ${rows.toLocaleString('en')} rows ÷ alone`,
    wanted: { most: 2 },
    result: spreadOf(underLoad.map((p99, n) => p99 / (alone[n] ?? Number.NaN))),
    ours: millis(spreadOf(underLoad).median),
    floor: millis(spreadOf(alone).median),
  })
  say(`${asked} analytics requests served during the run`)
  await ours.stop()
}

/** Before the first order. */
const FROM = new Date(Date.now() - 120 * 86_400_000).toISOString()

async function askAnalytics({ url }: Subject, key: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/analytics?from=${FROM}`, { headers: { Authorization: `Bearer ${key}` } })
  if (response.status !== 200) throw new Error(`analytics answered ${response.status}: ${await response.text()}`)
  await response.arrayBuffer()
  return 1
}

/** P9: the page after the item at 90%, compared with the first page. */
export async function p9({ rounds, seconds, rows }: Options): Promise<void> {
  const data = await sqliteData(rows)
  const ours = await launchOurs({ DATABASE_URL: data.url })
  const base = { keys: data.keys, connections: 4, seconds }
  const first = { ...base, template: LIST }
  const deep = { ...base, template: { ...LIST, path: `${LIST.path}&after=${itemAt(data, Math.floor(rows * 0.9))}` } }
  await measure(ours, { ...first, seconds: 5 })
  await measure(ours, deep)
  // Two names for one server, so that the two pages can be compared as two servers are.
  const far = { ...ours, name: 'far' }
  const measured: Rounds = new Map([
    [ours, []],
    [far, []],
  ])
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? [ours, far] : [far, ours]
    for (const subject of order) measured.get(subject)?.push(await measure(ours, subject === far ? deep : first))
  }
  const p50 = (subject: Subject) => millis(spreadOf((measured.get(subject) ?? []).map((one) => one.p50Micros)).median)
  print({
    goal: 'P9',
    what: `p50 of a page at 90% of ${rows.toLocaleString('en')} rows ÷ page 1`,
    wanted: { most: 1.5 },
    result: ratios(measured, [far, ours], (sample) => sample.p50Micros),
    ours: p50(far),
    floor: p50(ours),
  })
  await ours.stop()
}

function itemAt({ url, shopId }: DataSet, place: number): string {
  const database = new SQLite(url.slice('file:'.length), { readonly: true })
  const find = database.prepare<[string, number], { id: string }>(
    'select id from commissions where "shopId" = ? order by "happenedAt" desc, id desc limit 1 offset ?',
  )
  const id = find.get(shopId, place)?.id ?? ''
  database.close()
  return id
}
