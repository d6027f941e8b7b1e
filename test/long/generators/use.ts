/** The input of a consumer. */
export interface RunOptions {
  baseUrl: string
  apiKey: string
  /** The discount code of an approved affiliate whose program pays 16%. */
  code: string
}

/** What a consumer read from the replies, through the generated types. */
export interface Used {
  commissionCents: number
  clickId: string
  dryRunBaseCents: number
  error: string
  emails: string[]
}

/** Each consumer exports one, and calls nothing but its generated client. */
export type Use = (options: RunOptions) => Promise<Used>
