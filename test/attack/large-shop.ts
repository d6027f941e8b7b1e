import pg from 'pg'
import { recount } from '../../server/src/operator/check.ts'
import { engine } from '../support/database.ts'
import { ID, type OwnerServer } from '../support/owner.ts'
import { convert, expectOk } from '../support/shop.ts'

export interface Size {
  commissions: number
  affiliates: number
}

/** Ids of the rows of a large shop, for requests that reference them. */
export const LARGE = {
  /** Earned half of all commissions. */
  affiliate: ID.affiliate,
  batch: 'bat_large',
  order: 'large',
  session: 's-large',
  email: 'large@example.com',
  /** Holds the commissions of the largest payout batch, and nothing else. */
  payoutPeriod: { periodStart: '2001-01-01', periodEnd: '2001-12-31' },
}

/** A batch of the size of a monthly payout, with affiliates who owe. */
const PAYOUT = { commissions: 6000, debts: 600 }

type Row = Record<string, unknown>
type SchemaObject = { type: 'trigger' | 'index'; name: string; sql: string }

/**
 * Multiplies the rows of a shop by statements over whole tables: reporting a million orders takes too long.
 */
export async function fillLargeShop(server: OwnerServer, { commissions, affiliates }: Size): Promise<void> {
  const { sql } = server
  await reportLargeOrder(server)
  const filling = engine === 'sqlite' ? fillSqlite(server) : await fillPostgres(server)
  const multiply = async (table: string, count: number, own: Record<string, string>, like = 'true') => {
    const row = sql.prepare(`select * from "${table}" where ${like} limit 1`).get() as Row
    const names = Object.keys(row)
    await filling.run(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      insert into "${table}" (${names.map((name) => `"${name}"`)})
      select ${names.map((name) => own[name] ?? `r."${name}"`)} from (select * from "${table}" where ${like} limit 1) r, n`)
  }
  // A third within one day, the others within a thousand.
  const secondsBack = `(case when i % 3 = 0 then 0 else (i % 1000) * 86400 end + i % 86400)`
  const at =
    engine === 'sqlite'
      ? `strftime('%Y-%m-%dT%H:%M:%fZ', '2026-10-20', '-' || ${secondsBack} || ' seconds')`
      : `to_char(timestamp '2026-10-20' - ${secondsBack} * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
  const program = `id = '${ID.program}'`
  await multiply('programs', 2000, { id: `'prg_x' || i` }, program)
  await multiply(
    'affiliates',
    affiliates,
    {
      id: `'aff_x' || i`,
      email: `'person' || i || '@example.com'`,
      emailKey: `'person' || i || '@example.com'`,
      searchText: `'nisa karim' || '\n' || 'person' || i || '@example.com'`,
      slug: `'x' || i`,
      discountCode: `'X' || i`,
      codeKey: `'x' || i`,
      campaignId: `'${ID.program}'`,
      status: `case when i % 10 = 0 then 'REJECTED' else 'APPROVED' end`,
      createdAt: at,
    },
    `id = '${ID.affiliate}'`,
  )
  await multiply('payoutBatches', 5000, { id: `'bat_x' || i` }, `id = '${ID.paidBatch}'`)
  await multiply('payoutBatches', 1, { id: `'${LARGE.batch}'` }, `id = '${ID.paidBatch}'`)
  await multiply(
    'commissions',
    commissions,
    {
      id: `'com_x' || i`,
      orderId: `'api:x' || i`,
      externalOrderId: `'x' || i`,
      affiliateId: `case when i % 2 = 0 then 'aff_x' || (1 + i % ${affiliates}) else '${LARGE.affiliate}' end`,
      programId: `case when i % 4 = 0 then 'prg_x' || (1 + i % 2000) else '${ID.program}' end`,
      orderStatus: `case i / 8 % 10 when 0 then 'REJECTED' when 1 then 'PENDING' when 2 then 'PENDING' when 3 then 'APPROVED' when 4 then 'PAYABLE' else 'PAID' end`,
      payoutBatchId: `case when i / 8 % 10 > 4 then '${LARGE.batch}' when i / 8 % 10 = 4 then 'bat_open' end`,
      happenedAt: at,
    },
    `id = '${ID.commission}'`,
  )
  const { debts } = PAYOUT
  const ofPayout = {
    // 900 of the first thousand: every tenth is rejected, and gets no payout.
    affiliateId: `'aff_x' || (i % 900 / 9 * 10 + i % 9 + 1)`,
    orderStatus: `'APPROVED'`,
    payoutBatchId: 'null',
    happenedAt: `'2001-06-01T12:00:00.000Z'`,
  }
  await multiply(
    'commissions',
    PAYOUT.commissions - debts,
    { ...ofPayout, id: `'com_p' || i`, orderId: `'api:p' || i`, externalOrderId: `'p' || i` },
    `id = '${ID.commission}'`,
  )
  await multiply('orders', PAYOUT.commissions - debts, {
    orderId: `'api:p' || i`,
    commissionId: `'com_p' || i`,
    orderAt: at,
  })
  // Adjustments of refunds after payment, larger than what the other commissions earned.
  await multiply(
    'commissions',
    debts,
    {
      ...ofPayout,
      id: `'com_d' || i`,
      orderId: `'adj:d' || i`,
      externalOrderId: 'null',
      commissionAmountCents: '-1000000',
      commissionType: 'null',
      trackingMethod: `'ADJUSTMENT'`,
    },
    `id = '${ID.commission}'`,
  )
  await multiply('payoutBatches', 1, { id: `'bat_open'`, status: `'OPEN'` }, `id = '${ID.batch}'`)
  await multiply('orders', commissions, { orderId: `'api:x' || i`, commissionId: `'com_x' || i`, orderAt: at })
  await multiply('orders', commissions / 10, {
    orderId: `'api:u' || i`,
    orderName: `'#u' || i`,
    commissionId: 'null',
    orderAt: at,
  })
  const journey = { id: `'evt_x' || i`, orderId: 'null', occurredAt: at, type: `'click'` }
  const person = { customerEmail: `'${LARGE.email}'`, customerEmailKey: `'${LARGE.email}'` }
  await multiply('journey', commissions, {
    ...journey,
    ...person,
    sessionId: `'${LARGE.session}'`,
    affiliateId: `'${LARGE.affiliate}'`,
  })
  await multiply('affiliateAliases', affiliates, {
    id: `'als_x' || i`,
    affiliateId: `'aff_x' || i`,
    value: `'alias' || i`,
    codeKey: `'alias' || i`,
  })
  await multiply('customers', commissions / 10, {
    id: `'cus_x' || i`,
    customerId: 'null',
    emailHash: `'hash' || i`,
  })
  await multiply('productRules', 9000, { id: `'rul_x' || i`, value: `cast(700000000 + i as text)` })
  const places = JSON.stringify(Array.from({ length: 500 }, (_, i) => `${i}`.padEnd(100, 'x')))
  await multiply('geoRules', 900, { programId: `'prg_x' || i`, cities: `'${places}'`, states: `'${places}'` })
  await multiply('webhookEvents', commissions, { id: `'evt_x' || i` })
  const failed = { status: `'FAILED'`, code: `'timeout'`, finishedAt: `'2026-11-01T12:00:00.000Z'` }
  await multiply('deliveries', commissions, { id: `'dlv_0x' || i`, eventId: `'evt_x' || i`, ...failed })
  const last = sql.prepare('select max(seq) from audits where "shopId" = ?').pluck().get(server.shop.shopId)
  await multiply(
    'audits',
    commissions,
    { id: `'aud_x' || i`, seq: `${last} + i` },
    `"shopId" = '${server.shop.shopId}'`,
  )
  sql
    .prepare('update "auditHeads" set seq = (select max(seq) from audits where "shopId" = ?) where "shopId" = ?')
    .run(server.shop.shopId, server.shop.shopId)
  await filling.end()
  await recount({ databaseUrl: server.url })
}

/** Inserts rows; `end` restores what was dropped to insert them fast. */
interface Filling {
  run: (statement: string) => unknown
  end: () => unknown
}

/** Counting and indexing each row takes most of the time. */
function fillSqlite({ sql }: OwnerServer): Filling {
  sql.exec('pragma synchronous = off; pragma cache_size = -1000000; pragma temp_store = memory')
  const dropped = sql
    .prepare(`select type, name, sql from sqlite_schema where type in ('trigger', 'index') and sql is not null`)
    .all() as SchemaObject[]
  for (const { type, name } of dropped) sql.exec(`drop ${type} "${name}"`)
  const end = () => {
    for (const object of dropped) sql.exec(object.sql)
    sql.exec('pragma wal_checkpoint(truncate); pragma cache_size = -2000')
  }
  return { run: (statement) => sql.exec(statement), end }
}

/** The same on a connection without timeouts. Primary keys stay, and replicas run no triggers. */
async function fillPostgres({ url }: OwnerServer): Promise<Filling> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('set session_replication_role = replica; set synchronous_commit = off')
  const { rows: dropped } = await client.query<{ name: string; sql: string }>(`
    select c.relname as name, pg_get_indexdef(i.indexrelid) as sql from pg_index i
    join pg_class c on c.oid = i.indexrelid
    where not i.indisprimary and c.relnamespace = 'public'::regnamespace
      and not exists (select 1 from pg_constraint where conindid = i.indexrelid)`)
  for (const { name } of dropped) await client.query(`drop index "${name}"`)
  const end = async () => {
    for (const { sql } of dropped) await client.query(sql)
    await client.query('analyze')
    await client.end()
  }
  return { run: (statement) => client.query(statement), end }
}

/** An order of a thousand lines with a thousand refunds. */
async function reportLargeOrder(server: OwnerServer): Promise<void> {
  const { sql } = server
  const lineItems = Array.from({ length: 1000 }, (_, i) => ({
    productId: `${7000 + i}`,
    variantId: `${90_000 + i}`,
    quantity: 900,
    priceCents: 100,
  }))
  const order = { externalOrderId: LARGE.order, couponCode: 'FRESH', lineItems }
  const { commission } = await expectOk(convert(server, order))
  const lines = [{ variantId: '90000', quantity: 1 }]
  const body = { externalRefundId: 'first', lineItems: lines }
  const headers = { Authorization: `Bearer ${server.shop.ownerToken}` }
  await expectOk(server.request('POST', `/admin/v1/commissions/${commission.id}/refund`, { key: null, headers, body }))
  const names = Object.keys(sql.prepare('select * from refunds limit 1').get() as Row)
  const all = JSON.stringify(lineItems.map(({ variantId }) => ({ variantId, productId: null, quantity: 1 })))
  const one = `'[{"variantId":"' || (90000 + i % 1000) || '","productId":null,"quantity":1}]'`
  // Every tenth is of every line.
  const item = `case when i % 10 = 0 then '${all}' else ${one} end`
  const own: Record<string, string> = { id: `'ref_x' || i`, externalRefundId: `'x' || i`, lineItems: item }
  sql.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
    insert into refunds (${names.map((name) => `"${name}"`)})
    select ${names.map((name) => own[name] ?? `r."${name}"`)} from
      (select * from refunds where "commissionId" = '${commission.id}' limit 1) r, n`)
}
