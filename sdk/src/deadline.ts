import { AbortedError, type ErrorFacts } from './errors.ts'

/** Time and the caller's patience. */
export interface Limits {
  signal: AbortSignal | undefined
  facts: ErrorFacts
  timeoutMs: number
  /** Called when the time is over. */
  onTimeout: () => Error
}

/** Runs the work until it settles, the time is over or the signal is aborted, whatever the work makes of its own signal. */
export const within = async <T>(work: (signal: AbortSignal) => Promise<T>, limits: Limits): Promise<T> => {
  const { signal, facts, timeoutMs, onTimeout } = limits
  const own = new AbortController()
  const abort = () => own.abort(new AbortedError('The call was aborted.', { ...facts, cause: signal?.reason }))
  if (signal?.aborted) abort()
  own.signal.throwIfAborted()
  signal?.addEventListener('abort', abort)
  // A longer delay than 2^31 - 1 would fire at once.
  const timer = setTimeout(() => own.abort(onTimeout()), Math.min(timeoutMs, 2 ** 31 - 1))
  try {
    return await new Promise<T>((resolve, reject) => {
      own.signal.addEventListener('abort', () => reject(own.signal.reason))
      work(own.signal).then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/** Waits. Rejects with AbortedError as soon as the signal is aborted. */
export const sleep = async (ms: number, signal: AbortSignal | undefined, facts: ErrorFacts): Promise<void> => {
  const over = new Error()
  const never = () => new Promise<never>(() => {})
  await within(never, { signal, facts, timeoutMs: ms, onTimeout: () => over }).catch((error) => {
    if (error !== over) throw error
  })
}
