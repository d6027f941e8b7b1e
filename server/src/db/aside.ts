import { Worker } from 'node:worker_threads'
import type { Kysely } from 'kysely'
import { StorageError } from './storage-error.ts'
import type { Tables } from './tables.ts'

/** What a module that works aside exports as `runAside`. What comes and goes is copied, so it is plain data. */
export type RunAside<In, Out> = (db: Kysely<Tables>, input: In) => Promise<Out>

/** What the thread answers; a failure of the database is told from a bug. */
export type Answer = { value: unknown } | { storage: { message: string; code: string } } | { bug: Error }

interface Job {
  module: string
  input: unknown
  ms: number
  resolve: (value: never) => void
  reject: (error: Error) => void
}

const JOB_MS = 30_000
const MAX_WAITING = 256

/**
 * Runs what reads much in a thread with a connection of its own, one after the other: nobody else waits for it. The
 * thread is started when it is first needed, and again after it has ended or was ended for taking too long.
 */
export class AsideThread {
  readonly #url: string
  readonly #waiting: Job[] = []
  #worker: Worker | undefined
  #running: Job | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(url: string) {
    this.#url = url
  }

  /** @throws StorageError when the database failed, the thread ended, or it took longer than `ms`. */
  run<T>(module: URL, input: unknown, ms = JOB_MS): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#isClosed) return reject(unavailable('aside_closed'))
      if (this.#waiting.length >= MAX_WAITING) return reject(unavailable('aside_busy'))
      this.#waiting.push({ module: module.href, input, ms, resolve: resolve as (value: never) => void, reject })
      this.#next()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#give(unavailable('aside_closed'))
    for (const job of this.#waiting.splice(0)) job.reject(unavailable('aside_closed'))
  }

  #next(): void {
    if (this.#running) return
    this.#running = this.#waiting.shift()
    if (!this.#running) return void this.#worker?.unref()
    const { module, input, ms } = this.#running
    this.#worker ??= this.#start()
    this.#worker.ref()
    this.#timer = setTimeout(() => void this.#give(unavailable('aside_timeout')), ms)
    this.#worker.postMessage({ module, input })
  }

  #start(): Worker {
    const worker = new Worker(new URL('./aside-worker.ts', import.meta.url), { workerData: this.#url })
    const lost = () => worker === this.#worker && void this.#give(unavailable('aside_ended'))
    worker.on('message', (answer: Answer) => worker === this.#worker && this.#settle(answer))
    worker.on('error', lost)
    worker.on('exit', lost)
    return worker
  }

  #settle(answer: Answer): void {
    const job = this.#end()
    if ('value' in answer) job?.resolve(answer.value as never)
    else job?.reject('bug' in answer ? answer.bug : unavailable(answer.storage.code, answer.storage.message))
    this.#next()
  }

  /** Ends the thread, and what runs in it. */
  async #give(error: StorageError): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    this.#end()?.reject(error)
    const ended = worker?.terminate()
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

const unavailable = (code: string, message = 'The work was broken off') =>
  new StorageError(message, { code, isLost: false })
