import type { Logger } from 'pino'

/** Runs what may fail without anyone being worse off; a failure is logged under a fixed code and goes no further. */
export async function bestEffort(log: Logger, code: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    log.warn({ code, reason: error instanceof Error ? error.name : 'unknown' }, 'best effort failed')
  }
}
