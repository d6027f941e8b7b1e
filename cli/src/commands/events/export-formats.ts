import { findColumn } from '../../csv/columns.ts'
import type { CsvRow } from '../../csv/parse.ts'
import { ORDER_FIELDS } from './order-fields.ts'

/** The format of a shop system's order export. */
export interface ExportFormat {
  title: string
  /** Columns that identify the format. */
  signatureColumns: readonly string[]
  /** Column names that replace the usual ones of a field. An empty list means that the export has no such column. */
  columns: Readonly<Record<string, readonly string[]>>
  /** The columns with the payment status, and the values for paid orders. */
  statusColumns: readonly string[]
  paid: readonly string[]
  /** The values for unpaid, canceled and refunded orders. Unknown values are rejected too. */
  unpaid: readonly string[]
  /** The time zone of times without an offset, if the format defines it. */
  timezone?: string
  /** Further reasons to reject a row. */
  problemOf?: (header: readonly string[]) => (row: CsvRow) => string | undefined
}

const cellOf = (row: CsvRow, column: string | undefined): string =>
  column === undefined ? '' : (row.cells[column]?.trim() ?? '')

/** Rejects payments that are uncaptured or disputed. A won dispute counts as paid. */
function stripeProblem(header: readonly string[]): (row: CsvRow) => string | undefined {
  const captured = findColumn(header, ['captured'])
  const status = findColumn(header, ['disputeStatus'])
  const disputed = findColumn(header, ['disputedAmount', 'disputed'])
  return (row) => {
    if (/^(false|no)$/i.test(cellOf(row, captured))) return 'this payment is not captured'
    if (/^won$/i.test(cellOf(row, status))) return undefined
    const isDisputed = cellOf(row, status) !== '' || /[1-9]|true|yes/i.test(cellOf(row, disputed))
    return isDisputed ? 'this payment is disputed' : undefined
  }
}

export const exportFormats: Readonly<Record<'shopify' | 'woocommerce' | 'stripe' | 'csv', ExportFormat>> = {
  shopify: {
    title: 'Shopify',
    signatureColumns: ['Financial Status', 'Lineitem name', 'Discount Code'],
    columns: {
      externalOrderId: ['Id', 'Name'],
      orderName: ['Name'],
      // Subtotal is after the discount.
      amountCents: ['Subtotal'],
      discountCents: [],
      occurredAt: ['Paid at', 'Created at'],
    },
    statusColumns: ['Financial Status'],
    paid: ['paid'],
    unpaid: [
      'pending',
      'authorized',
      'partially_paid',
      'partially_refunded',
      'refunded',
      'voided',
      'expired',
      'unpaid',
    ],
  },
  woocommerce: {
    title: 'WooCommerce',
    signatureColumns: ['order_number', 'order_currency', 'status'],
    columns: {
      externalOrderId: ['order_id', 'order_number'],
      orderName: ['order_number'],
      amountCents: ['order_subtotal', 'cart_subtotal', 'subtotal'],
      discountCents: ['discount_total', 'cart_discount'],
      shippingCents: ['shipping_total'],
      taxCents: ['tax_total'],
      currency: ['order_currency'],
      couponCode: ['coupon_items', 'coupons', 'coupon_codes'],
      customerEmail: ['billing_email', 'customer_email'],
      occurredAt: ['paid_date', 'order_date', 'date'],
    },
    statusColumns: ['status', 'order_status'],
    paid: ['completed', 'processing'],
    unpaid: ['pending', 'on-hold', 'failed', 'cancelled', 'canceled', 'refunded', 'checkout-draft', 'draft', 'trash'],
  },
  stripe: {
    title: 'Stripe',
    signatureColumns: ['Created date (UTC)', 'Amount', 'Status'],
    columns: {
      externalOrderId: ['order_id (metadata)', 'orderId (metadata)', 'id'],
      amountCents: ['Amount'],
      discountCents: [],
      taxCents: [],
      shippingCents: [],
      couponCode: ['coupon (metadata)', 'coupon_code (metadata)', 'promotion_code (metadata)', 'Coupon'],
      ref: ['ref (metadata)', 'referral (metadata)', 'client_reference_id (metadata)'],
      customerEmail: ['Customer Email'],
      customerId: ['Customer ID'],
      occurredAt: ['Created date (UTC)', 'Created (UTC)'],
    },
    statusColumns: ['Status'],
    paid: ['paid', 'succeeded'],
    unpaid: [
      'failed',
      'refunded',
      'partially_refunded',
      'canceled',
      'cancelled',
      'pending',
      'uncaptured',
      'requires_capture',
      'requires_payment_method',
      'requires_action',
      'requires_confirmation',
      'incomplete',
      'blocked',
      'expired',
      'disputed',
    ],
    timezone: 'UTC',
    problemOf: stripeProblem,
  },
  csv: {
    title: 'CSV',
    signatureColumns: [],
    columns: {},
    statusColumns: ['financialStatus', 'paymentStatus', 'orderStatus', 'status', 'state'],
    paid: [
      'paid',
      'succeeded',
      'completed',
      'complete',
      'processing',
      'captured',
      'shipped',
      'delivered',
      'fulfilled',
      'closed',
    ],
    unpaid: [
      'refunded',
      'partially_refunded',
      'voided',
      'pending',
      'authorized',
      'expired',
      'unpaid',
      'failed',
      'cancelled',
      'canceled',
      'on-hold',
      'disputed',
      'draft',
      'partially_paid',
    ],
  },
}

export type ExportFormatName = keyof typeof exportFormats

/** Returns the format whose identifying columns are all in the header, or `csv`. */
export const detectExportFormat = (header: readonly string[]): ExportFormatName =>
  (Object.keys(exportFormats) as ExportFormatName[]).find(
    (name) =>
      exportFormats[name].signatureColumns.length > 0 &&
      exportFormats[name].signatureColumns.every((mark) => header.includes(mark)),
  ) ?? 'csv'

/** The column names of each field in this format. */
export const columnNamesOf = ({ columns }: ExportFormat): Readonly<Record<string, readonly string[]>> => ({
  ...ORDER_FIELDS,
  ...columns,
})

const normalizeStatus = (status: string) => status.toLowerCase().replace(/^wc-/, '').replaceAll(' ', '_')

/** Returns a function that returns why an order is not fully paid, or undefined when it is. */
export function unpaidReason(format: ExportFormat, header: readonly string[]): (row: CsvRow) => string | undefined {
  const canceled = findColumn(header, ['canceledAt', 'cancelledAt', 'canceled date (UTC)'])
  const refunded = findColumn(header, [
    'refundedAmount',
    'amountRefunded',
    'totalRefunded',
    'refundTotal',
    'orderTotalRefunded',
  ])
  const column = findColumn(header, format.statusColumns)
  const other = format.problemOf?.(header)
  return (row) => {
    if (cellOf(row, canceled)) return `this order was canceled at ${cellOf(row, canceled)}`
    const status = cellOf(row, column)
    const isPaid = column === undefined || format.paid.includes(normalizeStatus(status))
    // A refunded amount is more precise than the status.
    if (/[1-9]/.test(cellOf(row, refunded))) return `${cellOf(row, refunded)} of this order was refunded`
    if (!isPaid) {
      if (status === '') return `${column} is empty, so the payment status is unknown`
      if (format.unpaid.includes(normalizeStatus(status))) return `this order is ${status}`
      return `unknown ${column} ${status}; use --any-status if the order is paid`
    }
    return other?.(row)
  }
}
