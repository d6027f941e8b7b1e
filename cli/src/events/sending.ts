import type { ReferralClient, ReferralError } from '@referral/sdk'
import { createClient } from '../client.ts'
import { CliError, exitCode } from '../exit.ts'
import type { Run } from '../run.ts'
import { CouponOwners } from './codes.ts'
import { type ImportJournal, orderHash } from './journal.ts'
import { findConflict } from './known.ts'
import { RateLimiter, rateLimitedClient } from './pace.ts'
import type { FailedRow, PendingOrder } from './plan.ts'
import { Progress } from './progress.ts'

/** What an import came to. */
export interface Counts {
  sent: number
  attributed: number
  knownBefore: number
  failed: FailedRow[]
}

/** Sends the orders of an import, each once, and never faster than the service allows. */
export class OrderSender {
  readonly #run: Run
  readonly #counts: Counts
  readonly #journal: ImportJournal

  constructor(run: Run, counts: Counts, journal: ImportJournal) {
    this.#run = run
    this.#counts = counts
    this.#journal = journal
  }

  /** With `parallel` 1 they go one after the other, as they stand in the file. */
  async sendAll(open: readonly PendingOrder[], parallel: number): Promise<void> {
    const run = this.#run
    const client = await createClient(run.apiKey, run.settings, {
      globalOptions: { ...run.globalOptions, wait: true },
      reporter: run.reporter,
    })
    const stop = run.handleInterrupt()
    const progress = new Progress(run.reporter, open.length)
    const pace = new RateLimiter({ signal: stop.signal, onWait: (seconds) => progress.wait(seconds) })
    const owners = new CouponOwners(rateLimitedClient(client, pace))
    const queue = open.values()
    const work = async () => {
      for (const one of queue) {
        const order = one.codes.length > 1 ? await this.#choose(one, owners) : one.order
        await pace.acquire()
        await this.#send({ ...one, order }, one.order, { client, pace, signal: stop.signal })
        progress.step(pace.limit)
      }
    }
    try {
      await Promise.all(Array.from({ length: parallel }, work))
      progress.end()
    } catch (error) {
      stop.abort()
      progress.end()
      run.reporter.info(`${this.#counts.sent} orders were sent; run the same command again for the rest.`)
      if (stop.interrupted) throw new CliError(exitCode.interrupted, 'Interrupted.', { code: 'interrupted' })
      throw error
    }
  }

  /** One coupon of several: the first that belongs to an affiliate. */
  async #choose({ row, order, codes }: PendingOrder, owners: CouponOwners): Promise<PendingOrder['order']> {
    const settled = await owners.chooseCoupon(order, codes)
    if (settled.others.length > 0)
      this.#run.reporter.warn(
        `line ${row.line}: ${codes.join(', ')} belong to several affiliates; ${settled.order.couponCode} counts`,
      )
    return settled.order
  }

  /** `read`: the order as the file has it, which the journal remembers. */
  async #send(
    { row, order }: Pick<PendingOrder, 'row' | 'order'>,
    read: PendingOrder['order'],
    { client, pace, signal }: { client: ReferralClient; pace: RateLimiter; signal: AbortSignal },
  ): Promise<void> {
    const counts = this.#counts
    // The key of the content: whatever became of the journal, the service replays what it has taken.
    const idempotencyKey = `import-${orderHash(order)}`
    const result = await client.events.conversion(order, { idempotencyKey, maxRetries: 5, signal }).safe()
    pace.release(result.error ? result.error.rateLimit : result.rateLimit)
    if (result.error) {
      counts.failed.push({ row, problem: rowProblem(result.error) })
      return
    }
    if (result.response.headers.get('X-Order-Already-Recorded') === 'true') {
      const problem = await findConflict(rateLimitedClient(client, pace), order, result.data)
      if (problem) {
        counts.failed.push({ row, problem })
        return
      }
      counts.knownBefore += 1
    } else if (result.idempotentReplayed) counts.knownBefore += 1
    else {
      counts.sent += 1
      if (result.data.commission.id !== null) counts.attributed += 1
    }
    this.#journal.add(read)
  }
}

/** What is wrong with the order itself goes to failed.csv; what would hit every further one ends the import. */
function rowProblem(error: ReferralError): string {
  const { status } = error as { status?: number }
  if (status === 400 || status === 404 || status === 409 || error.code === 'internal_error') return error.message
  throw error
}
