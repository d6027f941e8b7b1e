import { parentPort, workerData } from 'node:worker_threads'
import { openReader, type Report, type ReportRequest } from './database.ts'
import type { Bug, ReportResponse } from './report-worker.ts'
import { isStorageError } from './storage-error.ts'

// The thread of report-worker.ts: one connection, one report after the other.
interface ReportMessage {
  module: string
  name: string
  input: ReportRequest
}

const db = await openReader(workerData as string)

parentPort?.on('message', async ({ module, name, input }: ReportMessage) => {
  const answer = await runToResponse({ module, name, input })
  try {
    parentPort?.postMessage(answer)
  } catch (thrown) {
    // An answer that cannot be copied is a bug of the module.
    parentPort?.postMessage({ bug: toBug(thrown) } satisfies ReportResponse)
  }
})

async function runToResponse({ module, name, input }: ReportMessage): Promise<ReportResponse> {
  try {
    const reports: Record<string, Report<ReportRequest, unknown>> = await import(module)
    const report = reports[name]
    if (!report) throw new Error(`${module} exports no report named ${name}`)
    return { value: await report.run(db, input) }
  } catch (thrown) {
    if (isStorageError(thrown)) return { storage: { message: thrown.message, code: thrown.code } }
    return { bug: toBug(thrown) }
  }
}

/** Without what hangs on it, which may be of a kind that cannot be copied. */
function toBug(thrown: unknown): Bug {
  const { name, message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
  return { name, message, stack }
}
