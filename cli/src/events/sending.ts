import type { ReferralClient, ReferralError } from '@referral/sdk'
import { makeClient } from '../client.ts'
import { CliError, exit } from '../exit.ts'
import type { Run } from '../run.ts'
import { type Journal, orderHash } from './journal.ts'
import { knownOtherwise } from './known.ts'
import { Pace } from './pace.ts'
import type { FailedRow, OpenOrder } from './plan.ts'
import { Progress } from './progress.ts'

/** What an import came to. */
export interface Counts {
  sent: number
  attributed: number
  knownBefore: number
  failed: FailedRow[]
}

/** Sends the orders of an import, each once, and never faster than the service allows. */
export class Sending {
  readonly #run: Run
  readonly #counts: Counts
  readonly #journal: Journal

  constructor(run: Run, counts: Counts, journal: Journal) {
    this.#run = run
    this.#counts = counts
    this.#journal = journal
  }

  /** With `parallel` 1 they go one after the other, as they stand in the file. */
  async sendAll(open: readonly OpenOrder[], parallel: number): Promise<void> {
    const run = this.#run
    const client = await makeClient(run.apiKey, run.settings, {
      globals: { ...run.globals, wait: true },
      talk: run.talk,
    })
    const stop = run.catchInterrupt()
    const progress = new Progress(run.talk, open.length)
    const pace = new Pace({ signal: stop.signal, onWait: (seconds) => progress.wait(seconds) })
    const queue = open.values()
    const work = async () => {
      for (const one of queue) {
        await pace.turn()
        await this.#send(one, { client, pace, signal: stop.signal })
        progress.step()
      }
    }
    try {
      await Promise.all(Array.from({ length: parallel }, work))
      progress.end()
    } catch (error) {
      stop.abort()
      progress.end()
      run.talk.note(`${this.#counts.sent} orders were sent; run the same command again for the rest.`)
      if (stop.interrupted) throw new CliError(exit.interrupted, 'Interrupted.', { code: 'interrupted' })
      throw error
    }
  }

  async #send(
    { row, order }: OpenOrder,
    { client, pace, signal }: { client: ReferralClient; pace: Pace; signal: AbortSignal },
  ): Promise<void> {
    const counts = this.#counts
    // The key of the content: whatever became of the journal, the service replays what it has taken.
    const idempotencyKey = `import-${orderHash(order)}`
    const result = await client.events.conversion(order, { idempotencyKey, maxRetries: 5, signal }).safe()
    pace.landed(result.error ? result.error.rateLimit : result.rateLimit)
    if (result.error) {
      counts.failed.push({ row, problem: problemOf(result.error) })
      return
    }
    if (result.response.headers.get('X-Order-Already-Recorded') === 'true') {
      const problem = await knownOtherwise(pacedClient(client, pace), order, result.data)
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
    this.#journal.add(order)
  }
}

/** The client for a second look, each request in its turn. */
const pacedClient = (client: ReferralClient, pace: Pace) => ({
  client,
  paced: async <T>(call: () => PromiseLike<T>): Promise<T> => {
    await pace.turn()
    try {
      return await call()
    } finally {
      pace.landed(client.rateLimit)
    }
  },
})

/** What is wrong with the order itself goes to failed.csv; what would hit every further one ends the import. */
function problemOf(error: ReferralError): string {
  const { status } = error as { status?: number }
  if (status === 400 || status === 404 || status === 409 || error.code === 'internal_error') return error.message
  throw error
}
