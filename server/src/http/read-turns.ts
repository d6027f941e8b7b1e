/**
 * How many reads of one shop run at a time. PostgreSQL reads on eight connections, which all shops share; without this limit,
 * the lists of one shop occupy them all, and the orders of the others wait.
 */
const MAX_TURNS = 3
/** How many equal reads share a turn. */
const MAX_SHARED = 32

interface Waiting {
  url: string
  start: (turn: Turn) => void
}

/** Reads that run at the same time and count as one. */
interface Turn {
  shopId: string
  running: number
}

/**
 * Limits the concurrent reads of each shop. Further ones wait in the order in which they arrived. Waiting reads of one URL
 * start together: they ask for the same statements, which the database layer merges, so they need no more connections than one.
 */
export class ReadTurns {
  readonly #turns = new Map<string, number>()
  readonly #waiting = new Map<string, Waiting[]>()

  /**
   * @param url equal for requests that ask for the same statements
   * @param check called at the same time as `work` when it had to wait; its failure takes precedence
   */
  async run<T>(
    { shopId, url }: { shopId: string; url: string },
    work: () => Promise<T>,
    check: () => Promise<void>,
  ): Promise<T> {
    const turns = this.#turns.get(shopId) ?? 0
    const mustWait = turns >= MAX_TURNS
    if (!mustWait) this.#turns.set(shopId, turns + 1)
    const turn = mustWait ? await this.#wait(shopId, url) : { shopId, running: 1 }
    try {
      if (!mustWait) return await work()
      const [checked, result] = await Promise.allSettled([check(), work()])
      if (checked.status === 'rejected') throw checked.reason
      if (result.status === 'rejected') throw result.reason
      return result.value
    } finally {
      if (--turn.running === 0) this.#finish(turn)
    }
  }

  #wait(shopId: string, url: string): Promise<Turn> {
    return new Promise((start) => {
      const waiting = this.#waiting.get(shopId)
      if (waiting) waiting.push({ url, start })
      else this.#waiting.set(shopId, [{ url, start }])
    })
  }

  /** Hands the turn to the next read of the shop, and to the ones that equal it. */
  #finish(turn: Turn): void {
    const { shopId } = turn
    const waiting = this.#waiting.get(shopId)
    const first = waiting?.[0]
    if (waiting && first) {
      const rest: Waiting[] = []
      for (const one of waiting) {
        if (one.url !== first.url || turn.running === MAX_SHARED) rest.push(one)
        else {
          turn.running++
          one.start(turn)
        }
      }
      if (rest.length > 0) this.#waiting.set(shopId, rest)
      else this.#waiting.delete(shopId)
      return
    }
    const turns = (this.#turns.get(shopId) ?? 1) - 1
    if (turns === 0) this.#turns.delete(shopId)
    else this.#turns.set(shopId, turns)
  }
}
