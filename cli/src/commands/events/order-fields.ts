import type { ColumnMapping } from '../../csv/columns.ts'
import type { MoneyColumn } from './money-columns.ts'

/** Each field's usual column names. `total` is excluded because it usually includes shipping and tax. */
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
  occurredAt: ['processedAt', 'paidAt', 'paidDate', 'createdAt', 'orderDate', 'dateCreated', 'date'],
  orderName: [],
  note: [],
  'shipping.country': ['country', 'shippingCountry', 'countryCodeShipping'],
  'shipping.state': ['state', 'shippingState', 'stateCodeShipping', 'province'],
  'shipping.city': ['city', 'shippingCity', 'cityShipping'],
  'shipping.postalCode': ['postalCode', 'shippingPostalCode', 'postcodeShipping', 'zip'],
}

/** Columns with an order's refunded amount, read with --refunds. */
export const REFUND_FIELDS = {
  refundedCents: [
    'refundedAmount',
    'amountRefunded',
    'totalRefunded',
    'refundTotal',
    'orderTotalRefunded',
    'orderRefundAmount',
    'orderRefund',
  ],
} as const

export const MONEY_FIELDS = ['amountCents', 'discountCents', 'shippingCents', 'taxCents', 'refundedCents']
export const EVIDENCE_FIELDS = [
  'couponCode',
  'affiliateCode',
  'ref',
  'clickId',
  'sessionId',
  'customerEmail',
  'customerId',
]

/** How to parse a file's rows. */
export interface ParseSettings {
  mapping: ColumnMapping
  money: Record<string, MoneyColumn>
  /** The columns that date an order whose `occurredAt` column is empty, in this order. */
  fallbackDates: readonly string[]
  /** The currency for rows without one. */
  currency: string
  /** The time zone for times without an offset. */
  timezone?: string | undefined
  dateFormat?: DateFormat | undefined
  prices?: PriceBasis
  /** Whether to report refunds and cancellations. Otherwise, refunded and canceled orders are rejected. */
  refunds?: RefundBasis | undefined
  /** The total of the order, with shipping and tax. */
  totalColumn?: string | undefined
}

export function currencyOf(
  cells: Record<string, string>,
  { mapping, currency }: Pick<ParseSettings, 'mapping' | 'currency'>,
): string {
  return (mapping.currency ? cells[mapping.currency]?.trim().toUpperCase() : '') || currency
}

export type PriceBasis = 'with-tax' | 'without-tax'

/** What a refunded amount is part of: the goods after discount, or the order's total. */
export type RefundBasis = 'goods' | 'total'

/** The order of day and month in dates that end with the year. */
export type DateFormat = 'day-first' | 'month-first'

/** The options of every import that sends one request per row. */
export interface RowImportOptions {
  map?: string[]
  timeZone?: string
  dateFormat?: DateFormat
  parallel: number
  /** The number of rows that a dry run sends to the service for a preview. */
  forecast: number
  yes?: boolean
}
