import type { Reporter } from './reporter.ts'

const WIDTH = 30

/** Shows the progress of a long operation: a bar on a terminal, otherwise a line every few seconds. */
export class Progress {
  readonly #reporter: Reporter
  readonly #total: number
  #done = 0
  #shownAt = 0
  #note = ''
  #perMinute: number | undefined
  readonly #startedAt = Date.now()

  constructor(reporter: Reporter, total: number) {
    this.#reporter = reporter
    this.#total = total
  }

  /** Counts one more item. @param perMinute requests that the service allows per minute, when known. */
  step(perMinute?: number): void {
    this.#done += 1
    this.#perMinute = perMinute
    this.#note = ''
    const now = Date.now()
    const interval = this.#reporter.isTerminal ? 100 : 5000
    const isTenth = !this.#reporter.isTerminal && this.#done % Math.max(1, Math.ceil(this.#total / 10)) === 0
    if (now - this.#shownAt < interval && this.#done < this.#total && !isTenth) return
    this.#shownAt = now
    this.#show()
  }

  /** Shows that the operation is waiting for the rate limit. */
  wait(seconds: number): void {
    this.#note = `, waiting ${seconds} s for the next window`
    this.#show()
  }

  end(): void {
    if (this.#reporter.isTerminal && this.#done > 0) this.#reporter.write('\n')
  }

  /** Estimates the remaining time from the speed so far and the rate limit. */
  #timeLeft(): string {
    const rest = this.#total - this.#done
    const soFar = (rest * (Date.now() - this.#startedAt)) / Math.max(1, this.#done) / 1000
    // The first window is used up immediately, so the speed so far overestimates later windows.
    const allowed = this.#perMinute ? Math.floor(rest / this.#perMinute) * 60 : 0
    const seconds = Math.max(soFar, allowed)
    if (seconds < 10) return ''
    return seconds < 90
      ? `, about ${Math.ceil(seconds / 10) * 10} s left`
      : `, about ${Math.ceil(seconds / 60)} min left`
  }

  #show(): void {
    const text = `${this.#done} of ${this.#total}${this.#timeLeft()}${this.#note}`
    const filled = Math.round((WIDTH * this.#done) / this.#total)
    const bar = `[${'#'.repeat(filled)}${' '.repeat(WIDTH - filled)}]`
    if (this.#reporter.isTerminal) this.#reporter.write(`\r\u001b[K${bar} ${text}`)
    else this.#reporter.info(text)
  }
}
