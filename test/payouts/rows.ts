import type { AffiliateRow, CommissionRow } from '../../server/src/database/tables.ts'
import type { TestServer } from '../support/server.ts'

const AT = '2026-10-20T12:00:00.000Z'

/** So many rows in one statement that a database takes their values. */
const AT_ONCE = 500

/** Inserts rows as they are stored, all of one shape. */
export function insertRows({ sql }: TestServer, table: string, rows: object[]): void {
  const names = Object.keys(rows[0] ?? {})
  const places = `(${names.map(() => '?')})`
  for (let i = 0; i < rows.length; i += AT_ONCE) {
    const some = rows.slice(i, i + AT_ONCE)
    sql
      .prepare(`insert into "${table}" (${names.map((name) => `"${name}"`)}) values ${some.map(() => places)}`)
      .run(...some.flatMap((row) => Object.values(row)))
  }
}

/** An approved affiliate as it is stored. */
export function affiliateRow(server: TestServer, given: Partial<AffiliateRow> = {}): AffiliateRow {
  const id = server.deps.newId('aff')
  const none = {
    phone: null,
    website: null,
    instagramHandle: null,
    tiktokHandle: null,
    youtubeHandle: null,
    homeCountry: null,
    homeState: null,
    homeCity: null,
    homePostalCode: null,
    homeAddress: null,
    deletedAt: null,
  }
  return {
    id,
    shopId: server.shop.shopId,
    name: 'Nisa Karim',
    firstName: null,
    lastName: null,
    email: `${id}@example.com`,
    status: 'APPROVED',
    campaignId: null,
    slug: id,
    discountCode: id,
    ...none,
    createdAt: AT,
    updatedAt: AT,
    emailKey: `${id}@example.com`,
    codeKey: id,
    searchText: '',
    version: 1,
    ...given,
  }
}

/** Stores an approved affiliate; answers its id. */
export function addAffiliate(server: TestServer, given: Partial<AffiliateRow> = {}): string {
  const row = affiliateRow(server, given)
  insertRows(server, 'affiliates', [row])
  return row.id
}

type CommissionGiven = Partial<CommissionRow> & { affiliateId: string }

/** An approved commission of 1000 cents in October as it is stored. */
export function commissionRow(server: TestServer, given: CommissionGiven): CommissionRow {
  const id = server.deps.newId('com')
  return {
    id,
    shopId: server.shop.shopId,
    programId: null,
    externalOrderId: id,
    orderId: `api:${id}`,
    orderName: null,
    currency: 'USD',
    orderCurrency: given.currency ?? 'USD',
    commissionType: 'PERCENT_OF_SALE',
    commissionBaseCents: 10_000,
    commissionRateBps: 1000,
    commissionAmountCents: 1000,
    taxWithheldCents: 0,
    orderSubtotalCents: 10_000,
    orderDiscountCents: 0,
    orderShippingCents: 0,
    orderTaxCents: 0,
    trackingMethod: 'API',
    attributionMethod: 'COUPON',
    attributionReasonCode: 'COUPON_MATCH',
    restrictionReasonCode: null,
    orderStatus: 'APPROVED',
    payoutBatchId: null,
    debtId: null,
    happenedAt: AT,
    paidAt: null,
    createdAt: AT,
    updatedAt: AT,
    version: 1,
    ...given,
  }
}

/** Stores an approved commission of 1000 cents in October; answers its id. */
export function addCommission(server: TestServer, given: CommissionGiven): string {
  const row = commissionRow(server, given)
  insertRows(server, 'commissions', [row])
  return row.id
}

/** What a refund after payment leaves behind: money to take back. */
export const addDebt = (server: TestServer, affiliateId: string, cents: number, given: Partial<CommissionRow> = {}) =>
  addCommission(server, {
    affiliateId,
    commissionAmountCents: -cents,
    trackingMethod: 'ADJUSTMENT',
    commissionType: null,
    externalOrderId: null,
    orderSubtotalCents: 0,
    ...given,
  })

/** Commissions as they are stored, in the order of their ids. */
export const commissionsOf = ({ sql, shop }: TestServer, where = '1 = 1', shopId = shop.shopId): CommissionRow[] =>
  sql.prepare(`select * from commissions where "shopId" = ? and ${where} order by id`).all(shopId) as CommissionRow[]

/** The whole month as a batch asks for it. */
export const OCTOBER = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }
