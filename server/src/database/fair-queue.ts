/** What waits, by who waits: each in turn gives one, however many another has. */
export class FairQueue<T> {
  readonly #byName = new Map<string, T[]>()
  readonly #mostOfOne: number

  constructor(mostOfOne: number) {
    this.#mostOfOne = mostOfOne
  }

  /** Answers false, and keeps nothing, when too much of the same one waits. */
  add(name: string, item: T): boolean {
    const own = this.#byName.get(name)
    if (!own) this.#byName.set(name, [item])
    else if (own.length >= this.#mostOfOne) return false
    else own.push(item)
    return true
  }

  /** The next one, whose owner then goes to the end of the line. */
  take(): T | undefined {
    for (const [name, own] of this.#byName) {
      this.#byName.delete(name)
      const item = own.shift()
      if (own.length > 0) this.#byName.set(name, own)
      return item
    }
    return undefined
  }

  clear(): T[] {
    const all = [...this.#byName.values()].flat()
    this.#byName.clear()
    return all
  }
}
