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

/** Calls that are sent one after the other, so many each second, whether earlier ones have been answered or not. */
export interface LoadStream {
  perSecond: number
  calls: LoadCall[]
  /** The credentials to send them with, in turn. */
  tokens: string[]
}

export interface SteadyLoad {
  /** Sends no more, waits for what is open, and returns how often each status came. */
  stop: () => Promise<Record<string, number>>
}

/** Sends requests from a thread of its own, so that preparing them delays nobody who measures in this one. */
export function startSteadyLoad(url: string, streams: LoadStream[]): SteadyLoad {
  const worker = new Worker(new URL('./steady-load-worker.ts', import.meta.url), { workerData: { url, streams } })
  const statuses = new Promise<Record<string, number>>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
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
