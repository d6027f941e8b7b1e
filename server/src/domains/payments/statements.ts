import { hash } from 'node:crypto'
import { affiliateNotFound, conflict, invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { JsonText } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { recordAccess } from '../../core/mutate.ts'
import { monthPeriod } from '../../core/time-zone.ts'
import { defineReport, type InSnapshot, type Reader } from '../../database/database.ts'
import { toSafeNumber } from '../../engine/money.ts'
import { findAffiliatesById } from '../affiliates/queries.ts'

import { render, type StatementFormat } from './statement-files.ts'
import {
  adjustmentEntry,
  orderEntry,
  partsOfAdjustment,
  paymentEntry,
  refundEntry,
  refundedAt,
  refundNet,
  type StatementEntry,
} from './statement-lines.ts'
import {
  listCommissionsOf,
  listOrdersOf,
  listPayments,
  listRefundsOf,
  type StatementCommission,
  type StatementScope,
  sumEarnedBySlot,
  sumPaidBySlot,
} from './statement-queries.ts'

type Statement = components['schemas']['Statement']
type CurrencySums = Statement['currencies'][number]

/** 20,000 orders take a few seconds. */
const TIMEOUT_MS = 120_000

/**
 * An affiliate's statement for a month of the shop, as a file's text.
 *
 * @throws ApiError 400 `invalid_parameter`, 404 `affiliate_not_found`, 409 `total_too_large`, 503 `server_busy`.
 */
export async function readFile(
  ctx: Context,
  affiliateId: string,
  { month, format }: { month: string; format: StatementFormat },
): Promise<JsonText<Statement>> {
  const query = { ...accountOf(ctx, affiliateId, month), format }
  return unwrap(await readFrom(ctx, statementReport, query, TIMEOUT_MS)).text
}

/**
 * {@link readFile} for the merchant. The audit records the access.
 *
 * @throws ApiError as {@link readFile}, 503 `audit_unavailable`.
 */
export async function exportFile(
  ctx: Context,
  affiliateId: string,
  file: { month: string; format: StatementFormat },
): Promise<JsonText<Statement>> {
  const text = await readFile(ctx, affiliateId, file)
  await recordAccess(ctx, 'statement.exported', affiliateId)
  return text
}

/** A statement with some of its lines, and their total number. */
export interface StatementPage extends Statement {
  lineCount: number
}

/**
 * A page of a statement's lines, for display.
 *
 * @throws ApiError as {@link readFile}.
 */
export async function read(
  ctx: Context,
  affiliateId: string,
  { month, ...page }: { month: string; page: number; limit: number },
): Promise<StatementPage> {
  const query = { ...accountOf(ctx, affiliateId, month), ...page }
  return unwrap(await readFrom(ctx, statementPageReport, query, TIMEOUT_MS))
}

function accountOf({ shop }: Context, affiliateId: string, month: string) {
  if (!isMonth(month)) throw invalidField('invalid_parameter', 'month', 'must be YYYY-MM, from 0001-01 to 9998-12.')
  const { name: shopName, timeZone } = shop
  const { from: periodStart, to: periodEnd } = monthPeriod(month, timeZone)
  return { affiliateId, month, timeZone, shopName, periodStart, periodEnd }
}

/** Whether a text is a month whose period can be represented. */
const isMonth = (text: string): boolean => /^(?!0000|9999)\d{4}-(0[1-9]|1[0-2])$/.test(text)

type Failure = 'NO_AFFILIATE' | 'TOO_LARGE'

function unwrap<Found extends object>(result: Found | Failure): Found {
  if (result === 'NO_AFFILIATE') throw affiliateNotFound()
  if (result === 'TOO_LARGE') throw balanceTooLarge()
  return result
}

export const balanceTooLarge = () =>
  conflict(
    'total_too_large',
    `A balance of this affiliate exceeds ${Number.MAX_SAFE_INTEGER} cents, the largest total that can be represented exactly, so its statements cannot be computed.`,
  )

interface StatementQuery extends Omit<StatementScope, 'shopId'> {
  month: string
  timeZone: string
  shopName: string
}

/**
 * Reads everything the affiliate ever earned, so it runs in the report worker, and renders the file there. It uses one
 * snapshot, because orders may arrive during the reads. The snapshot ends before the computation, because it keeps
 * deleted rows in the database.
 */
export const statementReport = defineReport(
  import.meta.url,
  'statementReport',
  async (
    _db,
    { shopId, query: { format, ...query } }: { shopId: string; query: StatementQuery & { format: StatementFormat } },
    inSnapshot,
  ): Promise<{ text: JsonText<Statement> } | Failure> => {
    const computed = await compute({ shopId, ...query }, inSnapshot)
    return typeof computed === 'string' ? computed : { text: render(computed, format) }
  },
  { isShared: true },
)

/** Only one page's lines, because they are copied between threads. */
export const statementPageReport = defineReport(
  import.meta.url,
  'statementPageReport',
  async (
    _db,
    { shopId, query }: { shopId: string; query: StatementQuery & { page: number; limit: number } },
    inSnapshot,
  ): Promise<StatementPage | Failure> => {
    const { page, limit, ...rest } = query
    const computed = await compute({ shopId, ...rest }, inSnapshot)
    if (typeof computed === 'string') return computed
    const { lines, ...head } = computed
    return { ...head, lines: lines.slice((page - 1) * limit, page * limit), lineCount: lines.length }
  },
  { isShared: true },
)

async function compute(account: StatementScope & StatementQuery, inSnapshot: InSnapshot): Promise<Statement | Failure> {
  const rows = await inSnapshot((snapshot) => readRows(snapshot, account))
  return rows ? computeStatement(account, rows) : 'NO_AFFILIATE'
}

type Rows = NonNullable<Awaited<ReturnType<typeof readRows>>>

/** Everything that a statement is computed from. */
async function readRows(db: Reader, account: StatementScope) {
  const [affiliate] = await findAffiliatesById(db, account.shopId, [account.affiliateId])
  if (!affiliate) return null
  const commissions = await listCommissionsOf(db, account)
  const subjects = new Set(adjustmentsOf(commissions).map((row) => partsOfAdjustment(row).subject))
  return {
    affiliate,
    commissions,
    orders: await listOrdersOf(db, account.shopId, [...subjects]),
    refunds: await listRefundsOf(db, account),
    payments: await listPayments(db, account),
    earnedBefore: await sumEarnedBySlot(db, account, [account.periodStart]),
    paidBefore: await sumPaidBySlot(db, account, [account.periodStart]),
  }
}

function computeStatement(query: StatementScope & StatementQuery, rows: Rows): Statement | Failure {
  const { affiliate } = rows
  const entries = toEntries(query, rows)
  const openings = entries && openingBalances(query, rows)
  const currencies = openings && sumByCurrency(openings, entries)
  if (!currencies) return 'TOO_LARGE'
  const head = {
    statement: 1 as const,
    shopId: query.shopId,
    shopName: query.shopName,
    affiliateId: affiliate.id,
    name: affiliate.name,
    email: affiliate.email,
    month: query.month,
    timeZone: query.timeZone,
    periodStart: query.periodStart,
    periodEnd: query.periodEnd,
    currencies,
  }
  const lines = numberLines(currencies, entries)
  const content = hash('sha256', JSON.stringify({ ...head, lines }), 'hex').slice(0, 8)
  return { ...head, number: `${query.month}-${affiliate.id.slice(-6)}-${content}`, lines }
}

function numberLines(currencies: CurrencySums[], entries: StatementEntry[]): Statement['lines'] {
  const balances = new Map(currencies.map(({ currency, openingCents }) => [currency, openingCents]))
  return entries.map((entry, index) => {
    const balanceCents = (balances.get(entry.currency) ?? 0) + entry.amountCents
    balances.set(entry.currency, balanceCents)
    return { line: index + 1, ...entry, balanceCents }
  })
}

const ORDER_OF_KINDS = ['ORDER', 'REFUND', 'ADJUSTMENT', 'PAYMENT']

const isAdjustment = ({ trackingMethod }: { trackingMethod: string }) => trackingMethod === 'ADJUSTMENT'

/** Excludes canceled debts, whose two rows add up to zero. */
const adjustmentsOf = (commissions: StatementCommission[]) =>
  commissions.filter((row) => isAdjustment(row) && row.orderStatus !== 'CANCELED')

/** Null when a payment exceeds the largest exact integer. */
function toEntries({ periodStart, periodEnd, timeZone }: StatementQuery, rows: Rows): StatementEntry[] | null {
  const { commissions, refunds, payments } = rows
  const orders = new Map(rows.orders.map((row) => [row.id, row]))
  const byCommission = Map.groupBy(refunds, ({ commissionId }) => commissionId)
  const lines = [
    ...commissions
      .filter((row) => !isAdjustment(row))
      .map((row) => orderEntry(row, byCommission.get(row.id) ?? [], timeZone)),
    ...refunds
      .filter((refund) => refundedAt(refund) >= periodStart && refundedAt(refund) <= periodEnd)
      .map(refundEntry),
    ...adjustmentsOf(commissions).map((row) => adjustmentEntry(row, orders)),
  ]
  for (const payment of payments) {
    const netCents = toSafeNumber(payment.netCents)
    if (netCents === null) return null
    if (netCents !== 0) lines.push(paymentEntry(payment, netCents, timeZone))
  }
  const place = ({ kind }: StatementEntry) => ORDER_OF_KINDS.indexOf(kind)
  // Sorting is stable, so entries with the same time and kind stay ordered by ID.
  lines.sort((a, b) => (a.at === b.at ? place(a) - place(b) : a.at < b.at ? -1 : 1))
  return lines
}

/** Balances before the period, by currency. */
function openingBalances({ periodStart }: StatementScope, { earnedBefore, paidBefore, refunds }: Rows) {
  const balances = new Map<string, bigint>()
  const add = (currency: string, cents: bigint) => balances.set(currency, (balances.get(currency) ?? 0n) + cents)
  for (const { currency, netCents } of earnedBefore) add(currency, netCents)
  for (const { currency, netCents } of paidBefore) add(currency, -netCents)
  // The stored amounts include later refunds.
  for (const refund of refunds) {
    const isLater = refund.happenedAt < periodStart && refundedAt(refund) >= periodStart
    if (isLater) add(refund.currency, BigInt(-refundNet(refund)))
  }
  return balances
}

const COLUMNS = {
  ORDER: 'ordersCents',
  REFUND: 'refundsCents',
  ADJUSTMENT: 'adjustmentsCents',
  PAYMENT: 'paymentsCents',
} as const

/** Null when a balance exceeds the largest exact integer. */
function sumByCurrency(openings: Map<string, bigint>, entries: StatementEntry[]): CurrencySums[] | null {
  const names = new Set([...openings.keys(), ...entries.map(({ currency }) => currency)])
  const all: CurrencySums[] = []
  for (const currency of [...names].sort()) {
    const openingCents = toSafeNumber(openings.get(currency) ?? 0n)
    if (openingCents === null) return null
    const sums = { currency, openingCents, ordersCents: 0, refundsCents: 0, adjustmentsCents: 0, paymentsCents: 0 }
    let notApprovedCents = 0
    for (const entry of entries) {
      if (entry.currency !== currency) continue
      sums[COLUMNS[entry.kind]] += entry.amountCents
      if (entry.status === 'PENDING') notApprovedCents += entry.commissionCents - entry.taxWithheldCents
    }
    const { ordersCents, refundsCents, adjustmentsCents, paymentsCents } = sums
    const closingCents = openingCents + ordersCents + refundsCents + adjustmentsCents + paymentsCents
    if (!Object.values(sums).every((sum) => typeof sum === 'string' || Number.isSafeInteger(sum))) return null
    if (!Number.isSafeInteger(closingCents)) return null
    all.push({ ...sums, closingCents, notApprovedCents })
  }
  return all.filter(
    (sums) =>
      Object.values(sums).some((value) => typeof value === 'number' && value !== 0) ||
      entries.some(({ currency }) => currency === sums.currency),
  )
}
