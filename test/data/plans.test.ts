import type { CompiledQuery } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../server/src/db/database.ts'
import { findAffiliatesById } from '../../server/src/repositories/affiliates.ts'
import { findCommissionsById } from '../../server/src/repositories/commission-moves.ts'
import { findPrograms } from '../../server/src/repositories/programs.ts'
import { runAside } from '../../server/src/services/analytics-sums.ts'
import { keepHouse } from '../../server/src/services/housekeeping.ts'
import { engine } from '../support/database.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'

type Execute = (query: CompiledQuery) => Promise<{ rows: unknown[] }>

let server: TestServer
/** Plans are asked of a connection of their own. */
let asked: Database
let ids: { affiliate: string; program: string; commission: string; batch: string; subscription: string }
const seen = new Map<string, CompiledQuery>()

/** Tables that grow with a shop's business; walking through the others costs nothing. */
const BIG = ['commissions', 'affiliates', 'journey', 'orders', 'audits', 'payoutBatches', 'deliveries', 'webhookEvents']

beforeAll(async () => {
  server = await testServer()
  ids = await fill()
  for (const table of BIG) multiply(table)
  server.sql.exec('analyze')
  if (engine === 'postgres')
    server.sql.exec(`alter database ${new URL(server.url).pathname.slice(1)} set enable_seqscan = off`)
  // SQLite plans without statistics unless somebody has made some.
  else server.sql.exec('delete from sqlite_stat1')
  asked = await openDatabase(server.url)
  watch(server.db.read.getExecutor() as unknown as { executeQuery: Execute })
  const { transact } = server.db
  server.db.transact = (work, shopId) =>
    transact((trx) => {
      watch(trx.getExecutor() as unknown as { executeQuery: Execute })
      return work(trx)
    }, shopId)
})
afterAll(async () => {
  await asked.close()
  await server.close()
})

const watched = new WeakSet<object>()
function watch(executor: { executeQuery: Execute }): void {
  if (watched.has(executor)) return
  watched.add(executor)
  const execute = executor.executeQuery
  executor.executeQuery = (query) => {
    if (/^\s*(select|with|delete)/i.test(query.sql)) seen.set(query.sql, query)
    return execute.call(executor, query)
  }
}

async function fill() {
  const { program, affiliate } = await withAffiliate(server)
  const owner = { Authorization: `Bearer ${server.shop.ownerToken}` }
  const hook = { url: 'https://93.184.215.14/hook', events: [] }
  const made = await server.request('POST', '/api/v1/webhooks', { body: hook })
  await server.request('POST', '/api/v1/events', { body: { type: 'click', ref: affiliate.slug, sessionId: 's' } })
  await convert(server, { externalOrderId: '1', amountCents: 1000, couponCode: 'NISA16', customerEmail: 'a@x.de' })
  const period = { periodStart: '2026-11-01', periodEnd: '2026-11-30' }
  const batch = await server.request('POST', '/api/v1/payouts', { body: period })
  await server.request('GET', '/admin/v1/connections', { key: null, headers: owner })
  const [commission] = (await server.request('GET', '/api/v1/commissions')).body.data
  return {
    affiliate: affiliate.id,
    program: program.id,
    commission: commission.id,
    batch: batch.body.data.id,
    subscription: made.body.data.id,
  }
}

/** Gives a table as many rows as a busy shop has, all like its first one. */
function multiply(table: string): void {
  const row = server.sql.prepare(`select * from "${table}" limit 1`).get() as Record<string, unknown>
  const own: Record<string, string> = {
    id: `'x_' || (10000 + n.i)`,
    orderId: `'api:x' || n.i`,
    externalOrderId: `'x' || n.i`,
    emailKey: `'x' || n.i`,
    codeKey: `'x' || n.i`,
    slug: `'x' || n.i`,
    seq: '100 + n.i',
    happenedAt: `'2026-10-' || (10 + n.i % 20) || 'T12:00:00.000Z'`,
    occurredAt: `'2026-10-' || (10 + n.i % 20) || 'T12:00:00.000Z'`,
    sessionId: `'s' || n.i`,
    affiliateId: table === 'commissions' ? `'aff_' || n.i % 50` : 'r."affiliateId"',
    payoutBatchId: `'bat_' || n.i`,
  }
  // Of a tenth of all shops' rows: what walks through everybody's would be no better than walking through one's own.
  own.shopId = `case n.i % 10 when 0 then r."shopId" else 'shp_x' || n.i % 70 end`
  const columns = Object.keys(row)
  server.sql.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
    insert into "${table}" (${columns.map((name) => `"${name}"`)})
    select ${columns.map((name) => own[name] ?? `r."${name}"`)} from (select * from "${table}" limit 1) r, n`)
}

/** What a plan reads more of than it answers; empty when it finds its rows by an index. */
async function scansOf(query: CompiledQuery): Promise<string[]> {
  if (engine === 'postgres') {
    const executor = asked.read.getExecutor() as unknown as { executeQuery: Execute }
    const { rows } = await executor.executeQuery({ ...query, sql: `explain (format json) ${query.sql}` })
    return scansOnPostgres((rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan)
  }
  const plan = server.sql.prepare(`explain query plan ${query.sql}`).all(...query.parameters)
  const lines = (plan as { detail: string }[]).map(({ detail }) => detail)
  // Rows that come in the wanted order are read as far as the page goes.
  const isOrdered = / limit /i.test(query.sql) && !lines.some((line) => line.includes('TEMP B-TREE FOR ORDER BY'))
  return lines.filter((line) => {
    const [, how, table = '', by] = /^(SCAN|SEARCH) (\S+)(?:.*\((.*)\))?/.exec(line) ?? []
    // An index of the few affiliates that are not paid holds what is looked for and nothing else.
    if (!BIG.includes(table) || line.includes('affiliates_unpaid')) return false
    // What is older than an instant or an id is read from its end on, never all of it.
    return how === 'SCAN' || (by === 'shopId=?' && !isOrdered) || by === 'id<?'
  })
}

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Index Cond'?: string
  Plans?: Plan[]
}

/** With a limit, PostgreSQL may go by the ids where a shop has many of all rows: it knows how far that takes it. */
function scansOnPostgres(plan: Plan, isPaged = false): string[] {
  const paged = isPaged || plan['Node Type'] === 'Limit'
  const { 'Node Type': type, 'Relation Name': table = '', 'Index Cond': by } = plan
  const isScan = BIG.includes(table) && (type === 'Seq Scan' || (!paged && /^Index.*Scan$/.test(type) && !by))
  return [...(isScan ? [`${type} ${table}`] : []), ...(plan.Plans ?? []).flatMap((one) => scansOnPostgres(one, paged))]
}

/** Every way to leave filters out, up to two at once. */
const pairs = (filters: string[]): string[] => [
  '',
  ...filters,
  ...filters.flatMap((one, i) => filters.slice(i + 1).map((other) => `${one}&${other}`)),
]

async function call(path: string, owner = false): Promise<void> {
  const headers = { Authorization: `Bearer ${server.shop.ownerToken}` }
  const { status, body } = await server.request('GET', path, owner ? { key: null, headers } : {})
  expect([path, status, body.error]).toEqual([path, 200, undefined])
}

const found = async () => {
  const bad: string[] = []
  for (const query of seen.values()) for (const scan of await scansOf(query)) bad.push(`${scan}: ${query.sql}`)
  return bad
}

test('no list of the API walks through a table, whatever it is filtered by', async () => {
  seen.clear()
  const { affiliate, program, commission, batch } = ids
  const range = ['from=2026-10-12T08:00:00Z', 'to=2026-10-20']
  const lists: Record<string, string[]> = {
    commissions: [
      'status=PAID',
      `affiliateId=${affiliate}`,
      `programId=${program}`,
      `payoutBatchId=${batch}`,
      ...range,
    ],
    affiliates: ['status=APPROVED', `campaignId=${program}`],
    programs: ['status=PUBLISH'],
    payouts: [`id=${batch}`, 'status=OPEN', 'include=lines'],
    coupons: [`affiliateId=${affiliate}`, 'status=APPROVED'],
  }
  const first = {
    commissions: commission,
    affiliates: affiliate,
    programs: program,
    payouts: batch,
    coupons: affiliate,
  }
  for (const [list, filters] of Object.entries(lists)) {
    for (const filter of pairs(filters)) await call(`/api/v1/${list}?${filter}`)
    for (const filter of ['', ...filters])
      await call(`/api/v1/${list}?${filter}&after=${first[list as keyof typeof first]}`)
  }
  for (const id of ['1', 'api:1', 'none']) await call(`/api/v1/commissions?externalOrderId=${id}`)
  await call('/api/v1/commissions?page=25')
  for (const by of ['sessionId=s', `affiliateId=${affiliate}`, 'customerEmail=a@x.de'])
    await call(`/api/v1/journey?${by}`)
  await call('/api/v1/webhooks')
  expect(seen.size).toBeGreaterThan(60)
  expect(await found()).toEqual([])
})

test("neither do the owner's lists", async () => {
  seen.clear()
  for (const path of ['keys', 'connections?kind=product', 'product-rules', 'geo-rules', 'audit', 'deliveries']) {
    await call(`/admin/v1/${path}`, true)
  }
  // These walk, but aside: nothing is asked of the connection that everybody reads from.
  const filters = {
    deliveries: [`subscriptionId=${ids.subscription}`, 'status=FAILED', 'event=test'],
    audit: ['action=key.created', 'actor=operator', 'from=2026-11-01', 'to=2026-11-30'],
  }
  for (const [list, all] of Object.entries(filters))
    for (const filter of pairs(all)) await call(`/admin/v1/${list}?${filter}`, true)
  await call('/admin/v1/orders/1/explanation', true)
  expect(seen.size).toBeGreaterThan(8)
  expect(await found()).toEqual([])
})

test('nor does what an order, a batch or a report looks at', async () => {
  seen.clear()
  const { affiliate } = ids
  const lines = ['a', 'b', 'c'].map((productId) => ({ productId, quantity: 1, priceCents: 100 }))
  const body = {
    externalOrderId: '2',
    couponCode: 'NISA16',
    ref: 'nisa-karim',
    clickId: 'x',
    sessionId: 's',
    lineItems: lines,
  }
  await convert(server, { ...body, customerId: 'c', customerEmail: 'a@x.de' })
  const period = { periodStart: '2026-11-01', periodEnd: '2026-11-30', dryRun: true }
  await server.request('POST', '/api/v1/payouts', { body: period })
  const many = ['a', 'b', 'c', 'd', 'e', 'f']
  await findAffiliatesById(server.db.read, server.shop.shopId, many)
  await findPrograms(server.db.read, server.shop.shopId, many)
  await findCommissionsById(server.db.read, server.shop.shopId, many)
  const wish = {
    shopId: server.shop.shopId,
    currency: 'USD',
    from: '2026-10-20T00:00:00.000Z',
    to: '2026-10-25T00:00:00.000Z',
  }
  await runAside(server.db.read, wish)
  await runAside(server.db.read, { ...wish, affiliateId: affiliate })
  expect(seen.size).toBeGreaterThan(20)
  expect(await found()).toEqual([])
})

test('nor what is dropped when it has had its time', async () => {
  seen.clear()
  await keepHouse({ ...server.deps, config: { ...server.deps.config, journeyRetentionDays: 1 } })
  expect(seen.size).toBeGreaterThan(8)
  expect(await found()).toEqual([])
})

test('a query that does walk through a table is found', async () => {
  const db = asked.read
  const bad = [
    db.selectFrom('commissions').selectAll().where('orderName', '=', 'x').compile(),
    db.selectFrom('affiliates').selectAll().where('name', '=', 'x').compile(),
  ]
  for (const query of bad) expect(await scansOf(query)).toHaveLength(1)
})
