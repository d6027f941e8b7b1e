import { fstatSync, writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'

/** Maximum queue size while standard error's reader is too slow. Further lines are dropped and counted. */
const MAX_QUEUED_BYTES = 1024 * 1024
const RETRY_MS = 20
/** How long the process waits for the reader before it exits. */
const EXIT_MS = 2000
const PAUSE_MS = 5

/**
 * Writes lines to standard error and never blocks. Lines from one turn of the event loop share a write if the pipe has
 * room for them. Otherwise, they stay queued. pino's own asynchronous destination would lose more of them when the
 * process is killed.
 */
class StandardError {
  /** Lines that were never written. */
  dropped = 0
  /** Called with the number of dropped lines once there is room again. */
  onRoom: (dropped: number) => void = () => {}
  readonly #fd = 2
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #unreported = 0
  #isClosed = false

  constructor() {
    const status = fstatSync(this.#fd, { throwIfNoEntry: false })
    // Opening the stream makes Node set O_NONBLOCK on a pipe or a socket. Files do not block, and a terminal only blocks
    // while its user pauses it.
    if (status?.isFIFO() || status?.isSocket()) void process.stderr
    process.once('exit', () => this.flushSync())
  }

  write(line: string): void {
    const bytes = Buffer.from(line)
    if (this.#isClosed || this.#waitingBytes + bytes.length > MAX_QUEUED_BYTES) return void this.#drop()
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
    if (this.#waiting.length === 1) setImmediate(() => this.#send() || this.#retry())
  }

  /** Writes the queue, and gives up after a timeout. */
  flushSync(): void {
    const until = performance.now() + EXIT_MS
    while (!this.#send() && performance.now() < until) Atomics.wait(NEVER_NOTIFIED, 0, 0, PAUSE_MS)
  }

  /** Writes as much as the pipe has room for. Returns whether the queue is empty. */
  #send(): boolean {
    while (this.#waiting.length > 0) {
      const bytes = Buffer.concat(this.#waiting)
      try {
        const rest = bytes.subarray(writeSync(this.#fd, bytes))
        this.#waiting = rest.length > 0 ? [rest] : []
        this.#waitingBytes = rest.length
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === 'EAGAIN') return false
        this.#isClosed ||= code === 'EPIPE'
        this.#drop(this.#waiting.length)
        this.#waiting = []
        this.#waitingBytes = 0
      }
    }
    return true
  }

  #retry(): void {
    setTimeout(() => {
      if (!this.#send()) return this.#retry()
      const unreported = this.#unreported
      this.#unreported = 0
      if (unreported > 0 && !this.#isClosed) this.onRoom(unreported)
    }, RETRY_MS).unref()
  }

  #drop(lines = 1): void {
    this.dropped += lines
    this.#unreported += lines
  }
}

/** Never notified: only the timeout ends a wait for it. */
const NEVER_NOTIFIED = new Int32Array(new SharedArrayBuffer(4))

let standardError: StandardError | undefined

/** JSON lines on standard error. */
export function createLog(level: string): Logger {
  standardError ??= new StandardError()
  const log = pino({ level }, standardError)
  standardError.onRoom = (dropped) => log.warn({ dropped }, 'log lines dropped')
  return log
}

/** How many of this process's log lines were dropped. */
export const droppedLines = (): number => standardError?.dropped ?? 0

/** Runs optional work: a failure is logged with a fixed code and not thrown. */
export async function bestEffort(log: Logger, code: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    log.warn({ code, reason: error instanceof Error ? error.name : 'unknown' }, 'best effort failed')
  }
}
