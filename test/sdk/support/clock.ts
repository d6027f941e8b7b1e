import { vi } from 'vitest'

/** Moves the fake clock until the call settles; gives the milliseconds it took. */
export const settleAfter = async (call: PromiseLike<unknown>): Promise<number> => {
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
