import { createCluster } from '../../support/postgres-cluster.ts'
import { compare } from '../harness/compare.ts'
import { fill } from '../harness/data.ts'
import type { Options } from '../harness/options.ts'
import { printRates } from '../harness/rates.ts'
import { launchOther, launchOurs } from '../harness/subject.ts'
import { orderOf, sameReply } from './conversions.ts'
import { LIST, sameAnswer } from './lists.ts'

/** Ten thousand rows through the engine would take minutes here; nine copies of a thousand do not. */
const SEEDED = 1000
const COPIES = `
  create temp table copied as select * from commissions;
  do $$ begin for copy in 1..9 loop
    update copied set id = left(id, 30) || '-' || copy, "orderId" = split_part("orderId", '~', 1) || '~' || copy;
    insert into commissions select * from copied;
  end loop; end $$`

/** Autovacuum does this within a minute, for one of two servers in the middle of a round. */
export const ANALYZE = 'vacuum analyze'

/** P8: PostgreSQL with every safeguard, compared with `pg` with a single write statement and named statements. */
export async function p8({ rounds, seconds }: Options): Promise<void> {
  const cluster = await createCluster(['shared_buffers=256MB'])
  try {
    const maintenance = cluster.urlOf('postgres')
    await administer(maintenance, 'create database ours')
    const data = await fill(cluster.urlOf('ours'), SEEDED)
    await administer(data.url, COPIES)
    await administer(data.url, ANALYZE)
    await administer(maintenance, 'create database floor template ours')
    const ours = await launchOurs({ DATABASE_URL: data.url })
    const floor = await launchOther('floor', 'floor/postgres.ts', { DATABASE_URL: cluster.urlOf('floor') })
    await sameAnswer([ours, floor], data)
    await sameReply([ours, floor], data)
    for (const [what, template] of [
      ['conversions ÷ one CTE statement', orderOf(data)],
      ['lists of 19 pages ÷ named statements', { ...LIST, path: `${LIST.path}&page=<page>` }],
    ] as const) {
      const jobOf = () => ({ template, keys: data.keys, connections: 32, seconds })
      const measured = await compare([ours, floor], { jobOf, rounds, warmUpSeconds: 3 })
      const goal = { goal: 'P8', what: `PostgreSQL: ${what}`, wanted: { least: 0.8 }, cpuMost: 1.5 }
      printRates(goal, measured, [ours, floor])
    }
    await Promise.all([ours.stop(), floor.stop()])
  } finally {
    await cluster.remove()
  }
}

export async function administer(url: string, statement: string): Promise<void> {
  const { default: pg } = await import('pg')
  const client = new pg.Client(url)
  await client.connect()
  await client.query(statement)
  await client.end()
}
