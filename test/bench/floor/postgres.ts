import { text } from 'node:stream/consumers'
import pg from 'pg'
import { admit, answer, type Caller, hashOf, KEY_SQL, listen } from './contract.ts'
import { COLUMNS } from './list-columns.ts'
import { type Conversion, emailHashes, factsOf, type Gathered, INSERTED, type Link, orderOf, record } from './order.ts'

/**
 * The floor on PostgreSQL: `pg` with named statements; an order is one statement that reads and one that writes all its
 * rows. The head of the audit chain is kept in memory, which only a single process may do.
 */
const getTypeParser = ((oid: number, format?: 'text') =>
  oid === 20 || oid === 1700 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16, types: { getTypeParser } })
// A connection may end with the database, idle or while the pool closes it.
pool.on('error', () => {})
pool.on('connect', (client) => client.on('error', () => {}))
const run = async <Row extends object>(name: string, sql: string, values: unknown[]): Promise<Row[]> =>
  (await pool.query<Row>({ name, text: sql, values })).rows

const LIMIT = `insert into "rateLimits" (key, points, expire) values ($1, 1, 0)
  on conflict (key) do update set points = "rateLimits".points + 1`
const TOTAL = `select sum(rows) total from "rowCounts" where "shopId" = $1 and list = 'commissions' and scope = ''`
const LIST = `select ${COLUMNS} from commissions where "shopId" = $1 order by "happenedAt" desc, id desc limit $2 offset $3`
const GATHER = `
  select to_json(a) affiliate, to_json(p) program, to_json(c) customer,
    (select coalesce(json_agg(s), '[]') from (select id, events from subscriptions where "shopId" = $1) s) takers,
    (select result from "idempotencyKeys" where "shopId" = $1 and key = $2) stored
  from (select 1) one
  left join (select id, email, status, "deletedAt", "campaignId" from affiliates where "shopId" = $1 and "codeKey" = $3) a on true
  left join (select id, "commissionType", "defaultCommissionBps" rate, "cookieDurationDays", "autoApproveOrder", "lifetimeCommission" from programs where "shopId" = $1) p on p.id = a."campaignId"
  left join (select id, "affiliateId" from customers where "shopId" = $1 and "emailHash" = $4) c on true`

/** One CTE; `$n` are counted on. */
let count = 0
const insert = (table: keyof typeof INSERTED) => {
  const names = INSERTED[table].split(' ')
  return `insert into "${table}" (${names.map((name) => `"${name}"`)}) values (${names.map(() => `$${++count}`)})`
}
const WRITE = `with
  a as (${insert('commissions')}),
  b as (${insert('orders')}),
  c as (${insert('journey')}),
  d as (${insert('audits')}),
  e as (${insert('webhookEvents')}),
  f as (${insert('deliveries')}),
  g as (${insert('customers')})
  ${insert('idempotencyKeys')}`

interface Found extends Gathered {
  takers: { id: string; events: string }[]
  stored: string | null
}

let last: Link | undefined
const findLast = (shopId: string) =>
  run<Link>('last', 'select seq, hash from audits where "shopId" = $1 order by seq desc limit 1', [shopId])

export const findCaller = async (secretHash: string) => (await run<Caller>('key', `${KEY_SQL} $1`, [secretHash]))[0]

export const close = () => pool.end()

export async function convert(
  caller: Caller,
  key: string,
  body: Conversion,
): Promise<{ status: number; body: unknown }> {
  const { shopId } = caller
  const asked = [shopId, key, body.couponCode.toLowerCase(), emailHashes(caller, body).emailHash]
  const [found] = await run<Found>('gather', GATHER, asked)
  if (!found || found.stored) return { status: 201, body: JSON.parse(found?.stored ?? 'null')?.reply }
  last ??= (await findLast(shopId))[0] ?? { seq: 0, hash: '' }
  const at = new Date().toISOString()
  const order = orderOf(body, at)
  const { affiliate, program, takers } = found
  const customer = found.customer ?? undefined
  const facts = factsOf(caller, order, {
    affiliate: affiliate ?? undefined,
    program: program ?? undefined,
    customer,
  })
  const { rows, deliveries, link, reply } = record({ caller, key, body, order, facts, customer, at, last, takers })
  last = link
  await run('write', WRITE, [
    ...rows.commissions,
    ...rows.orders,
    ...rows.journey,
    ...rows.audits,
    ...rows.webhookEvents,
    // Its data has one subscriber.
    ...(deliveries[0] ?? []),
    // Each order of the data has a buyer of its own.
    ...(rows.customers ?? []),
    ...rows.idempotencyKeys,
  ])
  return { status: 201, body: reply }
}

if (import.meta.main)
  listen(async (request, response) => {
    const caller = await findCaller(hashOf(request))
    await run('limit', LIMIT, [caller?.keyId])
    if (!admit(response, caller, request.method === 'GET' ? 'commissions:read' : 'events:write')) return
    if (request.method === 'POST') {
      const key = request.headers['idempotency-key'] as string
      const { status, body } = await convert(caller, key, JSON.parse(await text(request)))
      return answer(response, status, body)
    }
    const query = new URL(request.url ?? '', 'http://localhost').searchParams
    const page = Number(query.get('page') ?? 1)
    const limit = Number(query.get('limit') ?? 20)
    const [counted] = await run<{ total: number }>('total', TOTAL, [caller.shopId])
    const data = await run('list', LIST, [caller.shopId, limit, (page - 1) * limit])
    const total = counted?.total ?? 0
    answer(response, 200, { data, pagination: { page, limit, total, totalPages: Math.ceil(total / limit) } })
  })
