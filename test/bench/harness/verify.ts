import { equal, ok } from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import SQLite from 'better-sqlite3'
import { decide } from '../../../server/src/engine/decide.ts'
import { parseFacts } from '../../../server/src/engine/stored-facts.ts'
import { run } from '../../support/process.ts'
import type { DataSet } from './data.ts'
import type { Template } from './load.ts'

/** How many rows there were before the load. */
export interface Before {
  commissions: number
  replies: number
}

const fileOf = ({ url }: Pick<DataSet, 'url'>) => url.slice('file:'.length)

export function countBefore(data: DataSet): Before {
  const database = new SQLite(fileOf(data), { readonly: true })
  const { commissions, replies } = database.prepare(COUNTS).get() as Before
  database.close()
  return { commissions, replies }
}

const COUNTS = `
  select (select count(*) from commissions) commissions, (select count(*) from "idempotencyKeys") replies,
    (select count(*) from audits where action = 'commission.created') audits,
    (select sum("commissionAmountCents") from commissions) cents`

/** Checks after a load that every acknowledged order is stored once, and that all sums and counts agree. Throws otherwise. */
export async function verify(data: DataSet, before: Before, record: string): Promise<string> {
  const database = new SQLite(fileOf(data), { readonly: true })
  const find = database.prepare<[string, string], { count: number }>(
    'select count(*) count from commissions where "shopId" = ? and id = ?',
  )
  const told = new Set<string>()
  for await (const line of createInterface({ input: createReadStream(record) })) {
    ok(line.startsWith('201 '), `not a success: ${line}`)
    const { id } = JSON.parse(line.slice(4)).commission
    ok(!told.has(id), `${id} was told twice`)
    told.add(id)
    equal(find.get(data.shopId, id)?.count, 1, `${id} was told and is not there`)
  }
  const after = database.prepare(COUNTS).get() as Before & { audits: number; cents: number }
  equal(after.audits, after.commissions, 'audits and commissions')
  equal(after.replies - before.replies, after.commissions - before.commissions, 'idempotency records and commissions')
  let cents = 0
  for (const { facts } of database.prepare<[], { facts: string }>('select facts from orders').iterate())
    cents += decide(parseFacts(facts)).amountCents
  equal(cents, after.cents, 'the sum of commissions and of what the engine says')
  database.close()
  const checked = await run(['check', '--json'], {
    DATABASE_URL: data.url,
    REFERRAL_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  })
  equal(checked.code, 0, `check: ${checked.stdout}${checked.stderr}`)
  return `verified: ${told.size} answers of 201 are there once, Σ commissions = Σ engine(orders) = ${cents} cents, ${after.commissions} commissions = audits, ${after.replies} idempotency records, check is clean`
}

/** Looks up every order over a separate connection when its response arrives. Throws when one is not stored yet. */
export async function answersAfterCommit(
  url: string,
  data: DataSet,
  { path, headers, body = '' }: Template,
): Promise<string> {
  const database = new SQLite(fileOf(data), { readonly: true })
  const find = database.prepare('select 1 from commissions where "shopId" = ? and id = ?')
  let seen = 0
  const client = async (n: number) => {
    for (let turn = 0; turn < 50; turn++) {
      const fill = (text: string) => text.replaceAll('<n>', `p${n}-${turn}`).replaceAll('<key>', data.keys[n] ?? '')
      const filled = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]))
      const response = await fetch(url + path, { method: 'POST', headers: filled, body: fill(body) })
      const { commission } = (await response.json()) as { commission: { id: string } }
      ok(find.get(data.shopId, commission.id), `${commission.id} was answered before it was committed`)
      seen++
    }
  }
  await Promise.all(Array.from({ length: 32 }, (_, n) => client(n)))
  database.close()
  return `${seen} orders were each visible to another connection when their answer arrived`
}
