import type { Commission } from '@referral/sdk'
import type { AffiliateRow, CommissionRow } from '../../server/src/database/tables.ts'
import { insertRows, rowsOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import type { Client } from '../support/test.ts'

// Payouts are tested with commissions in states that take many requests, or that none can produce.

const AT = '2026-10-20T12:00:00.000Z'

/** The row of an approved affiliate. */
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
    tokensRevokedAt: null,
    version: 1,
    ...given,
  }
}

/** Inserts an approved affiliate and returns its id. */
export function addAffiliate(server: TestServer, given: Partial<AffiliateRow> = {}): string {
  const row = affiliateRow(server, given)
  insertRows(server, 'affiliates', [row])
  return row.id
}

type CommissionGiven = Partial<CommissionRow> & { affiliateId: string }

/** The row of an approved commission of 1000 cents in October. */
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
    remainingBaseCents: 10_000,
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
    customer: null,
    orderStatus: 'APPROVED',
    payoutBatchId: null,
    termsVersion: null,
    termsRule: null,
    availableAt: given.happenedAt ?? AT,
    debtId: null,
    happenedAt: AT,
    paidAt: null,
    createdAt: AT,
    updatedAt: AT,
    version: 1,
    ...given,
  }
}

/** Inserts an approved commission of 1000 cents in October and returns its id. */
export function addCommission(server: TestServer, given: CommissionGiven): string {
  const row = commissionRow(server, given)
  insertRows(server, 'commissions', [row])
  return row.id
}

/** Inserts the adjustment of a refund after payment: an amount that the affiliate owes. */
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

/** All commissions of a shop, in the order of their ids. */
export async function commissionsOf({ commissions }: Client): Promise<Commission[]> {
  const all: Commission[] = []
  for await (const commission of commissions.list({ limit: 100 })) all.push(commission)
  return all.sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** How often each commission of the shop was written, by its id. */
export const versionsOf = (server: TestServer) =>
  rowsOf(server, 'commissions', { shopId: server.shop.shopId }).map(({ version }) => version)

/** October as the period of a batch. */
export const OCTOBER = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }

/** Cents as errors show them: `14.40 USD`. */
export const dollars = (cents: number): string => `${(cents / 100).toFixed(2)} USD`
