import { findColumn } from '../csv/headers.ts'
import type { CsvRow } from '../csv/read.ts'
import { ORDER_FIELDS } from './fields.ts'

/** How the order export of one kind of shop is read. */
export interface ExportFormat {
  title: string
  /** Columns that together occur in no other export. */
  signatureColumns: readonly string[]
  /** Field and its columns, in place of the usual names. An empty list: the export has no such column. */
  columns: Readonly<Record<string, readonly string[]>>
  /** The columns that say whether an order was paid, and the states that mean it was. */
  statusColumns: readonly string[]
  paid: readonly string[]
  /** States that mean it was not, or not for good. Anything else is unknown, and refused as well. */
  unpaid: readonly string[]
  /** The zone of times that name none, where the format fixes it. */
  timezone?: string
  /** What else tells against a row, beside its state. */
  problemOf?: (header: readonly string[]) => (row: CsvRow) => string | undefined
}

const cellOf = (row: CsvRow, column: string | undefined): string =>
  column === undefined ? '' : (row.cells[column]?.trim() ?? '')

/** Payments that were not captured, or that the customer disputes. A dispute that was won counts as paid. */
function stripeProblem(header: readonly string[]): (row: CsvRow) => string | undefined {
  const captured = findColumn(header, ['captured'])
  const status = findColumn(header, ['disputeStatus'])
  const disputed = findColumn(header, ['disputedAmount', 'disputed'])
  return (row) => {
    if (/^(false|no)$/i.test(cellOf(row, captured))) return 'this payment was not captured'
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
      // Subtotal is the goods after the discount.
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
    title: 'a plain CSV file',
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

/** The dialect whose marks all occur in the header, else a plain CSV file. */
export const detectExportFormat = (header: readonly string[]): ExportFormatName =>
  (Object.keys(exportFormats) as ExportFormatName[]).find(
    (name) =>
      exportFormats[name].signatureColumns.length > 0 &&
      exportFormats[name].signatureColumns.every((mark) => header.includes(mark)),
  ) ?? 'csv'

/** The columns of each field in this dialect. */
export const columnNamesOf = ({ columns }: ExportFormat): Readonly<Record<string, readonly string[]>> => ({
  ...ORDER_FIELDS,
  ...columns,
})

const normalizeStatus = (state: string) => state.toLowerCase().replace(/^wc-/, '').replaceAll(' ', '_')

/** Why the money of a row did not arrive or did not stay. Undefined for an order that was paid. */
export function unpaidReason(dialect: ExportFormat, header: readonly string[]): (row: CsvRow) => string | undefined {
  const canceled = findColumn(header, ['canceledAt', 'cancelledAt', 'canceled date (UTC)'])
  const refunded = findColumn(header, [
    'refundedAmount',
    'amountRefunded',
    'totalRefunded',
    'refundTotal',
    'orderTotalRefunded',
  ])
  const column = findColumn(header, dialect.statusColumns)
  const other = dialect.problemOf?.(header)
  return (row) => {
    if (cellOf(row, canceled)) return `this order was cancelled at ${cellOf(row, canceled)}`
    const state = cellOf(row, column)
    const isPaid = column === undefined || dialect.paid.includes(normalizeStatus(state))
    // An amount says more than the state that goes with it.
    if (/[1-9]/.test(cellOf(row, refunded))) return `${cellOf(row, refunded)} of this order was refunded`
    if (!isPaid) {
      if (state === '') return `${column} is empty, so it is not known whether this order was paid`
      if (dialect.unpaid.includes(normalizeStatus(state))) return `this order is ${state}`
      return `${column} is ${state}, which is not known; import it with --any-status if it was paid`
    }
    return other?.(row)
  }
}
