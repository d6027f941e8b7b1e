import { type ErrorFacts, ReferralError } from './errors.ts'

/**
 * A write was sent, and nobody knows whether it happened: the connection broke or time ran out before a usable answer.
 * `cause` is the last failure. Ask `reconcile()` before you send it again.
 */
export class UnknownOutcomeError<T = unknown> extends ReferralError {
  readonly #reconcile: (() => Promise<T>) | undefined

  constructor(message: string, facts: ErrorFacts, reconcile: (() => Promise<T>) | undefined) {
    super('UnknownOutcomeError', message, facts)
    this.#reconcile = reconcile
  }

  /** False when sending again could do it twice: look the thing up yourself. */
  get canReconcile(): boolean {
    return this.#reconcile !== undefined
  }

  /**
   * Finds the outcome out by sending the very same request with the same key: a write that happened is replayed,
   * one that did not happens now, once. Gives what the call would have given. Rejects with this error again when it
   * cannot, or with a new one while the outcome is still unknown.
   */
  reconcile(): Promise<T> {
    return this.#reconcile ? this.#reconcile() : Promise.reject(this)
  }
}
