/** A user's file cannot be read. The message names the file and the problem. */
export class UnreadableFileError extends Error {
  /** The remedy. */
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    super(message)
    this.name = 'UnreadableFileError'
    this.hint = hint
  }
}
