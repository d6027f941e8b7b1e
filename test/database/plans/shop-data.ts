import type { TestServer } from '../../support/server.ts'

/** How many rows a table gets: of the one huge shop, and of all others together. */
interface Growth {
  huge: number
  others: number
  /** Columns that differ from the row `r` that is copied, as SQL over `n.i`. */
  columns?: Record<string, string>
  /** Which row is copied. */
  like?: string
}

const pad = (text: string) => `substr(cast(100000000 + ${text} as text), 2)`

/** An instant in the last two years; rows with higher numbers are newer. */
const AT = '$at'
const part = (from: string) => `substr(cast(100 + ${from} as text), 2)`
const instantOf = (rows: number) => {
  const days = `(n.i * 655 / ${rows})`
  const date = `(2025 + ${days} / 365) || '-' || ${part(`1 + (${days} % 365) / 31`)} || '-' || ${part(`1 + (${days} % 365) % 28`)}`
  return `${date} || 'T12:' || ${part('n.i / 60 % 60')} || ':' || ${part('n.i % 60')} || '.000Z'`
}

/**
 * Fills the database as after years of use: many shops, and a huge one whose affiliates, statuses and sessions have very
 * different sizes.
 */
export function fillLikeYears(server: TestServer): void {
  for (const [table, growth] of Object.entries(GROWTH)) grow(server, table, growth)
  for (const growth of JOURNEY) grow(server, 'journey', growth)
}

const owned = { emailKey: `'x' || n.i`, email: `'x' || n.i`, codeKey: `'x' || n.i`, slug: `'x' || n.i` }
const skewed = `case n.i % 10 when 0 then r."affiliateId" else 'aff_' || (n.i % 400) end`

const GROWTH: Record<string, Growth> = {
  shops: { huge: 0, others: 300, columns: { defaultProgramId: 'null', isTest: '0', testOf: 'null' } },
  users: { huge: 300, others: 300, columns: { email: `'x' || n.i`, tokenHash: `'x' || n.i` } },
  apiKeys: { huge: 4, others: 600, columns: { secretHash: `'x' || n.i` } },
  programs: { huge: 200, others: 300, columns: { cookieDurationDays: 'n.i % 60', createdAt: AT } },
  affiliates: {
    huge: 6000,
    others: 3000,
    columns: {
      ...owned,
      createdAt: AT,
      status: `case when n.i % 50 = 0 then 'REJECTED' when n.i % 10 = 0 then 'PENDING' else 'APPROVED' end`,
      deletedAt: `case when n.i % 20 = 1 then '2026-01-01T00:00:00.000Z' end`,
      campaignId: `case n.i % 10 when 0 then 'prg_' || (n.i % 7) else r."campaignId" end`,
    },
  },
  commissions: {
    huge: 12_000,
    others: 4000,
    columns: {
      orderId: `'api:x' || n.i`,
      externalOrderId: `'x' || n.i`,
      happenedAt: AT,
      affiliateId: skewed,
      programId: `case n.i % 10 when 0 then 'prg_' || (n.i % 7) else r."programId" end`,
      customer: `case when n.i % 2 = 0 then 'cus_' || (n.i % 400) end`,
      orderStatus: `case when n.i % 100 = 0 then 'REJECTED' when n.i % 25 = 0 then 'PENDING' when n.i % 200 in (7, 10) then 'APPROVED'
        else 'PAID' end`,
      payoutBatchId: `case when n.i % 25 <> 0 and n.i % 200 not in (7, 10) then 'bat_' || (n.i / 500) end`,
    },
  },
  orders: {
    huge: 12_000,
    others: 4000,
    columns: { orderId: `'api:x' || n.i`, orderAt: AT, commissionId: 'null' },
  },
  refunds: {
    huge: 3000,
    others: 1000,
    columns: { commissionId: `'com_' || n.i`, externalRefundId: `'x' || n.i`, adjustmentId: 'null' },
  },
  orderNotices: { huge: 3000, others: 1000, columns: { orderId: `'api:x' || n.i`, noticeId: `'x' || n.i` } },
  affiliateAliases: {
    huge: 8000,
    others: 3000,
    columns: { codeKey: `'x' || n.i`, affiliateId: `'aff_' || (n.i % 400)`, createdAt: AT },
  },
  connections: { huge: 8000, others: 3000, columns: { value: `'x' || n.i`, affiliateId: skewed } },
  customers: {
    huge: 8000,
    others: 3000,
    columns: {
      customerId: `'x' || n.i`,
      emailHash: `'x' || n.i`,
      affiliateId: `case when n.i % 2 = 0 then ${skewed} end`,
    },
  },
  productRules: { huge: 600, others: 600, columns: { value: `'x' || n.i` } },
  geoRules: { huge: 200, others: 300, columns: { programId: `'prg_x' || n.i` } },
  payoutBatches: {
    huge: 600,
    others: 600,
    columns: { createdAt: AT, status: `case when n.i % 50 = 0 then 'FAILED' else 'PAID' end` },
  },
  subscriptions: { huge: 60, others: 600 },
  webhookEvents: { huge: 12_000, others: 4000 },
  deliveries: {
    huge: 12_000,
    others: 4000,
    columns: {
      eventId: `'evt_x' || n.i`,
      webhookId: `'x' || n.i`,
      status: `case when n.i % 50 = 0 then 'FAILED' else 'SENT' end`,
    },
  },
  idempotencyKeys: {
    huge: 12_000,
    others: 4000,
    columns: { key: `'x' || n.i`, expiresAt: `'2027-01-01T00:00:00.000Z'` },
  },
  audits: { huge: 12_000, others: 4000, columns: { seq: '10000 + n.i' } },
}

const click = { createdAt: AT, occurredAt: AT, orderId: 'null', externalOrderId: 'null' }
const like = `type = 'click' and "affiliateId" is not null`

/** The journey is the largest table and the most skewed: most sessions have one click, and one session has half of all clicks. */
const JOURNEY: Growth[] = [
  {
    huge: 100_000,
    others: 6000,
    like,
    columns: { ...click, affiliateId: skewed, sessionId: 'null', clickId: `'jrn_x' || ${pad('n.i')}` },
  },
  {
    huge: 100_000,
    others: 0,
    like,
    columns: { ...click, affiliateId: skewed, sessionId: `'s-long'`, clickId: `'long-' || n.i` },
  },
  // A session on one affiliate, of whose clicks most have expired while other programs have longer cookies.
  { huge: 20_000, others: 0, like, columns: { ...click, sessionId: `'s-one'`, clickId: `'one-' || n.i` } },
  // A click id that a storefront sends repeatedly, and one without an affiliate.
  { huge: 8000, others: 0, like, columns: { ...click, sessionId: 'null', clickId: `'c-again'` } },
  {
    huge: 8000,
    others: 0,
    like,
    columns: { ...click, sessionId: `'s-nobody'`, clickId: `'c-nobody'`, affiliateId: 'null', programId: 'null' },
  },
  // Pages that one customer saw, in one session.
  {
    huge: 12_000,
    others: 3000,
    like: `type = 'page_view'`,
    columns: {
      ...click,
      sessionId: `'s-pages'`,
      clickId: `'c-pages'`,
      customerId: `'c-long'`,
      customerEmail: `'long@example.com'`,
      customerEmailKey: `'long@example.com'`,
    },
  },
  {
    huge: 20_000,
    others: 3000,
    like: `type = 'conversion'`,
    columns: {
      ...click,
      orderId: `'api:x' || n.i`,
      externalOrderId: `'x' || n.i`,
      customerId: `'c-' || (n.i % 5000)`,
      customerEmailKey: `'c-' || (n.i % 5000)`,
    },
  },
]

let grown = 0

/** Copies a row of a table many times; rows of the shops alternate, as in production. */
export function grow(
  { sql, shop }: TestServer,
  table: string,
  { huge, others, columns = {}, like = '1 = 1' }: Growth,
): void {
  const row = sql.prepare(`select * from "${table}" where ${like} limit 1`).get() as Record<string, unknown> | undefined
  if (!row) throw new Error(`${table} is empty; nothing to copy`)
  const stamp = ++grown
  const id = 'id' in row ? String(row.id) : ''
  const own: Record<string, string> = {
    // Ids contain their creation time; these sort before those of today.
    ...('id' in row ? { id: `'${id.slice(0, 4)}x${stamp}' || ${pad('n.i')}` } : {}),
    ...('shopId' in row
      ? {
          shopId: `case when cast(n.i as bigint) * ${others} % ${huge + others} < ${others} then 'shp_x' || (n.i % 59) else '${shop.shopId}' end`,
        }
      : {}),
    ...columns,
  }
  if (table === 'webhookEvents') own.id = `'evt_x' || n.i`
  const names = Object.keys(row)
  const values = names.map((name) => (own[name] ?? `r."${name}"`).replaceAll(AT, instantOf(huge + others)))
  for (let from = 1; from <= huge + others; from += BATCH_SIZE) {
    const to = Math.min(huge + others, from + BATCH_SIZE - 1)
    sql.exec(`with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to})
      insert into "${table}" (${names.map((name) => `"${name}"`)})
      select ${values} from (select * from "${table}" where ${like} limit 1) r, n`)
  }
}

/** A statement of the tests has 15 seconds. */
const BATCH_SIZE = 20_000
