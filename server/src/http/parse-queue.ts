import { Turns } from '../database/fair-queue.ts'

/**
 * Reads large bodies one at a time, of each shop in turn. A body lets other requests run after each slice; many bodies
 * read side by side would all run their slices first.
 */
export class ReadingLine {
  // What waits is bounded by the memory that bodies may take.
  readonly #waiting = new Turns<() => Promise<void>>(Number.POSITIVE_INFINITY)
  #isReading = false

  read<T>(shopId: string, work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add(shopId, () => work().then(resolve, reject))
      if (!this.#isReading) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isReading = true
    for (let next = this.#waiting.take(); next; next = this.#waiting.take()) await next()
    this.#isReading = false
  }
}
