/**
 * How many reads of one shop run at a time. PostgreSQL reads on eight connections, which all shops share; without this limit,
 * the lists of one shop occupy them all, and the orders of the others wait.
 */
const MAX_READS = 3

/** Limits the concurrent reads of each shop. Further ones wait in the order in which they arrived. */
export class ReadTurns {
  readonly #running = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()

  /** @param onWaited Called before `work` when it had to wait. */
  async run<T>(shopId: string, work: () => Promise<T>, onWaited: () => Promise<void>): Promise<T> {
    const running = this.#running.get(shopId) ?? 0
    const mustWait = running >= MAX_READS
    if (mustWait) await this.#wait(shopId)
    else this.#running.set(shopId, running + 1)
    try {
      if (mustWait) await onWaited()
      return await work()
    } finally {
      this.#finish(shopId)
    }
  }

  #wait(shopId: string): Promise<void> {
    return new Promise((next) => {
      const waiting = this.#waiting.get(shopId)
      if (waiting) waiting.push(next)
      else this.#waiting.set(shopId, [next])
    })
  }

  /** Hands the turn to the next read of the shop. */
  #finish(shopId: string): void {
    const waiting = this.#waiting.get(shopId) ?? []
    const next = waiting.shift()
    if (waiting.length === 0) this.#waiting.delete(shopId)
    if (next) return void next()
    const running = (this.#running.get(shopId) ?? 1) - 1
    if (running === 0) this.#running.delete(shopId)
    else this.#running.set(shopId, running)
  }
}
