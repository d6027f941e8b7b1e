import { AbortedError, type ErrorDetails } from './errors.ts'
import type { AttemptInfo, ClientOptions, Hooks } from './options.ts'

/** How long a task may take, and what ends it. */
interface DeadlineOptions {
  signal: AbortSignal | undefined
  ms: number
  /** Creates the error to throw on timeout. */
  onTimeout: () => Error
  details?: ErrorDetails
  /** The signal also aborts the body that the task leaves unread. */
  isStreamed?: boolean | undefined
}

/** Runs a task until it settles, times out or is aborted, even when the task ignores its own signal. */
export const withDeadline = async <T>(
  task: (signal: AbortSignal) => PromiseLike<T>,
  { signal, ms, onTimeout, details, isStreamed }: DeadlineOptions,
): Promise<T> => {
  const controller = new AbortController()
  const inner = controller.signal
  const abort = () =>
    controller.abort(
      new AbortedError('AbortedError', 'The call was aborted by its signal.', { ...details, cause: signal?.reason }),
    )
  if (signal?.aborted) abort()
  inner.throwIfAborted()
  signal?.addEventListener('abort', abort)
  // setTimeout fires at once for a delay above 2^31 - 1.
  const timer = setTimeout(() => controller.abort(onTimeout()), Math.min(ms, 2 ** 31 - 1))
  try {
    return await new Promise<T>((resolve, reject) => {
      inner.addEventListener('abort', () => reject(inner.reason))
      task(inner).then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    if (!isStreamed) signal?.removeEventListener('abort', abort)
  }
}

/**
 * Waits for the given milliseconds, or until the promise settles.
 *
 * @throws {AbortedError} as soon as the signal is aborted.
 */
export const sleep = async (
  ms: number,
  signal: AbortSignal | undefined,
  details: ErrorDetails,
  until: PromiseLike<unknown> = new Promise(() => {}),
): Promise<void> => {
  await withDeadline(() => until, { signal, ms, details, onTimeout: Error }).catch((error) => {
    if (error instanceof AbortedError) throw error
  })
}

/** Calls the hooks and a client's logger. Nothing they do changes a call's outcome. */
export interface Observer {
  /** Warns through the logger, without one through the console. */
  warn(message: string): void
  log(level: 'debug' | 'warn', message: string): void
  /** Calls a hook and waits for it. Never rejects. */
  notify(name: keyof Hooks, info: AttemptInfo, signal: AbortSignal | undefined): Promise<void>
}

export const createObserver = (options: ClientOptions): Observer => {
  const reported = new Set<string>()
  const report = (name: string, error: unknown) => {
    if (!reported.has(name)) console.warn(`The error of ${name} was ignored: ${error}`)
    reported.add(name)
  }
  const log: Observer['log'] = (level, message) => {
    // Async, so that both an error and a rejected promise are caught.
    const write = async () => options.logger?.[level](message)
    write().catch((error) => report('logger', error))
  }
  return {
    log,
    warn: (message) => (options.logger ? log('warn', message) : console.warn(message)),
    async notify(name, info, signal) {
      const hook = options[name] as ((info: unknown) => unknown) | undefined
      if (!hook) return
      const call = async () => hook({ ...info })
      const running = call().catch((error) => report(name, error))
      const onTimeout = () => new Error('It did not finish in time.')
      // An aborted call stops waiting for its hooks.
      await withDeadline(() => running, { signal, ms: 5_000, onTimeout }).catch((error) => {
        if (!signal?.aborted) report(name, error)
      })
    },
  }
}
