import pg from 'pg'
import { createCluster } from '../../support/postgres-cluster.ts'
import { measure } from '../harness/compare.ts'
import { cpuSecondsOf, postmasterOf } from '../harness/cpu.ts'
import { type DataSet, fill } from '../harness/data.ts'
import type { Template } from '../harness/load.ts'
import type { Options } from '../harness/options.ts'
import { say } from '../harness/report.ts'
import { launchOurs, type Subject } from '../harness/subject.ts'
import { orderOf } from './conversions.ts'
import { LIST } from './lists.ts'
import { administer } from './postgres.ts'

const LIST_SECONDS = 2
/** Processes that serve a connection: autovacuum would count for the order during which it runs. */
const SERVES_CLIENT = /\(\d+\)/

/**
 * The CPU time of PostgreSQL per order and per list while a read transaction stays open, as `pg_dump` and reports keep one.
 * PostgreSQL cannot remove the earlier versions of changed rows during this time. One line per round.
 */
export async function snapshot({ rounds, seconds }: Options): Promise<void> {
  const settings = process.env.BENCH_STATEMENTS
    ? ['shared_preload_libraries=pg_stat_statements', 'pg_stat_statements.track=all']
    : []
  const cluster = await createCluster(['shared_buffers=256MB', ...settings])
  try {
    await administer(cluster.urlOf('postgres'), 'create database ours')
    const data = await fill(cluster.urlOf('ours'), 1000)
    const ours = await launchOurs({ DATABASE_URL: data.url })
    const parent = await postmasterOf(data.url)
    const round = (name: string) => runRound({ ours, data, parent, seconds, name })
    await round('warm-up')
    await round('without a snapshot')
    const reader = new pg.Client(data.url)
    await reader.connect()
    await reader.query('begin isolation level repeatable read')
    await reader.query('select count(*) from shops')
    const startedAt = performance.now()
    for (let n = 0; n < rounds; n++) {
      await round(`snapshot open for ${Math.round((performance.now() - startedAt) / 1000)} s`)
    }
    await statements(data.url)
    await reader.query('rollback')
    await reader.end()
    await round('snapshot closed')
    await ours.stop()
  } finally {
    await cluster.remove()
  }
}

interface Round {
  ours: Subject
  data: DataSet
  parent: number
  seconds: number
  name: string
}

async function runRound({ ours, data, parent, seconds, name }: Round): Promise<void> {
  const figures = async (template: Template, time: number) => {
    const before = cpuSecondsOf(parent, SERVES_CLIENT)
    const { requests, perSecond } = await measure(ours, { template, keys: data.keys, connections: 32, seconds: time })
    return `${Math.round(perSecond)}/s, ${Math.round(((cpuSecondsOf(parent, SERVES_CLIENT) - before) * 1e6) / requests)} µs of PostgreSQL`
  }
  say(`${name}: orders ${await figures(orderOf(data), seconds)}; lists ${await figures(LIST, LIST_SECONDS)}`)
}

/** The statements that took the most time, if `BENCH_STATEMENTS` is set. */
async function statements(url: string): Promise<void> {
  if (!process.env.BENCH_STATEMENTS) return
  const client = new pg.Client(url)
  await client.connect()
  await client.query('create extension if not exists pg_stat_statements')
  const { rows } =
    await client.query(`select calls, round(total_exec_time) as ms, left(regexp_replace(query, '\\s+', ' ', 'g'), 110) as query
    from pg_stat_statements order by total_exec_time desc limit 25`)
  for (const { calls, ms, query } of rows)
    console.log(`${String(ms).padStart(8)} ms ${String(calls).padStart(8)} × ${query}`)
  await client.end()
}
