import { vi } from 'vitest'

/** Advances the fake clock until the call settles. Returns the milliseconds it took. */
export const advanceUntilSettled = async (call: PromiseLike<unknown>): Promise<number> => {
  const started = Date.now()
  let settled = false
  const end = () => {
    settled = true
  }
  call.then(end, end)
  await vi.advanceTimersByTimeAsync(0)
  while (!settled) await vi.advanceTimersToNextTimerAsync()
  return Date.now() - started
}
