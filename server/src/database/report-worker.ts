import { Worker } from 'node:worker_threads'
import { runsFromSource } from '../runs-from-source.ts'
import type { Report, ReportRequest } from './database.ts'
import { installationState } from './installation-files.ts'
import { ReportQueue } from './report-queue.ts'
import { InstallationReplacedError, QueueFullError, ReportTimeoutError, StorageError } from './storage-error.ts'

/** The message of the report thread: a result, a failure of the database, or a bug in the report. */
export type ReportResponse = { value: unknown } | { storage: { message: string; code: string } } | { bug: Bug }

/** The parts of an error that can always be copied between threads. */
export type Bug = Pick<Error, 'name' | 'message' | 'stack'>

interface Job {
  module: string
  name: string
  input: ReportRequest
  timeoutMs: number
  /** Set when equal requests share the run. */
  sharedKey: string | undefined
  result: Promise<unknown>
  resolve: (value: never) => void
  reject: (error: Error) => void
}

const THREAD = new URL(runsFromSource ? './report-thread.ts' : './report-thread.js', import.meta.url)
const TIMEOUT_MS = 30_000
/** The sums of several million commissions. */
const LONG_TIMEOUT_MS = 300_000
const MAX_QUEUED_PER_SHOP = 32
const STARTED_MS = 500

/** Two threads: one for reports that can take long, started with the first of them, and one for all others. */
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

  /** Starts the thread of short reports before the first of them, which would wait for it. */
  start(): void {
    this.#short.start()
  }

  async close(): Promise<void> {
    await Promise.all([this.#short.close(), this.#long.close()])
  }
}

/**
 * Runs reports one at a time in a thread with its own read connection; shops share its time. The thread starts with the first
 * report, and again after it exited or was terminated by a timeout. Once the installation was replaced, it loads no module.
 */
export class ReportWorker {
  readonly #url: string
  readonly #queue = new ReportQueue<Job>(MAX_QUEUED_PER_SHOP)
  #worker: Worker | undefined
  #running: Job | undefined
  #startedAt = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** Resolves when the last terminated thread has exited, which a running SQLite statement delays. */
  #terminating: Promise<unknown> | undefined
  #isPaused = false
  /** The modules that the thread has imported. */
  readonly #loaded = new Set<string>()
  /** Read a moment after the start, which it would delay. */
  #installation: string | undefined
  readonly #started: NodeJS.Timeout

  constructor(url: string) {
    this.#url = url
    this.#started = setTimeout(() => {
      this.#installation ??= installationState()
    }, STARTED_MS).unref()
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
    // Only a run that has not begun: it sees every change before this request.
    const waiting = sharedKey && this.#queue.find((job) => job.sharedKey === sharedKey)
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
    if (!this.#queue.add(input, job)) return Promise.reject(new QueueFullError())
    this.#next()
    return result
  }

  /** Starts the thread, unless it runs or the installation was replaced. */
  start(): void {
    if (this.#worker || this.#isClosed || this.#isPaused || this.#isReplaced()) return
    this.#worker = this.#start()
    this.#worker.unref()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#started)
    await this.#stop(reportError('report_closed'))
    for (const job of this.#queue.clear()) job.reject(reportError('report_closed'))
  }

  #next(): void {
    if (this.#running || this.#isPaused) return
    this.#running = this.#queue.take()
    if (!this.#running) return void this.#worker?.unref()
    const { module, name, input, timeoutMs } = this.#running
    this.#startedAt = performance.now()
    if (!this.#loaded.has(module) && this.#isReplaced()) {
      this.#takeRunning()?.reject(new InstallationReplacedError())
      return void this.#next()
    }
    this.#loaded.add(module)
    this.#worker ??= this.#start()
    this.#worker.ref()
    this.#timer = setTimeout(() => void this.#stop(new ReportTimeoutError()), timeoutMs)
    this.#worker.postMessage({ module, name, input })
  }

  #isReplaced(): boolean {
    const now = installationState()
    this.#installation ??= now
    return now !== this.#installation
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
    this.#loaded.clear()
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
    if (job) this.#queue.charge(job.input, performance.now() - this.#startedAt)
    return job
  }
}

const toError = ({ name, message, stack }: Bug) => Object.assign(new Error(message), { name, stack })

const reportError = (code: string, message = 'The report was interrupted') =>
  new StorageError(message, { code, isLost: false })
