import type { ColumnMapping } from '../csv/headers.ts'
import type { MoneyColumn } from './amounts.ts'

/** Fields of an order and the names columns usually have. `total` is none of them: it holds shipping and tax in most shops. */
export const ORDER_FIELDS: Readonly<Record<string, readonly string[]>> = {
  externalOrderId: ['orderId', 'order', 'orderNumber', 'orderNo', 'id'],
  amountCents: ['amount', 'subtotal', 'goods'],
  discountCents: ['discount', 'discountAmount'],
  shippingCents: ['shipping', 'shippingAmount'],
  taxCents: ['tax', 'taxes', 'vat'],
  currency: ['currencyCode'],
  couponCode: ['coupon', 'discountCode', 'voucherCode', 'promoCode', 'code'],
  affiliateCode: [],
  ref: ['refCode', 'referralCode', 'referral', 'via'],
  clickId: ['referralClickId'],
  sessionId: [],
  customerEmail: ['email'],
  customerId: [],
  occurredAt: ['processedAt', 'paidAt', 'createdAt', 'orderDate', 'date'],
  orderName: [],
  note: [],
  'shipping.country': ['country', 'shippingCountry'],
  'shipping.state': ['state', 'shippingState', 'province'],
  'shipping.city': ['city', 'shippingCity'],
  'shipping.postalCode': ['postalCode', 'shippingPostalCode', 'zip'],
}

export const MONEY_FIELDS = ['amountCents', 'discountCents', 'shippingCents', 'taxCents']
export const EVIDENCE_FIELDS = [
  'couponCode',
  'affiliateCode',
  'ref',
  'clickId',
  'sessionId',
  'customerEmail',
  'customerId',
]

/** How the rows of one file are read. */
export interface ParseSettings {
  mapping: ColumnMapping
  money: Record<string, MoneyColumn>
  /** Of rows that name none. */
  currency: string
  /** Of times that name none. */
  timezone?: string | undefined
  prices?: PriceBasis
}

export function currencyOf(cells: Record<string, string>, { mapping, currency }: Omit<ParseSettings, 'money'>): string {
  return (mapping.currency ? cells[mapping.currency]?.trim().toUpperCase() : '') || currency
}

export type PriceBasis = 'with-tax' | 'without-tax'
