import { Worker } from 'node:worker_threads'
import type { Report, ReportRequest } from './database.ts'
import { FairQueue } from './fair-queue.ts'
import { QueueFullError, StorageError } from './storage-error.ts'

/** What the thread sends back. A failure of the database is not a bug of the report. */
export type ReportResponse = { value: unknown } | { storage: { message: string; code: string } } | { bug: Bug }

/** An error as it can be copied whatever hangs on it. */
export type Bug = Pick<Error, 'name' | 'message' | 'stack'>

interface Job {
  module: string
  name: string
  input: unknown
  timeoutMs: number
  resolve: (value: never) => void
  reject: (error: Error) => void
}

const TIMEOUT_MS = 30_000
const MAX_QUEUED_PER_SHOP = 32

/**
 * Runs what reads much in a thread with a connection of its own, one after the other, and of each shop in turn: nobody
 * else waits for it. The thread is started when it is first needed, and again after it has ended or was ended for taking too long.
 */
export class ReportWorker {
  readonly #url: string
  readonly #waiting = new FairQueue<Job>(MAX_QUEUED_PER_SHOP)
  #worker: Worker | undefined
  #running: Job | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** The thread that was ended last; it goes on as long as its statement of SQLite. */
  #ending: Promise<unknown> | undefined
  #isHeld = false

  constructor(url: string) {
    this.#url = url
  }

  /**
   * @throws StorageError when the database failed, the thread ended, or it took longer than `ms`; TooMuchWaiting when
   * the shop has too much waiting already.
   */
  run<Input extends ReportRequest, Result>(
    { module, name }: Report<Input, Result>,
    input: Input,
    timeoutMs = TIMEOUT_MS,
  ) {
    return new Promise<Result>((resolve, reject) => {
      if (this.#isClosed) return reject(reportError('report_closed'))
      const job = { module, name, input, timeoutMs, resolve: resolve as (value: never) => void, reject }
      if (!this.#waiting.add(input.shopId, job)) return reject(new QueueFullError())
      this.#next()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#give(reportError('report_closed'))
    for (const job of this.#waiting.clear()) job.reject(reportError('report_closed'))
  }

  #next(): void {
    if (this.#running || this.#isHeld) return
    this.#running = this.#waiting.take()
    if (!this.#running) return void this.#worker?.unref()
    const { module, name, input, timeoutMs } = this.#running
    this.#worker ??= this.#start()
    this.#worker.ref()
    this.#timer = setTimeout(() => void this.#give(reportError('report_timeout')), timeoutMs)
    this.#worker.postMessage({ module, name, input })
  }

  #start(): Worker {
    const worker = new Worker(new URL('./report-thread.ts', import.meta.url), { workerData: this.#url })
    const lost = () => worker === this.#worker && void this.#give(reportError('report_ended'))
    worker.on('message', (answer: ReportResponse) => worker === this.#worker && this.#settle(answer))
    worker.on('error', lost)
    worker.on('exit', lost)
    return worker
  }

  #settle(answer: ReportResponse): void {
    const job = this.#end()
    if ('value' in answer) job?.resolve(answer.value as never)
    else job?.reject('bug' in answer ? toError(answer.bug) : reportError(answer.storage.code, answer.storage.message))
    this.#next()
  }

  /** Ends the thread, and what runs in it. */
  async #give(error: StorageError): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    this.#end()?.reject(error)
    const before = this.#ending
    const ended = worker?.terminate()
    this.#ending = ended
    // One may go on beside the new one; more would gather.
    this.#isHeld = true
    await before
    this.#isHeld = false
    if (!this.#isClosed) this.#next()
    await ended
  }

  #end(): Job | undefined {
    const job = this.#running
    clearTimeout(this.#timer)
    this.#running = undefined
    return job
  }
}

const toError = ({ name, message, stack }: Bug) => Object.assign(new Error(message), { name, stack })

const reportError = (code: string, message = 'The work was broken off') =>
  new StorageError(message, { code, isLost: false })
