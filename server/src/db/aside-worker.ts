import { parentPort, workerData } from 'node:worker_threads'
import type { Answer, RunAside } from './aside.ts'
import { openReader } from './reader.ts'
import { isStorageError } from './storage-error.ts'

// The thread of aside.ts: one connection, one job after the other.
const db = await openReader(workerData as string)

parentPort?.on('message', async ({ module, input }: { module: string; input: unknown }) => {
  parentPort?.postMessage(await answerOf(module, input))
})

async function answerOf(module: string, input: unknown): Promise<Answer> {
  try {
    const { runAside }: { runAside: RunAside<unknown, unknown> } = await import(module)
    return { value: await runAside(db, input) }
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    return isStorageError(error) ? { storage: { message: error.message, code: error.code } } : { bug: error }
  }
}
