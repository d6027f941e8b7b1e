import { parentPort, workerData } from 'node:worker_threads'
import { openReader } from './reader.ts'
import type { Bug, Report, ReportRequest, ReportResponse } from './report-worker.ts'
import { isStorageError } from './storage-error.ts'

// The thread of report-worker.ts: one connection, one report after the other.
interface Asked {
  module: string
  name: string
  input: ReportRequest
}

const db = await openReader(workerData as string)

parentPort?.on('message', async ({ module, name, input }: Asked) => {
  const answer = await answerOf({ module, name, input })
  try {
    parentPort?.postMessage(answer)
  } catch (thrown) {
    // An answer that cannot be copied is a bug of the module.
    parentPort?.postMessage({ bug: bugOf(thrown) } satisfies ReportResponse)
  }
})

async function answerOf({ module, name, input }: Asked): Promise<ReportResponse> {
  try {
    const reports: Record<string, Report<ReportRequest, unknown>> = await import(module)
    const report = reports[name]
    if (!report) throw new Error(`${module} exports no report named ${name}`)
    return { value: await report.run(db, input) }
  } catch (thrown) {
    if (isStorageError(thrown)) return { storage: { message: thrown.message, code: thrown.code } }
    return { bug: bugOf(thrown) }
  }
}

/** Without what hangs on it, which may be of a kind that cannot be copied. */
function bugOf(thrown: unknown): Bug {
  const { name, message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
  return { name, message, stack }
}
