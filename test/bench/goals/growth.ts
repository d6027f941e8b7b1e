import { statSync } from 'node:fs'
import SQLite from 'better-sqlite3'
import { createCluster } from '../../support/postgres-cluster.ts'
import { measure } from '../harness/compare.ts'
import { copyOf, type DataSet, fill } from '../harness/data.ts'
import type { Options } from '../harness/options.ts'
import { say } from '../harness/report.ts'
import { launchOurs } from '../harness/subject.ts'
import { orderOf } from './conversions.ts'
import { administer } from './postgres.ts'

/** Bytes by table or index. */
type Sizes = Map<string, number>

/** Written bytes so far, in the database and in its log. */
interface Written {
  orders: number
  sizes: Sizes
  wal: number
}

/** How many bytes an order adds to the database and writes to its log, and which tables and indexes they are in. */
export async function growth({ seconds }: Options): Promise<void> {
  await sqliteGrowth(seconds)
  await postgresGrowth(seconds)
}

async function sqliteGrowth(seconds: number): Promise<void> {
  const { data, remove } = await copyOf(10_000)
  const file = data.url.slice('file:'.length)
  const database = new SQLite(file)
  const ours = await launchOurs({ DATABASE_URL: data.url })
  const read = (): Written => ({
    orders: database.prepare('select count(*) from orders').pluck().get() as number,
    sizes: new Map(
      database.prepare('select name, sum(pgsize) from dbstat group by name').raw().all() as [string, number][],
    ),
    wal: statSync(`${file}-wal`).size,
  })
  const before = read()
  // An open snapshot keeps SQLite from writing over the start of the log.
  const reader = new SQLite(file)
  reader.exec('begin; select count(*) from shops')
  await order(ours, data, seconds)
  const after = read()
  report('SQLite', before, after)
  reader.close()
  database.close()
  await ours.stop()
  remove()
}

async function postgresGrowth(seconds: number): Promise<void> {
  const cluster = await createCluster(['shared_buffers=256MB', 'autovacuum=off'])
  try {
    await administer(cluster.urlOf('postgres'), 'create database growth')
    const data = await fill(cluster.urlOf('growth'), 1000)
    const ours = await launchOurs({ DATABASE_URL: data.url })
    const { default: pg } = await import('pg')
    const client = new pg.Client(data.url)
    await client.connect()
    const read = async (): Promise<Written> => {
      const { rows } = await client.query(`
        select relname as name, pg_relation_size(oid)::float8 as bytes from pg_class
        where relkind in ('r', 'i', 't') and relnamespace <> 'pg_catalog'::regnamespace`)
      const { rows: totals } = await client.query(`
        select (select count(*)::int from orders) as orders, (pg_current_wal_insert_lsn() - '0/0')::float8 as wal`)
      return { ...totals[0], sizes: new Map(rows.map(({ name, bytes }) => [name, bytes])) }
    }
    // A full page is logged at its first change after a checkpoint; without one, the log shows the orders alone.
    await order(ours, data, seconds)
    const before = await read()
    await order(ours, data, seconds)
    report('PostgreSQL', before, await read())
    await client.end()
    await ours.stop()
  } finally {
    await cluster.remove()
  }
}

const order = (ours: Parameters<typeof measure>[0], data: DataSet, seconds: number) =>
  measure(ours, { template: orderOf(data), keys: data.keys, connections: 32, seconds })

function report(engine: string, before: Written, after: Written): void {
  const orders = after.orders - before.orders
  const grown = [...after.sizes].map(
    ([name, bytes]) => [name, (bytes - (before.sizes.get(name) ?? 0)) / orders] as const,
  )
  const all = grown.reduce((sum, [, bytes]) => sum + bytes, 0)
  const wal = (after.wal - before.wal) / orders
  say(`${engine}: ${Math.round(all)} bytes and ${Math.round(wal)} bytes of log per order, over ${orders} orders`)
  for (const [name, bytes] of grown.toSorted((a, b) => b[1] - a[1]))
    if (bytes >= 10) console.log(`${Math.round(bytes).toString().padStart(9)}  ${name}`)
}
