import type { ApiError, ErrorCode } from '../../contract/errors.ts'

/** Remedies for the dashboard's users. The API's own remedies address API callers. */
const REMEDIES: Partial<Record<ErrorCode, string>> = {
  concurrent_change: 'Open the page again and repeat your change.',
  currency_in_use: 'Change or remove them first.',
  outcome_unknown: 'Check whether the change was made before you repeat it.',
  payout_mixed_currencies: 'Choose one under “Currency”.',
  payout_claimed_concurrently: 'Open the list of payouts before you try again.',
  payout_total_mismatch: 'Check the total and type it exactly as shown.',
  payout_nothing_to_send: 'The batch’s payments show why.',
  refund_exceeds_order: 'Enter a smaller amount.',
}

/** Shown for an error about a field that the page does not have: the user cannot correct it. */
const OUTDATED = 'This page is outdated, or its address is wrong. Open it again and repeat your change.'

/** Why a form was rejected. The field's input shows it, with the field's label. */
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

  /** The message, starting with the label of the input that showed it. */
  get text(): string {
    return this.#text
  }

  /** The message to show under an input, if the problem is about its field. */
  under(field: string, label: string): string | undefined {
    // A list has one field with one item per line: `countries[2]` is the field `countries`.
    if (this.field !== field && !this.field?.startsWith(`${field}[`)) return undefined
    if (this.#rule) this.#text = `${label} ${this.#rule}`
    return this.#text
  }
}
