/** What the process ends with. Scripts branch on these; they never change their meaning. */
export const exitCode = {
  done: 0,
  unexpected: 1,
  usage: 2,
  notFound: 3,
  auth: 4,
  conflict: 5,
  rateLimited: 6,
  unavailable: 7,
  partial: 8,
  confirmation: 9,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** The table of the reference. */
export const exitCodeMeanings: Record<ExitCode, string> = {
  0: 'done, or it was done before',
  1: 'unexpected',
  2: 'wrong usage, or the API refused what was sent as invalid',
  3: 'not found, or nothing to do',
  4: 'no credential, or one that may not do this',
  5: 'conflict: taken, changed meanwhile, or in a state that does not allow it',
  6: 'rate limited',
  7: 'the service is unavailable',
  8: 'partly failed; the report is on standard output',
  9: 'confirmation is needed, or was declined',
  130: 'interrupted',
}

/** What is known of a failure beside its sentence. */
export interface ErrorDetails {
  /** The HTTP status, when the API answered. */
  status?: number | null
  /** One word for machines: the API's `X-Error-Code`, or one of the CLI's own. */
  code?: string
  /** What to do about it. */
  hint?: string | undefined
  requestId?: string | null
}

/** A failure that is told in one sentence and ends the process with its code. */
export class CliError extends Error {
  readonly exitCode: ExitCode
  readonly details: ErrorDetails

  constructor(code: ExitCode, message: string, facts: ErrorDetails = {}) {
    super(message)
    this.name = 'CliError'
    this.exitCode = code
    this.details = facts
  }
}

export const usageError = (message: string, hint?: string) =>
  new CliError(exitCode.usage, message, { code: 'usage', hint })
export const notFoundError = (message: string, hint?: string) =>
  new CliError(exitCode.notFound, message, { code: 'not_found', hint })
