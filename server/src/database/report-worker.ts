import { Worker } from 'node:worker_threads'
import { runsFromSource } from '../runs-from-source.ts'
import type { Report, ReportRequest } from './database.ts'
import { FairQueue } from './fair-queue.ts'
import { QueueFullError, ReportTimeoutError, StorageError } from './storage-error.ts'

/** The report thread's message: a result, a database failure, or a bug in the report. */
export type ReportResponse = { value: unknown } | { storage: { message: string; code: string } } | { bug: Bug }

/** An error's parts that can always be copied between threads. */
export type Bug = Pick<Error, 'name' | 'message' | 'stack'>

interface Job {
  module: string
  name: string
  input: ReportRequest
  timeoutMs: number
  /** Set if equal requests share the run. */
  sharedKey: string | undefined
  result: Promise<unknown>
  resolve: (value: never) => void
  reject: (error: Error) => void
}

const THREAD = new URL(runsFromSource ? './report-thread.ts' : './report-thread.js', import.meta.url)
const TIMEOUT_MS = 30_000
/** Enough time to add up several million commissions. */
const LONG_TIMEOUT_MS = 300_000
const MAX_QUEUED_PER_SHOP = 32

/** Two threads: one for long reports, started with the first of them, and one for all others. */
export class ReportWorkers {
  readonly #short: ReportWorker
  readonly #long: ReportWorker

  constructor(url: string) {
    this.#short = new ReportWorker(url)
    this.#long = new ReportWorker(url)
  }

  /** Like {@link ReportWorker.run}. */
  run<Input extends ReportRequest, Result>(
    report: Report<Input, Result>,
    input: Input,
    timeoutMs?: number,
    isLong = report.isLong,
  ): Promise<Result> {
    return isLong
      ? this.#long.run(report, input, timeoutMs ?? LONG_TIMEOUT_MS)
      : this.#short.run(report, input, timeoutMs)
  }

  /** Starts the thread for short reports early, so that the first one does not wait for it. */
  start(): void {
    this.#short.start()
  }

  async close(): Promise<void> {
    await Promise.all([this.#short.close(), this.#long.close()])
  }
}

/**
 * Runs reports one at a time in a thread with its own read connection. Shops take turns; test shops use their shop's
 * turns. The thread starts with the first report, and again after it exited or was terminated by a timeout.
 */
class ReportWorker {
  readonly #url: string
  readonly #queue = new FairQueue<Job>(MAX_QUEUED_PER_SHOP)
  /** Waiting jobs that equal requests share. */
  readonly #shared = new Map<string, Job>()
  #worker: Worker | undefined
  #running: Job | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** Resolves once the last terminated thread has exited. A running SQLite statement delays that. */
  #terminating: Promise<unknown> | undefined
  #isPaused = false

  constructor(url: string) {
    this.#url = url
  }

  /**
   * @throws StorageError when the database fails or the thread exits; ReportTimeoutError when the report exceeds
   * `timeoutMs`; QueueFullError when the shop's queue is full.
   */
  run<Input extends ReportRequest, Result>(
    { module, name, isShared }: Report<Input, Result>,
    input: Input,
    timeoutMs = TIMEOUT_MS,
  ): Promise<Result> {
    if (this.#isClosed) return Promise.reject(reportError('report_closed'))
    const sharedKey = isShared ? JSON.stringify([module, name, input]) : undefined
    // Only a run that has not started, because it will see every change made before this request.
    const waiting = sharedKey === undefined ? undefined : this.#shared.get(sharedKey)
    if (waiting) return waiting.result as Promise<Result>
    const { promise: result, resolve, reject } = Promise.withResolvers<Result>()
    const job = {
      module,
      name,
      input,
      timeoutMs,
      sharedKey,
      result,
      resolve: resolve as (value: never) => void,
      reject,
    }
    if (!this.#queue.add(input.ownerId ?? input.shopId, job)) return Promise.reject(new QueueFullError())
    if (sharedKey !== undefined) this.#shared.set(sharedKey, job)
    this.#next()
    return result
  }

  /** Starts the thread, unless it runs. */
  start(): void {
    if (this.#worker || this.#isClosed || this.#isPaused) return
    this.#worker = this.#start()
    this.#worker.unref()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#stop(reportError('report_closed'))
    for (const job of this.#queue.clear()) job.reject(reportError('report_closed'))
  }

  #next(): void {
    if (this.#running || this.#isPaused) return
    this.#running = this.#queue.take()
    if (!this.#running) return void this.#worker?.unref()
    const { module, name, input, timeoutMs, sharedKey } = this.#running
    if (sharedKey !== undefined) this.#shared.delete(sharedKey)
    this.#worker ??= this.#start()
    this.#worker.ref()
    this.#timer = setTimeout(() => void this.#stop(new ReportTimeoutError()), timeoutMs)
    this.#worker.postMessage({ module, name, input })
  }

  #start(): Worker {
    const worker = new Worker(THREAD, { workerData: this.#url })
    const onExit = () => worker === this.#worker && void this.#stop(reportError('report_ended'))
    worker.on('message', (response: ReportResponse) => worker === this.#worker && this.#settle(response))
    worker.on('error', onExit)
    worker.on('exit', onExit)
    return worker
  }

  #settle(response: ReportResponse): void {
    const job = this.#takeRunning()
    if ('value' in response) job?.resolve(response.value as never)
    else
      job?.reject(
        'bug' in response ? toError(response.bug) : reportError(response.storage.code, response.storage.message),
      )
    this.#next()
  }

  /** Terminates the thread and rejects its report. */
  async #stop(error: StorageError): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    this.#takeRunning()?.reject(error)
    const previous = this.#terminating
    const exited = worker?.terminate()
    this.#terminating = exited
    // At most one terminated thread may still run next to the new one.
    this.#isPaused = true
    await previous
    this.#isPaused = false
    if (!this.#isClosed) this.#next()
    await exited
  }

  #takeRunning(): Job | undefined {
    const job = this.#running
    clearTimeout(this.#timer)
    this.#running = undefined
    return job
  }
}

const toError = ({ name, message, stack }: Bug) => Object.assign(new Error(message), { name, stack })

const reportError = (code: string, message = 'The report was interrupted') =>
  new StorageError(message, { code, isLost: false })
