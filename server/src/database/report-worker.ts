import { parentPort, workerData } from 'node:worker_threads'
import { openReader } from './reader.ts'
import type { Answer, Bug, RunAside } from './report-thread.ts'
import { isStorageError } from './storage-error.ts'

// The thread of aside.ts: one connection, one job after the other.
const db = await openReader(workerData as string)

parentPort?.on('message', async ({ module, input }: { module: string; input: unknown }) => {
  const answer = await answerOf(module, input)
  try {
    parentPort?.postMessage(answer)
  } catch (thrown) {
    // An answer that cannot be copied is a bug of the module.
    parentPort?.postMessage({ bug: bugOf(thrown) } satisfies Answer)
  }
})

async function answerOf(module: string, input: unknown): Promise<Answer> {
  try {
    const { runAside }: { runAside: RunAside<unknown, unknown> } = await import(module)
    return { value: await runAside(db, input) }
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
