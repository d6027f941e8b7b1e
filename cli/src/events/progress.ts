import type { Talk } from '../talk.ts'

const WIDTH = 30

/** How far a long work is: a bar on a terminal, now and then a line elsewhere. */
export class Progress {
  readonly #talk: Talk
  readonly #total: number
  #done = 0
  #shown = 0
  #note = ''

  constructor(talk: Talk, total: number) {
    this.#talk = talk
    this.#total = total
  }

  step(): void {
    this.#done += 1
    this.#note = ''
    const now = Date.now()
    const pause = this.#talk.isTerminal ? 100 : 5000
    const isTenth = !this.#talk.isTerminal && this.#done % Math.max(1, Math.ceil(this.#total / 10)) === 0
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
    if (this.#talk.isTerminal && this.#done > 0) this.#talk.show('\n')
  }

  #show(): void {
    const text = `${this.#done} of ${this.#total}${this.#note}`
    const filled = Math.round((WIDTH * this.#done) / this.#total)
    const bar = `[${'#'.repeat(filled)}${' '.repeat(WIDTH - filled)}]`
    if (this.#talk.isTerminal) this.#talk.show(`\r\u001b[K${bar} ${text}`)
    else this.#talk.note(text)
  }
}
