import { createCluster, type PostgresCluster } from '../../support/postgres-cluster.ts'
import { compare, measure, type Sample, spreadOf } from '../harness/compare.ts'
import { cpuSecondsOf, postmasterOf } from '../harness/cpu.ts'
import { type DataSet, fill } from '../harness/data.ts'
import { roundTripMs, startDelayProxy } from '../harness/delay-proxy.ts'
import type { Options } from '../harness/options.ts'
import { printRates } from '../harness/rates.ts'
import { perSecond, print, say } from '../harness/report.ts'
import { launchOurs, type Subject } from '../harness/subject.ts'
import { orderOf } from './conversions.ts'
import { ANALYZE, administer } from './postgres.ts'

const DELAY_MS = 1

/** P11: orders of one shop, with PostgreSQL a millisecond away, against the same server without the delay. */
export async function p11({ rounds, seconds }: Options): Promise<void> {
  const cluster = await createCluster(['shared_buffers=256MB'])
  try {
    await administer(cluster.urlOf('postgres'), 'create database ours')
    const data = await fill(cluster.urlOf('ours'), 1000)
    await administer(data.url, ANALYZE)
    const proxy = await startDelayProxy(new URL(data.url), DELAY_MS)
    const near = await launchOurs({ DATABASE_URL: data.url })
    const far = await launchOurs({ DATABASE_URL: proxy.url })
    const jobOf = () => ({ template: orderOf(data), keys: data.keys, connections: 32, seconds })
    const measured = await compare([far, near], { jobOf, rounds, warmUpSeconds: 3 })
    printRates({ goal: 'P11', what: `orders with ${DELAY_MS} ms of network`, wanted: { least: 0.5 } }, measured, [
      far,
      near,
    ])
    say(`a round trip through the proxy takes ${(await roundTripMs(DELAY_MS)).toFixed(2)} ms`)
    await Promise.all([far.stop(), near.stop()])
    proxy.close()
  } finally {
    await cluster.remove()
  }
}

const SHOPS = 50
const KEYS_PER_SHOP = 20
const CONNECTIONS = 48

interface Round {
  perSecond: number
  /** Seconds of CPU per second, and of that PostgreSQL's. */
  servers: number
  postgres: number
}

/** P12: orders of many shops, through three processes against one, on the same PostgreSQL. */
export async function p12({ rounds, seconds }: Options): Promise<void> {
  const cluster = await createCluster(['shared_buffers=256MB', 'max_connections=200'])
  try {
    const data = await fillShops(cluster)
    const three = await Promise.all([1, 2, 3].map(() => launchOurs({ DATABASE_URL: data.url })))
    const one = three.slice(0, 1)
    const parent = await postmasterOf(data.url)
    const load = (subjects: Subject[], time: number) => loadTogether(subjects, data, { seconds: time, parent })
    await load(three, 3)
    const pairs: { three: Round; one: Round }[] = []
    for (let round = 0; round < rounds; round++) {
      const first = await load(round % 2 ? one : three, seconds)
      const second = await load(round % 2 ? three : one, seconds)
      pairs.push(round % 2 ? { three: second, one: first } : { three: first, one: second })
    }
    const figure = (of: 'three' | 'one', what: keyof Round) => spreadOf(pairs.map((pair) => pair[of][what])).median
    print({
      goal: 'P12',
      what: `orders of ${SHOPS} shops, 3 processes ÷ 1`,
      wanted: { least: 1 },
      result: spreadOf(pairs.map((pair) => pair.three.perSecond / pair.one.perSecond)),
      ours: perSecond(figure('three', 'perSecond')),
      floor: perSecond(figure('one', 'perSecond')),
    })
    for (const [of, name] of [
      ['three', '3 processes'],
      ['one', '1 process'],
    ] as const) {
      const [servers, postgres] = [figure(of, 'servers'), figure(of, 'postgres')]
      say(`${name}: ${servers.toFixed(2)} cores in the server, ${postgres.toFixed(2)} in PostgreSQL`)
    }
    await Promise.all(three.map((subject) => subject.stop()))
  } finally {
    await cluster.remove()
  }
}

/** Shops of one affiliate each, all with the same code. Consecutive keys belong to different shops. */
async function fillShops(cluster: PostgresCluster): Promise<DataSet> {
  await administer(cluster.urlOf('postgres'), 'create database ours')
  const all: DataSet[] = []
  for (let shop = 0; shop < SHOPS; shop++) all.push(await fill(cluster.urlOf('ours'), 0, KEYS_PER_SHOP))
  await administer(
    cluster.urlOf('ours'),
    `update affiliates set "discountCode" = 'BENCH', "codeKey" = 'bench'; analyze`,
  )
  const keys = Array.from({ length: KEYS_PER_SHOP }, (_, n) => all.map((shop) => shop.keys[n]!)).flat()
  return { ...all[0]!, keys, codes: ['BENCH'] }
}

async function loadTogether(
  subjects: Subject[],
  data: DataSet,
  { seconds, parent }: { seconds: number; parent: number },
): Promise<Round> {
  const before = cpuSecondsOf(parent)
  const connections = CONNECTIONS / subjects.length
  const load = { template: orderOf(data), keys: data.keys, connections, seconds }
  const samples: Sample[] = await Promise.all(subjects.map((subject) => measure(subject, load)))
  const servers = samples.reduce((sum, { cpuMicros, requests }) => sum + (cpuMicros * requests) / 1e6, 0)
  return {
    perSecond: samples.reduce((sum, one) => sum + one.perSecond, 0),
    servers: servers / seconds,
    postgres: (cpuSecondsOf(parent) - before) / seconds,
  }
}
