import { getPriority, setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { Report, ReportRequest } from './database.ts'
import { openReader } from './open.ts'
import type { Bug, ReportResponse } from './report-worker.ts'
import { isStorageError } from './storage-error.ts'

// The thread that report-worker.ts starts: one connection, one report at a time.
const REPORT_PRIORITY = 10

interface ReportMessage {
  module: string
  name: string
  input: ReportRequest
}

/**
 * On Linux, priority is per thread, so that reports do not compete with other shops' requests for CPU time. Modules are
 * loaded before, because the first report waits for them.
 */
function lowerPriority(): void {
  if (process.platform === 'linux' && getPriority() < REPORT_PRIORITY) setPriority(REPORT_PRIORITY)
}

const { db, inSnapshot } = await openReader(workerData as string)

parentPort?.on('message', async ({ module, name, input }: ReportMessage) => {
  const response = await runToResponse({ module, name, input })
  try {
    parentPort?.postMessage(response)
  } catch (thrown) {
    // A result that cannot be copied is a bug in the report.
    parentPort?.postMessage({ bug: toBug(thrown) } satisfies ReportResponse)
  }
})

async function runToResponse({ module, name, input }: ReportMessage): Promise<ReportResponse> {
  try {
    const reports: Record<string, Report<ReportRequest, unknown>> = await import(module)
    lowerPriority()
    const report = reports[name]
    if (!report) throw new Error(`${module} exports no report named ${name}`)
    return { value: await report.run(db, input, inSnapshot) }
  } catch (thrown) {
    if (isStorageError(thrown)) return { storage: { message: thrown.message, code: thrown.code } }
    return { bug: toBug(thrown) }
  }
}

/** Drops other properties, which may not be copyable. */
function toBug(thrown: unknown): Bug {
  const { name, message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
  return { name, message, stack }
}
