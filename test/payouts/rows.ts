import type { AffiliateRow, CommissionRow } from '../../server/src/db/tables.ts'
import type { TestServer } from '../support/server.ts'

const AT = '2026-10-20T12:00:00.000Z'

function insert({ sql }: TestServer, table: string, row: object): void {
  const names = Object.keys(row)
  sql
    .prepare(`insert into "${table}" (${names.map((name) => `"${name}"`)}) values (${names.map(() => '?')})`)
    .run(...Object.values(row))
}

/** An approved affiliate as it is stored; answers its id. */
export function addAffiliate(server: TestServer, given: Partial<AffiliateRow> = {}): string {
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
  const row: AffiliateRow = {
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
  insert(server, 'affiliates', row)
  return id
}

/** An approved commission of 1000 cents in October as it is stored; answers its id. */
export function addCommission(server: TestServer, given: Partial<CommissionRow> & { affiliateId: string }): string {
  const id = server.deps.newId('com')
  const row: CommissionRow = {
    id,
    shopId: server.shop.shopId,
    programId: null,
    externalOrderId: id,
    orderId: `api:${id}`,
    orderName: null,
    currency: 'USD',
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
    happenedAt: AT,
    paidAt: null,
    createdAt: AT,
    updatedAt: AT,
    version: 1,
    ...given,
  }
  insert(server, 'commissions', row)
  return id
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
