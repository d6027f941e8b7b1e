import type { Commission, Conversion, ConversionInput, ReferralClient, ReferralError } from '@referral/sdk'
import { applyRefund, type RefundSnapshot } from '@referral/server/refund'
import { type Connection, rowProblem } from '../../csv/import.ts'
import { contentHash } from '../../csv/journal.ts'
import { formatMoney } from '../../money.ts'
import { type RateLimited, rateLimitedClient } from '../../rate-limiter.ts'
import type { Run } from '../../run.ts'
import { CouponOwners } from './coupon-codes.ts'
import type { PendingOrder } from './plan.ts'

/** The outcome of an import. */
export interface Counts {
  sent: number
  attributed: number
  knownBefore: number
  /** Orders whose refund is new to the service. */
  refunds: number
  /** Orders whose cancellation is new to the service. */
  canceled: number
}

/** What an import would change for the orders that the service evaluated. */
export interface Forecast {
  orders: number
  attributed: number
  /** The change to commissions, in cents by currency. */
  commissionCents: Record<string, number>
}

export const newForecast = (): Forecast => ({ orders: 0, attributed: 0, commissionCents: {} })

export const addCents = (cents: Record<string, number>, currency: string, change: number): void => {
  cents[currency] = (cents[currency] ?? 0) + change
}

/** Sends an import's orders within the rate limit. */
export class OrderSender {
  readonly #run: Run
  readonly #counts: Counts
  readonly #forecast: Forecast | null
  #owners: CouponOwners | undefined

  /** @param forecast evaluates the orders instead of sending them */
  constructor(run: Run, counts: Counts, forecast: Forecast | null) {
    this.#run = run
    this.#counts = counts
    this.#forecast = forecast
  }

  /** Sends one of the file's orders, or evaluates it. @returns the problem, if it was rejected */
  async send(pending: PendingOrder, connection: Connection): Promise<string | undefined> {
    const order = pending.codes.length > 1 ? await this.#withOneCoupon(pending, connection) : pending.order
    if (typeof order === 'string') return order
    const problem = pending.isCanceled
      ? await this.#cancel(order, connection)
      : this.#forecast
        ? await this.#preview({ ...pending, order }, this.#forecast, connection)
        : ((await this.#report(order, connection)) ?? (await this.#refund(pending, connection)))
    if (this.#forecast && problem === undefined) this.#forecast.orders += 1
    return problem
  }

  /** Returns the problem when the service rejects a coupon. */
  async #withOneCoupon(
    { row, order, codes }: PendingOrder,
    { client, limiter }: Connection,
  ): Promise<ConversionInput | string> {
    this.#owners ??= new CouponOwners(rateLimitedClient(client, limiter))
    const chosen = await this.#owners.chooseCoupon(order, codes).catch((error: ReferralError) => rowProblem(error))
    if (typeof chosen === 'string') return chosen
    if (chosen.others.length > 0)
      this.#run.reporter.warn(
        `line ${row.line}: ${codes.join(', ')} belong to several affiliates; ${chosen.order.couponCode} counts`,
      )
    return chosen.order
  }

  /** Reports an order. @returns the problem, if it was rejected or is recorded with other values */
  async #report(order: ConversionInput, { client, limiter, signal }: Connection): Promise<string | undefined> {
    const counts = this.#counts
    await limiter.acquire()
    // Derived from the content, so that the service detects a repeated order even without the journal.
    const idempotencyKey = `import-${contentHash(order)}`
    const result = await client.events.conversion(order, { idempotencyKey, maxRetries: 5, signal }).safe()
    limiter.release(result.error ? result.error.rateLimit : result.rateLimit)
    if (result.error) return rowProblem(result.error)
    if (result.response.headers.get('X-Order-Already-Recorded') === 'true') {
      const problem = await findConflict(rateLimitedClient(client, limiter), order, result.data)
      if (problem) return problem
      counts.knownBefore += 1
    } else if (result.idempotentReplayed) counts.knownBefore += 1
    else {
      counts.sent += 1
      if (result.data.commission.id !== null) counts.attributed += 1
    }
    return undefined
  }

  /** Evaluates an order and its refund as {@link #report} and {@link #refund} would report them. */
  async #preview(pending: PendingOrder, forecast: Forecast, connection: Connection): Promise<string | undefined> {
    const { order, refundedCents = 0 } = pending
    const { client, limiter, signal } = connection
    const limited = rateLimitedClient(client, limiter)
    const decided = await limited.rateLimited(() => client.events.dryRun(order, { signal }).safe())
    if (decided.error) return rowProblem(decided.error)
    if (decided.response.headers.get('X-Order-Already-Recorded') === 'true') {
      const commission = await limited.rateLimited(() => findCommission(client, order))
      const problem = commission && (await findConflict(limited, order, { commission }))
      return problem ?? this.#refund(pending, connection)
    }
    const { attribution, trace } = decided.data
    if (attribution.affiliateId === null) return undefined
    forecast.attributed += 1
    const amountCents = Math.max(refundedCents, await this.#storedRefunds(order, connection))
    const groups = trace.groups as unknown as RefundSnapshot['groups']
    const snapshot = { ...goodsOf(order), baseCents: trace.baseCents, groups, lines: [], taxWithholdingBps: 0 }
    const { after } = applyRefund(snapshot, undefined, { refundId: '', amountCents })
    addCents(forecast.commissionCents, trace.currency, after.amountCents)
    return undefined
  }

  /** Refunded goods that were reported before their order. */
  async #storedRefunds({ externalOrderId }: ConversionInput, { client, limiter, signal }: Connection): Promise<number> {
    const { rateLimited } = rateLimitedClient(client, limiter)
    const probe = { externalOrderId, externalRefundId: 'import-preview', amountCents: 1 }
    const { refundedCents } = await rateLimited(() => client.refunds.create(probe, { signal, dryRun: true }))
    return refundedCents - probe.amountCents
  }

  /**
   * Reports the export's refunded total, less what is already recorded: an earlier export or a backend may have
   * reported part of it.
   */
  async #refund(
    { order: { externalOrderId, currency = 'USD' }, refundedCents = 0 }: PendingOrder,
    { client, limiter, signal }: Connection,
  ): Promise<string | undefined> {
    if (refundedCents === 0) return undefined
    const { rateLimited } = rateLimitedClient(client, limiter)
    const total = { externalOrderId, externalRefundId: `import-${refundedCents}`, amountCents: refundedCents, currency }
    const options = { maxRetries: 5, signal }
    try {
      const preview = await rateLimited(() => client.refunds.create(total, { ...options, dryRun: true }))
      const recordedCents = preview.refundedCents - (preview.refund?.goodsCents ?? refundedCents)
      if (!preview.changed || recordedCents >= refundedCents) return undefined
      const amountCents = refundedCents - recordedCents
      const report = { ...total, amountCents }
      const { changed, refund, commission } = await rateLimited(() =>
        client.refunds.create(report, { ...options, dryRun: this.#run.dryRun }),
      )
      if (this.#forecast && commission && refund)
        addCents(this.#forecast.commissionCents, commission.currency, refund.commissionCents)
      else if (changed) this.#counts.refunds += 1
      return undefined
    } catch (error) {
      return rowProblem(error as ReferralError)
    }
  }

  async #cancel(
    { externalOrderId }: ConversionInput,
    { client, limiter, signal }: Connection,
  ): Promise<string | undefined> {
    const { rateLimited } = rateLimitedClient(client, limiter)
    try {
      const options = { maxRetries: 5, signal, dryRun: this.#run.dryRun }
      const report = () => client.cancellations.create({ externalOrderId }, options).withResponse()
      const { data, idempotentReplayed } = await rateLimited(report)
      if (this.#forecast) {
        if (data.commission) addCents(this.#forecast.commissionCents, data.commission.currency, data.commissionCents)
      } else if (data.changed && !idempotentReplayed) this.#counts.canceled += 1
      else this.#counts.knownBefore += 1
      return undefined
    } catch (error) {
      return rowProblem(error as ReferralError)
    }
  }
}

/**
 * Compares an order with the recorded one of the same ID. The service keeps the first report, so that a corrected order
 * would be ignored silently.
 *
 * @returns the difference, or undefined when both are the same.
 */
async function findConflict(
  { client, rateLimited }: { client: ReferralClient; rateLimited: RateLimited },
  order: ConversionInput,
  { commission }: { commission: Pick<Conversion['commission'], 'id' | 'affiliateId'> },
): Promise<string | undefined> {
  const recorded = await rateLimited(() => findCommission(client, order, commission.id))
  const currency = order.currency ?? 'USD'
  if (recorded) {
    const cents = recorded.orderSubtotalCents - recorded.orderDiscountCents
    if (cents !== netOf(order) || recorded.orderCurrency !== currency)
      return `already recorded with ${formatMoney(cents, recorded.orderCurrency)}, not ${formatMoney(netOf(order), currency)}; an order counts once`
  }
  if (!order.couponCode && !order.affiliateCode && !order.ref) return undefined
  const { attribution } = await rateLimited(() => client.events.dryRun(order))
  if (!attribution.affiliateId || attribution.affiliateId === commission.affiliateId) return undefined
  return `already recorded for ${commission.affiliateId}, not ${attribution.affiliateId}; an order counts once`
}

/** An order's goods, as the service records them. */
const goodsOf = ({ amountCents = 0, discountCents = 0 }: ConversionInput) => ({
  subtotalCents: amountCents ?? 0,
  discountCents: discountCents ?? 0,
})

const netOf = ({ amountCents, discountCents }: ConversionInput) => (amountCents ?? 0) - (discountCents ?? 0)

/** Returns undefined if the key may not read commissions. Amounts are then not compared. */
async function findCommission(
  client: ReferralClient,
  { externalOrderId }: ConversionInput,
  commissionId?: string | null,
): Promise<Commission | undefined> {
  const id = String(externalOrderId).trim()
  const { data, error } = await client.commissions.list({ externalOrderId: `api:${id}`, limit: 1 }).safe()
  if (error && error.code !== 'scope_missing') throw error
  return data?.data.find((row) => commissionId === undefined || row.id === commissionId)
}
