/** One queue per owner, served round-robin, so that an owner with many items does not delay the others. */
export class FairQueue<T> {
  readonly #byOwner = new Map<string, T[]>()
  readonly #maxPerOwner: number

  constructor(maxPerOwner: number) {
    this.#maxPerOwner = maxPerOwner
  }

  /** Returns false, without adding the item, when the owner's queue is full. */
  add(owner: string, item: T): boolean {
    const jobs = this.#byOwner.get(owner)
    if (!jobs) this.#byOwner.set(owner, [item])
    else if (jobs.length >= this.#maxPerOwner) return false
    else jobs.push(item)
    return true
  }

  /** Removes and returns the next item. Its owner moves to the end. */
  take(): T | undefined {
    for (const [owner, jobs] of this.#byOwner) {
      this.#byOwner.delete(owner)
      const item = jobs.shift()
      if (jobs.length > 0) this.#byOwner.set(owner, jobs)
      return item
    }
    return undefined
  }

  clear(): T[] {
    const all = [...this.#byOwner.values()].flat()
    this.#byOwner.clear()
    return all
  }
}
