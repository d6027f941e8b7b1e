import type { Reporter } from '../talk.ts'

const WIDTH = 30

/** How far a long work is: a bar on a terminal, now and then a line elsewhere. */
export class Progress {
  readonly #reporter: Reporter
  readonly #total: number
  #done = 0
  #shown = 0
  #note = ''
  #perMinute: number | undefined
  readonly #startedAt = Date.now()

  constructor(reporter: Reporter, total: number) {
    this.#reporter = reporter
    this.#total = total
  }

  /** One more is done. `perMinute`: how many requests the service allows in a minute, where that is known. */
  step(perMinute?: number): void {
    this.#done += 1
    this.#perMinute = perMinute
    this.#note = ''
    const now = Date.now()
    const pause = this.#reporter.isTerminal ? 100 : 5000
    const isTenth = !this.#reporter.isTerminal && this.#done % Math.max(1, Math.ceil(this.#total / 10)) === 0
    if (now - this.#shown < pause && this.#done < this.#total && !isTenth) return
    this.#shown = now
    this.#show()
  }

  /** Why it stands still. */
  wait(seconds: number): void {
    this.#note = `, waiting ${seconds} s for the next window`
    this.#show()
  }

  end(): void {
    if (this.#reporter.isTerminal && this.#done > 0) this.#reporter.write('\n')
  }

  /** How long the rest takes: at the pace so far, and no faster than the service allows. */
  #left(): string {
    const rest = this.#total - this.#done
    const soFar = (rest * (Date.now() - this.#startedAt)) / Math.max(1, this.#done) / 1000
    // A first window passes in a moment and says nothing about the next ones.
    const allowed = this.#perMinute ? Math.floor(rest / this.#perMinute) * 60 : 0
    const seconds = Math.max(soFar, allowed)
    if (seconds < 10) return ''
    return seconds < 90
      ? `, about ${Math.ceil(seconds / 10) * 10} s left`
      : `, about ${Math.ceil(seconds / 60)} min left`
  }

  #show(): void {
    const text = `${this.#done} of ${this.#total}${this.#left()}${this.#note}`
    const filled = Math.round((WIDTH * this.#done) / this.#total)
    const bar = `[${'#'.repeat(filled)}${' '.repeat(WIDTH - filled)}]`
    if (this.#reporter.isTerminal) this.#reporter.write(`\r\u001b[K${bar} ${text}`)
    else this.#reporter.info(text)
  }
}
