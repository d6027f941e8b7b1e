export interface Bounds {
  /** Of all shops together. */
  max: number
  perShop: number
  /** How many of them only shops without any may take. */
  reserved: number
}

/** A bound that no shop can use up: each has its own, and the last places go to shops that have none. */
export class FairLimit {
  readonly #bounds: Bounds
  readonly #byShop = new Map<string, number>()
  #count = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  get count(): number {
    return this.#count
  }

  /** Whether a shop may have one more. */
  hasRoom(shopId: string): boolean {
    const { max, perShop, reserved } = this.#bounds
    const own = this.#byShop.get(shopId) ?? 0
    return own === 0 ? this.#count < max : own < perShop && this.#count < max - reserved
  }

  /** Counts so many more of a shop, or fewer when negative; whether there is room is for the caller to look. */
  add(shopId: string, count: number): void {
    const own = (this.#byShop.get(shopId) ?? 0) + count
    if (own === 0) this.#byShop.delete(shopId)
    else this.#byShop.set(shopId, own)
    this.#count += count
  }
}
