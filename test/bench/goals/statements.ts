import SQLite from 'better-sqlite3'
import { findKeyWithShop, findShop } from '../../../server/src/accounts/queries.ts'
import {
  findAffiliateByCode,
  findAffiliateBySlug,
  findAffiliatesById,
  findConnectedAffiliate,
} from '../../../server/src/affiliates/queries.ts'
import { listCommissions } from '../../../server/src/commissions/list-queries.ts'
import { findResponseRow } from '../../../server/src/core/idempotency.ts'
import { listSubscriptionFilters } from '../../../server/src/core/outbox.ts'
import { openDatabase } from '../../../server/src/database/database.ts'
import { findClick, findSessionClicks } from '../../../server/src/journey/queries.ts'
import { findOrder } from '../../../server/src/orders/queries.ts'
import { findGeoRules, findProductRules, findPrograms } from '../../../server/src/programs/queries.ts'
import { spreadOf } from '../harness/compare.ts'
import { type DataSet, sqliteData } from '../harness/data.ts'
import type { Options } from '../harness/options.ts'
import { print, say } from '../harness/report.ts'

const RUNS = 4000

/** P6: every SELECT of a list and of an order as it reaches the driver, compared with the same one with `+?`. */
export async function p6({ rounds }: Options): Promise<void> {
  const data = await sqliteData(10_000)
  const shipped = await shippedSelects(data)
  const database = new SQLite(data.url.slice('file:'.length), { readonly: true })
  const worst: { text: string; ratio: number }[] = []
  for (const [text, parameters] of shipped) {
    const stableText = text.replace(/(=|limit|offset) \?/gi, '$1 +?')
    if (stableText === text) continue
    const statement = database.prepare(text)
    const stable = database.prepare(stableText)
    const taken: number[] = []
    for (let round = 0; round <= rounds; round++) {
      const [first, second] = round % 2 === 0 ? [statement, stable] : [stable, statement]
      const [a, b] = [microsOf(first, parameters), microsOf(second, parameters)]
      const [mine, other] = round % 2 === 0 ? [a, b] : [b, a]
      // The first one warms up.
      if (round > 0) taken.push(mine / other)
    }
    worst.push({ text, ratio: spreadOf(taken).median })
  }
  database.close()
  // A statement that already uses +? is compared with itself.
  const ratio = spreadOf([...shipped].map(([text]) => worst.find((one) => one.text === text)?.ratio ?? 1))
  print({
    goal: 'P6',
    what: `${shipped.size} hot SELECTs as shipped ÷ with +?, the slowest`,
    wanted: { most: 1.15 },
    ratio: { ...ratio, median: ratio.max },
    ours: `${shipped.size - worst.length} with +?`,
    floor: `${worst.length} without`,
  })
  for (const { text, ratio } of worst.filter((one) => one.ratio > 1.15)) say(`${ratio.toFixed(2)} ${text}`)
}

/** Values change with every run, as in production, which makes SQLite plan again. */
function microsOf(statement: SQLite.Statement, parameters: unknown[]): number {
  const other = parameters.map((value) => (typeof value === 'string' ? `${value}?` : value))
  const started = performance.now()
  for (let run = 0; run < RUNS; run++) statement.all(...(run % 2 === 0 ? parameters : other))
  return ((performance.now() - started) * 1000) / RUNS
}

/** The statements that the server's own functions pass to the driver, with the values of one call. */
async function shippedSelects({ url, shopId, codes }: DataSet): Promise<Map<string, unknown[]>> {
  const seen = new Map<string, unknown[]>()
  const prepare = SQLite.prototype.prepare
  SQLite.prototype.prepare = function (this: SQLite.Database, text: string) {
    const statement = prepare.call(this, text)
    const all = statement.all.bind(statement)
    statement.all = (...parameters: unknown[]) => {
      if (/^select/i.test(text)) seen.set(text, parameters)
      return (all as (...values: unknown[]) => unknown[])(...parameters)
    }
    return statement
  } as typeof prepare
  const { read, close } = await openDatabase(url)
  const code = codes[0]?.toLowerCase() ?? ''
  const [affiliate] = await findAffiliatesById(read, shopId, [
    (await findAffiliateByCode(read, shopId, code))?.id ?? '',
  ])
  const programId = affiliate?.campaignId ?? ''
  await findKeyWithShop(read, 'hash')
  await findShop(read, shopId)
  await listCommissions(read, shopId, { page: 1, limit: 20 })
  await findResponseRow(read, shopId, 'key')
  await findOrder(read, shopId, 'api:1')
  const orderAt = new Date().toISOString()
  await findClick(read, shopId, 'unknown', orderAt)
  await findSessionClicks(read, shopId, { sessionId: 'unknown', orderAt }, 100)
  await findAffiliateBySlug(read, shopId, code)
  await findPrograms(read, shopId, [programId])
  await findConnectedAffiliate(read, shopId, 'customerEmail', 'a@example.com')
  await findProductRules(read, shopId, programId, [{ productId: '1', variantId: '2' }])
  await findGeoRules(read, shopId, programId)
  await listSubscriptionFilters(read, shopId)
  await close()
  SQLite.prototype.prepare = prepare
  return seen
}
