/** Runs the work until it settles, `ms` are over or the caller's signal is aborted, whatever the work makes of its own signal. */
export const within = async <T>(
  work: (signal: AbortSignal) => Promise<T>,
  ms: number,
  { signal, onTimeout, onAbort }: { signal: AbortSignal | undefined; onTimeout: () => Error; onAbort: () => Error },
): Promise<T> => {
  const controller = new AbortController()
  const stop = (error: Error) => controller.abort(error)
  const abort = () => stop(onAbort())
  if (signal?.aborted) throw onAbort()
  signal?.addEventListener('abort', abort)
  // A longer delay than 2^31 - 1 would fire at once.
  const timer = setTimeout(() => stop(onTimeout()), Math.min(ms, 2 ** 31 - 1))
  try {
    return await new Promise<T>((resolve, reject) => {
      controller.signal.addEventListener('abort', () => reject(controller.signal.reason))
      work(controller.signal).then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}
