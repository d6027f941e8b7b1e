import { setTimeout as sleep } from 'node:timers/promises'
import type { Deps } from './context.ts'
import { probeRead, probeWrite } from './installation.ts'

/** Whether this process can serve requests. */
export interface DatabaseHealth {
  /** The database responds. */
  isUp: boolean
  /** Its schema is current. */
  isMigrated: boolean
  /** A change was committed recently. */
  isWritable: boolean
}

export const isReady = ({ isUp, isMigrated, isWritable }: DatabaseHealth): boolean => isUp && isMigrated && isWritable

/** Together less than the two seconds that callers wait. */
const READ_TIMEOUT_MS = 1000
const WRITE_TIMEOUT_MS = 500
/** How often a test commit proves that the database is writable, and how often after a failure. */
const WRITE_INTERVAL_MS = 5000
const RETRY_INTERVAL_MS = 500
/** Longer than any lock is held, so that a probe waiting for a lock does not count as failed. */
const WRITE_STALLED_MS = 10_000

/**
 * Returns a function that checks the database and responds within two seconds, even when the database does not. Calls share
 * one probe, so that they do not queue up behind a hung database.
 */
export function createHealthCheck({ db, log }: Pick<Deps, 'db' | 'log'>): () => Promise<DatabaseHealth> {
  let isMigrated = false
  let reported: boolean | undefined
  const reading = createProbe(async () => {
    // A current schema stays current, so it is checked only until it first succeeds.
    isMigrated ||= await db.isMigrated()
    await probeRead(db.read)
  })
  const writing = createProbe(() => probeWrite(db))

  async function check(): Promise<DatabaseHealth> {
    if (!(await settlesWithin(reading.start(0), READ_TIMEOUT_MS))) return { isUp: false, isMigrated, isWritable: false }
    if (!isMigrated) return { isUp: true, isMigrated, isWritable: false }
    await settlesWithin(writing.start(writing.hasFailed() ? RETRY_INTERVAL_MS : WRITE_INTERVAL_MS), WRITE_TIMEOUT_MS)
    return { isUp: true, isMigrated, isWritable: !writing.hasFailed() && writing.pendingMs() < WRITE_STALLED_MS }
  }

  /** Logs only changes of the state, not every probe. */
  function report(health: DatabaseHealth): void {
    const ready = isReady(health)
    if (ready === reported) return
    if (!ready) log.warn({ ...health, reason: reading.reason() ?? writing.reason() }, 'not ready')
    else if (reported === false) log.info('ready again')
    reported = ready
  }

  return async () => {
    const health = await check()
    report(health)
    return health
  }
}

interface Probe {
  /** Runs the probe unless one is running or started less than `intervalMs` ago. Resolves to whether it succeeded. */
  start: (intervalMs: number) => Promise<boolean>
  hasFailed: () => boolean
  /** How long the probe has been running, or 0. */
  pendingMs: () => number
  /** The last error's code or name. */
  reason: () => string | undefined
}

function createProbe(work: () => Promise<unknown>): Probe {
  let running: Promise<boolean> | undefined
  let startedAt = Number.NEGATIVE_INFINITY
  let failure: string | undefined
  const run = async () => {
    try {
      await work()
      failure = undefined
      return true
    } catch (error) {
      const { code, name } = error as Error & { code?: string }
      failure = code ?? name
      return false
    } finally {
      running = undefined
    }
  }
  return {
    start: async (intervalMs) => {
      if (!running && performance.now() - startedAt < intervalMs) return failure === undefined
      if (!running) startedAt = performance.now()
      running ??= run()
      return running
    },
    hasFailed: () => failure !== undefined,
    pendingMs: () => (running ? performance.now() - startedAt : 0),
    reason: () => failure,
  }
}

/** Resolves to `false` if the promise does not settle in time. */
export async function settlesWithin(pending: Promise<boolean>, ms: number): Promise<boolean> {
  const timeout = new AbortController()
  const late = sleep(ms, false, { signal: timeout.signal }).catch(() => false)
  return Promise.race([pending, late]).finally(() => timeout.abort())
}
