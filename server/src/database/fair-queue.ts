/** A queue per owner, taken from round-robin, so that an owner with many items does not delay the others. */
export class FairQueue<T> {
  readonly #byOwner = new Map<string, T[]>()
  readonly #maxPerOwner: number

  constructor(maxPerOwner: number) {
    this.#maxPerOwner = maxPerOwner
  }

  /** Returns false, without adding the item, when the owner's queue is full. */
  add(owner: string, item: T): boolean {
    const own = this.#byOwner.get(owner)
    if (!own) this.#byOwner.set(owner, [item])
    else if (own.length >= this.#maxPerOwner) return false
    else own.push(item)
    return true
  }

  /** Removes and returns the next item; its owner moves to the end. */
  take(): T | undefined {
    for (const [owner, own] of this.#byOwner) {
      this.#byOwner.delete(owner)
      const item = own.shift()
      if (own.length > 0) this.#byOwner.set(owner, own)
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
