import { type ColumnMapping, findColumn } from '../../csv/columns.ts'
import type { CsvRow } from '../../csv/parse.ts'
import { ORDER_FIELDS, REFUND_FIELDS } from './order-fields.ts'

/** The format of a shop system's order export. */
export interface OrderExportFormat {
  title: string
  /** Sets of columns that identify the format. */
  signatures: readonly (readonly string[])[]
  /** Column names that replace the usual ones of a field. An empty list means that the export has no such column. */
  columns: Readonly<Record<string, readonly string[]>>
  /** The payment status columns, and their values for paid orders. */
  statusColumns: readonly string[]
  paid: readonly string[]
  /** The values for unpaid, canceled, and refunded orders. Unknown values are rejected as well. */
  unpaid: readonly string[]
  /** The values for payments that failed for good. Their rows are skipped. */
  neverPaid?: readonly string[]
  /** The time zone for times without an offset, if the format defines one. */
  timezone?: string
  /** Additional reasons to reject a row. */
  check?: (header: readonly string[]) => RowCheck
}

/** A reason to reject rows. */
export interface RowCheck {
  /** The columns that it reads. */
  columns: readonly string[]
  problemOf: (row: CsvRow) => string | undefined
}

const cellOf = (row: CsvRow, column: string | undefined): string =>
  column === undefined ? '' : (row.cells[column]?.trim() ?? '')

const present = (...columns: (string | undefined)[]): string[] => columns.filter((column) => column !== undefined)

/** Rejects payments that are uncaptured or disputed. A won dispute counts as paid. */
function stripeCheck(header: readonly string[]): RowCheck {
  const captured = findColumn(header, ['captured'])
  const status = findColumn(header, ['disputeStatus'])
  const disputed = findColumn(header, ['disputedAmount', 'disputed'])
  return {
    columns: present(captured, status, disputed),
    problemOf: (row) => {
      if (/^(false|no)$/i.test(cellOf(row, captured))) return 'this payment is not captured'
      if (/^won$/i.test(cellOf(row, status))) return undefined
      const isDisputed = cellOf(row, status) !== '' || /[1-9]|true|yes/i.test(cellOf(row, disputed))
      return isDisputed ? 'this payment is disputed' : undefined
    },
  }
}

export const orderExportFormats: Readonly<Record<'shopify' | 'woocommerce' | 'stripe' | 'csv', OrderExportFormat>> = {
  shopify: {
    title: 'Shopify',
    signatures: [['Financial Status', 'Lineitem name', 'Discount Code']],
    columns: {
      externalOrderId: ['Id', 'Name'],
      orderName: ['Name'],
      // The subtotal is after the discount.
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
    signatures: [
      ['order_number', 'order_currency', 'status'],
      ['Order Number', 'Order Status', 'Order Subtotal Amount'],
    ],
    columns: {
      externalOrderId: ['order_id', 'order_number'],
      orderName: ['order_number'],
      amountCents: ['order_subtotal', 'order_subtotal_amount', 'cart_subtotal', 'subtotal'],
      discountCents: ['discount_total', 'cart_discount', 'cart_discount_amount'],
      shippingCents: ['shipping_total', 'order_shipping_amount'],
      taxCents: ['tax_total', 'order_total_tax_amount'],
      currency: ['order_currency'],
      couponCode: ['coupon_items', 'coupons', 'coupon_codes', 'coupon_code'],
      customerEmail: ['billing_email', 'email_billing', 'customer_email'],
      occurredAt: ['paid_date', 'order_date', 'date_created', 'date'],
    },
    statusColumns: ['status', 'order_status'],
    paid: ['completed', 'processing'],
    unpaid: [
      'pending',
      'pending_payment',
      'on_hold',
      'failed',
      'cancelled',
      'canceled',
      'refunded',
      'checkout_draft',
      'draft',
      'trash',
    ],
  },
  stripe: {
    title: 'Stripe',
    signatures: [['Created date (UTC)', 'Amount', 'Status']],
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
    neverPaid: ['failed', 'blocked', 'expired'],
    timezone: 'UTC',
    check: stripeCheck,
  },
  csv: {
    title: 'CSV',
    signatures: [],
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
      'pending_payment',
      'authorized',
      'expired',
      'unpaid',
      'failed',
      'cancelled',
      'canceled',
      'on_hold',
      'disputed',
      'draft',
      'partially_paid',
    ],
  },
}

export type OrderExportFormatName = keyof typeof orderExportFormats

/** Returns the format whose identifying columns are all in the header, or `csv`. */
export const detectOrderExportFormat = (header: readonly string[]): OrderExportFormatName =>
  (Object.keys(orderExportFormats) as OrderExportFormatName[]).find((name) =>
    orderExportFormats[name].signatures.some((columns) => columns.every((column) => header.includes(column))),
  ) ?? 'csv'

/** Each field's column names in this format. */
export const columnNamesOf = (
  { columns }: OrderExportFormat,
  { withRefunds = false } = {},
): Readonly<Record<string, readonly string[]>> => ({
  ...ORDER_FIELDS,
  ...(withRefunds ? REFUND_FIELDS : { refundedCents: [] }),
  ...columns,
})

export const normalizeStatus = (status: string) =>
  status
    .toLowerCase()
    .replace(/^wc-/, '')
    .replace(/[\s-]+/g, '_')

const REFUND_COLUMNS = [...REFUND_FIELDS.refundedCents, 'refunded', 'refundItems']

/** Whether a cell of a refund column is empty, a zero amount or a negation. */
export const isNoRefund = (text: string): boolean =>
  !/[1-9]/.test(text) && (/0/.test(text) || /^(?:false|no|none|null|n\/a|[^\p{L}]*)$/iu.test(text))

/**
 * Detects orders that are refunded in full or in part. Besides the known columns, it reads every unmapped column with
 * `refund` in its name, because crediting a refunded order in full is worse than rejecting a paid one.
 */
export function refundCheck(format: OrderExportFormat, header: readonly string[], mapping: ColumnMapping): RowCheck {
  const known = [
    ...present(mapping.refundedCents),
    ...REFUND_COLUMNS.flatMap((name) => findColumn(header, [name]) ?? []),
  ]
  const mapped = Object.values(mapping)
  const others = header.filter(
    (name) => /refund(?!able)/i.test(name) && !known.includes(name) && !mapped.includes(name),
  )
  const status = findColumn(header, format.statusColumns)
  return {
    columns: [...known, ...others, ...present(status)],
    problemOf: (row) => {
      for (const column of known) {
        const text = cellOf(row, column)
        if (isNoRefund(text)) continue
        return /\p{L}/u.test(text)
          ? `this order was refunded: ${column} is ${text}`
          : `${text.replace(/^-\s*/, '')} of this order was refunded`
      }
      const other = others.find((column) => /[1-9]/.test(cellOf(row, column)))
      if (other !== undefined) return `this order was refunded: ${other} is ${cellOf(row, other)}`
      return normalizeStatus(cellOf(row, status)).includes('refunded')
        ? `this order is ${cellOf(row, status)}`
        : undefined
    },
  }
}

/**
 * Detects refunded orders whose refunded amount is unknown. A full refund needs no amount.
 *
 * @param amountColumn the column with refunded amounts, if there is one.
 */
export function refundAmountCheck(
  format: OrderExportFormat,
  header: readonly string[],
  amountColumn: string | undefined,
): RowCheck {
  const others = header.filter((name) => /refund(?!able)/i.test(name) && name !== amountColumn)
  const status = findColumn(header, format.statusColumns)
  return {
    columns: [...others, ...present(status)],
    problemOf: (row) => {
      if (!isNoRefund(cellOf(row, amountColumn)) || isRefunded(cellOf(row, status))) return undefined
      const known =
        amountColumn === undefined ? 'no column with the refunded amount was found' : `${amountColumn} is empty`
      const other = others.find((column) => !isNoRefund(cellOf(row, column)))
      if (other !== undefined) return `${other} is ${cellOf(row, other)}, but ${known}`
      return normalizeStatus(cellOf(row, status)).includes('refunded')
        ? `this order is ${cellOf(row, status)}, but ${known}`
        : undefined
    },
  }
}

/** Whether a status says that everything was refunded. */
const isRefunded = (status: string): boolean => normalizeStatus(status) === 'refunded'

/** Finds what happened to an order after its payment, as far as its status and dates show it. */
export function laterStatus(format: OrderExportFormat, header: readonly string[]) {
  const canceledAt = findColumn(header, CANCELED_AT)
  const status = findColumn(header, format.statusColumns)
  return (row: CsvRow): 'canceled' | 'refunded' | undefined => {
    const text = cellOf(row, status)
    if (cellOf(row, canceledAt) || ['canceled', 'cancelled'].includes(normalizeStatus(text))) return 'canceled'
    return isRefunded(text) ? 'refunded' : undefined
  }
}

const CANCELED_AT = ['canceledAt', 'cancelledAt', 'canceled date (UTC)']

/** Finds payments that failed permanently, which are not orders. */
export function failedPayments(format: OrderExportFormat, header: readonly string[]): (row: CsvRow) => boolean {
  const status = findColumn(header, format.statusColumns)
  return (row) => format.neverPaid?.includes(normalizeStatus(cellOf(row, status))) ?? false
}

/** Detects orders that are unpaid, canceled or disputed, or whose payment status is unknown. */
export function paymentCheck(
  format: OrderExportFormat,
  header: readonly string[],
  { acceptsRefunds = false } = {},
): RowCheck {
  const paid = acceptsRefunds ? [...format.paid, 'refunded', 'partially_refunded'] : format.paid
  const canceled = findColumn(header, CANCELED_AT)
  const column = findColumn(header, format.statusColumns)
  const other = format.check?.(header)
  return {
    columns: [...present(canceled, column), ...(other?.columns ?? [])],
    problemOf: (row) => {
      if (cellOf(row, canceled)) return `this order was canceled at ${cellOf(row, canceled)}`
      if (column === undefined) return other?.problemOf(row)
      const status = cellOf(row, column)
      if (status === '') return `${column} is empty, so the payment status is unknown`
      if (paid.includes(normalizeStatus(status))) return other?.problemOf(row)
      if (format.unpaid.includes(normalizeStatus(status))) return `this order is ${status}`
      return `unknown ${column} ${status}; if it means paid, add --paid-status '${status}'`
    },
  }
}
