import { recount } from '../../server/src/services/recount.ts'
import { ID, type OwnerServer } from '../admin/fixture.ts'
import { convert, expectOk } from '../support/shop.ts'

export interface Size {
  commissions: number
  affiliates: number
}

/** What the rows of a large shop are called, for the requests that name them. */
export const LARGE = {
  /** Earned half of all commissions. */
  affiliate: ID.affiliate,
  batch: 'bat_large',
  order: 'large',
  session: 's-large',
  email: 'large@example.com',
}

type Row = Record<string, unknown>
type Trigger = { name: string; sql: string }

/**
 * Multiplies the rows of a shop by statements over whole tables: reporting a million orders takes too long.
 */
export async function fillLargeShop(server: OwnerServer, { commissions, affiliates }: Size): Promise<void> {
  const { sql } = server
  await reportLargeOrder(server)
  sql.exec('pragma synchronous = off; pragma cache_size = -1000000')
  // Counted at the end: counting each row takes most of the time.
  const triggers = sql.prepare(`select name, sql from sqlite_schema where type = 'trigger'`).all() as Trigger[]
  for (const { name } of triggers) sql.exec(`drop trigger "${name}"`)
  const multiply = (table: string, count: number, own: Record<string, string>, like = 'true') => {
    const row = sql.prepare(`select * from "${table}" where ${like} limit 1`).get() as Row
    const names = Object.keys(row)
    sql.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      insert into "${table}" (${names.map((name) => `"${name}"`)})
      select ${names.map((name) => own[name] ?? `r."${name}"`)} from (select * from "${table}" where ${like} limit 1) r, n`)
  }
  // A third within one day, the others within a thousand.
  const at = `strftime('%Y-%m-%dT%H:%M:%fZ', '2026-10-20', '-' || (iif(i % 3, (i % 1000) * 86400, 0) + i % 86400) || ' seconds')`
  const program = `id = '${ID.program}'`
  multiply('programs', 2000, { id: `'prg_x' || i` }, program)
  multiply(
    'affiliates',
    affiliates,
    {
      id: `'aff_x' || i`,
      email: `'person' || i || '@example.com'`,
      emailKey: `'person' || i || '@example.com'`,
      searchText: `'nisa karim' || char(10) || 'person' || i || '@example.com'`,
      slug: `'x' || i`,
      discountCode: `'X' || i`,
      codeKey: `'x' || i`,
      campaignId: `'${ID.program}'`,
      status: `iif(i % 10, 'APPROVED', 'REJECTED')`,
      createdAt: at,
    },
    `id = '${ID.affiliate}'`,
  )
  multiply('payoutBatches', 5000, { id: `'bat_x' || i` }, `id = '${ID.paidBatch}'`)
  multiply('payoutBatches', 1, { id: `'${LARGE.batch}'` }, `id = '${ID.paidBatch}'`)
  multiply(
    'commissions',
    commissions,
    {
      id: `'com_x' || i`,
      orderId: `'api:x' || i`,
      externalOrderId: `'x' || i`,
      affiliateId: `iif(i % 2, '${LARGE.affiliate}', 'aff_x' || (1 + i % ${affiliates}))`,
      programId: `iif(i % 4, '${ID.program}', 'prg_x' || (1 + i % 2000))`,
      orderStatus: `case i / 8 % 10 when 0 then 'REJECTED' when 1 then 'PENDING' when 2 then 'PENDING' when 3 then 'APPROVED' when 4 then 'PAYABLE' else 'PAID' end`,
      payoutBatchId: `iif(i / 8 % 10 > 4, '${LARGE.batch}', iif(i / 8 % 10 = 4, 'bat_open', null))`,
      happenedAt: at,
    },
    `id = '${ID.commission}'`,
  )
  multiply('payoutBatches', 1, { id: `'bat_open'`, status: `'OPEN'` }, `id = '${ID.batch}'`)
  multiply('orders', commissions, { orderId: `'api:x' || i`, commissionId: `'com_x' || i`, orderAt: at })
  const journey = { id: `'evt_x' || i`, orderId: 'null', occurredAt: at, type: `'click'` }
  const person = { customerEmail: `'${LARGE.email}'`, customerEmailKey: `'${LARGE.email}'` }
  multiply('journey', commissions, {
    ...journey,
    ...person,
    sessionId: `'${LARGE.session}'`,
    affiliateId: `'${LARGE.affiliate}'`,
  })
  multiply('connections', commissions / 10, {
    id: `'con_x' || i`,
    kind: `'customerEmail'`,
    value: `'c' || i || '@example.com'`,
  })
  multiply('productRules', 9000, { id: `'rul_x' || i`, value: `cast(700000000 + i as text)` })
  const places = JSON.stringify(Array.from({ length: 500 }, (_, i) => `${i}`.padEnd(100, 'x')))
  multiply('geoRules', 900, { programId: `'prg_x' || i`, cities: `'${places}'`, states: `'${places}'` })
  multiply('webhookEvents', commissions, { id: `'evt_x' || i` })
  multiply('deliveries', commissions, { id: `'dlv_0x' || i`, eventId: `'evt_x' || i`, status: `'FAILED'` })
  const last = sql.prepare('select max(seq) from audits where "shopId" = ?').pluck().get(server.shop.shopId)
  multiply('audits', commissions, { id: `'aud_x' || i`, seq: `${last} + i` }, `"shopId" = '${server.shop.shopId}'`)
  for (const trigger of triggers) sql.exec(trigger.sql)
  await recount({ databaseUrl: server.url })
  sql.exec('pragma wal_checkpoint(truncate); pragma cache_size = -2000')
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
  const own: Record<string, string> = { id: `'ref_x' || i`, externalRefundId: `'x' || i` }
  sql.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
    insert into refunds (${names.map((name) => `"${name}"`)})
    select ${names.map((name) => own[name] ?? `r."${name}"`)} from
      (select * from refunds where "commissionId" = '${commission.id}' limit 1) r, n`)
}
