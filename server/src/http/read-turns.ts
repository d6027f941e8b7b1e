/**
 * How many of a shop's reads run at a time. All shops share PostgreSQL's eight read connections. Without this limit,
 * one shop's lists could occupy them all, and other shops' orders would wait.
 */
const MAX_TURNS = 6

/** Limits each shop's concurrent reads. Others wait in order of arrival. */
export class ReadTurns {
  readonly #running = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()

  /** @param check called at the same time as `work` if it had to wait; its failure takes precedence */
  async run<T>(shopId: string, work: () => Promise<T>, check: () => Promise<void>): Promise<T> {
    const running = this.#running.get(shopId) ?? 0
    const mustWait = running >= MAX_TURNS
    if (mustWait) await this.#wait(shopId)
    else this.#running.set(shopId, running + 1)
    try {
      if (!mustWait) return await work()
      const [checked, result] = await Promise.allSettled([check(), work()])
      if (checked.status === 'rejected') throw checked.reason
      if (result.status === 'rejected') throw result.reason
      return result.value
    } finally {
      this.#finish(shopId)
    }
  }

  #wait(shopId: string): Promise<void> {
    return new Promise((start) => this.#waiting.set(shopId, [...(this.#waiting.get(shopId) ?? []), start]))
  }

  /** Passes the turn to the shop's next read. */
  #finish(shopId: string): void {
    const next = this.#waiting.get(shopId)?.shift()
    if (next) return void next()
    this.#waiting.delete(shopId)
    const running = (this.#running.get(shopId) ?? 1) - 1
    if (running === 0) this.#running.delete(shopId)
    else this.#running.set(shopId, running)
  }
}
