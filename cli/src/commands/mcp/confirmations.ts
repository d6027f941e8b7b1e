import { isDeepStrictEqual } from 'node:util'
import { CliError, exitCode } from '../../errors.ts'

/** A call, and what it would have changed at the time of its preview. */
export interface Preview {
  operation: string
  input: unknown
  state: unknown
}

const LIFETIME_MS = 10 * 60_000

/**
 * Previews shown so far. A confirmation is valid once, for the same call, as long as the call would still change the
 * same things.
 */
export class Confirmations {
  readonly #now: () => number
  readonly #previews = new Map<string, Preview & { expiresAt: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  /** Returns a preview's confirmation. */
  issue(preview: Preview): string {
    for (const [token, { expiresAt }] of this.#previews) if (expiresAt <= this.#now()) this.#previews.delete(token)
    const token = crypto.randomUUID()
    this.#previews.set(token, { ...preview, expiresAt: this.#now() + LIFETIME_MS })
    return token
  }

  /**
   * Uses a confirmation up.
   *
   * @param currentState reads what the call would change now
   * @throws {CliError} when it is not this call's confirmation in this state
   */
  async redeem(token: string, call: Omit<Preview, 'state'>, currentState: () => Promise<unknown>): Promise<void> {
    const preview = this.#previews.get(token)
    this.#previews.delete(token)
    if (!preview || preview.expiresAt <= this.#now())
      throw refused('confirmation_unknown', 'The confirmation is unknown, used or expired')
    const { operation, input } = preview
    if (operation !== call.operation || !isDeepStrictEqual(input, call.input))
      throw refused('confirmation_foreign', 'The confirmation belongs to another call')
    if (!isDeepStrictEqual(comparable(preview.state), comparable(await currentState())))
      throw refused('confirmation_stale', 'The call would no longer change what was previewed')
  }
}

const refused = (code: string, reason: string) =>
  new CliError(exitCode.confirmation, `${reason}. Nothing was changed; preview the call again.`, { code })

/** Ignores times, because in a dry run they are the time it ran. */
const comparable = (state: unknown): unknown =>
  JSON.parse(JSON.stringify({ state }, (name, value) => (name.endsWith('At') ? undefined : value)))
