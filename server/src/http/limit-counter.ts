import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible'

/** A caller's window in the store. */
export interface Count {
  /** Requests so far, this one included. */
  used: number
  msLeft: number
}

interface Waiting {
  resolve: (count: Count) => void
  reject: (error: unknown) => void
}

/**
 * Counts one request. While the store is asked for a subject, the requests that follow for the same subject wait and are
 * counted together the next time: each gets its own number, and a burst does not queue up at one row.
 */
export function createCounter(store: RateLimiterAbstract): (subject: string) => Promise<Count> {
  const waiting = new Map<string, Waiting[]>()

  async function ask(subject: string, group: Waiting[]): Promise<void> {
    try {
      const { consumedPoints, msBeforeNext } = await store.consume(subject, group.length).catch(toAnswer)
      const before = consumedPoints - group.length
      for (const [i, one] of group.entries()) one.resolve({ used: before + i + 1, msLeft: msBeforeNext })
    } catch (error) {
      for (const one of group) one.reject(error)
    }
  }

  async function run(subject: string): Promise<void> {
    for (;;) {
      const group = waiting.get(subject) ?? []
      if (group.length === 0) break
      waiting.set(subject, [])
      await ask(subject, group)
    }
    waiting.delete(subject)
  }

  return (subject) =>
    new Promise((resolve, reject) => {
      const group = waiting.get(subject)
      if (group) return void group.push({ resolve, reject })
      waiting.set(subject, [{ resolve, reject }])
      void run(subject)
    })
}

/** The store rejects with the state itself when more was consumed than it was told to allow. */
function toAnswer(error: unknown): RateLimiterRes {
  if (error instanceof RateLimiterRes) return error
  throw error
}
