import { Worker } from 'node:worker_threads'

/** One request of a load; `{n}` in its body or headers is replaced by the number of the request. */
export interface LoadCall {
  method: string
  path: string
  headers?: Record<string, string>
  body?: string
  /** The secret that signs the body as a store does. */
  storeSecret?: string
}

/** Calls that are sent in sequence at a fixed rate, whether earlier ones have been answered or not. */
export interface LoadStream {
  perSecond: number
  calls: LoadCall[]
  /** The credentials to send them with, in turn. */
  tokens: string[]
}

export interface SteadyLoad {
  /** Sends no more, waits for open requests, and returns how often each status was returned. */
  stop: () => Promise<Record<string, number>>
}

/**
 * Sends requests from its own thread. They are prepared and signed before the first one is sent, so that only copying
 * them to the socket remains during a measurement.
 */
export async function startSteadyLoad(url: string, streams: LoadStream[], seconds: number): Promise<SteadyLoad> {
  const worker = new Worker(new URL('./steady-load-worker.ts', import.meta.url), {
    workerData: { url, streams, seconds },
  })
  const message = <T>() =>
    new Promise<T>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
  await message()
  const statuses = message<Record<string, number>>()
  statuses.catch(() => {})
  let isStopped = false
  return {
    stop: async () => {
      if (!isStopped) worker.postMessage('stop')
      isStopped = true
      try {
        return await statuses
      } finally {
        await worker.terminate()
      }
    },
  }
}
