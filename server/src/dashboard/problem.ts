import type { ApiError, ErrorCode } from '../contract/errors.ts'

/** Remedies for page users, where the API's remedy addresses API callers. */
const REMEDIES: Partial<Record<ErrorCode, string>> = {
  concurrent_change: 'Open the page again and repeat your change.',
  currency_in_use: 'Change or remove them first.',
  outcome_unknown: 'Check whether it was made before you repeat it.',
  payout_mixed_currencies: 'Choose one in the field “Currency”.',
  payout_claimed_concurrently: 'Open the list of payouts before you try again.',
  payout_total_mismatch: 'Check the total, and type it as it is shown now.',
  payout_nothing_to_send: 'The payments of the batch show why.',
  refund_exceeds_order: 'Enter a smaller amount.',
}

/** Of an error about a field that the page does not have, so that its user cannot change it. */
const OUTDATED = 'This page is outdated, or its address is wrong. Open it again and repeat your change.'

/** Why what was sent was rejected. The input of its field shows it, with the field's label. */
export class Problem {
  readonly field: string | undefined
  readonly #rule: string | undefined
  #text: string

  constructor({ code, message, problem, field, rule }: ApiError) {
    this.field = field
    this.#rule = rule
    const remedy = REMEDIES[code]
    this.#text = rule ? OUTDATED : problem !== undefined && remedy ? `${problem} ${remedy}` : message
  }

  /** With the label of the input that has shown it. */
  get text(): string {
    return this.#text
  }

  /** The text under an input, if the problem is about its field. */
  under(field: string, label: string): string | undefined {
    // An item of a list is a line of its field: `countries[2]`.
    if (this.field !== field && !this.field?.startsWith(`${field}[`)) return undefined
    if (this.#rule) this.#text = `${label} ${this.#rule}`
    return this.#text
  }
}
