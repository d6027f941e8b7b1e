/** A file of a user that cannot be read. The message names the file and what is wrong with it. */
export class UnreadableFileError extends Error {
  /** What to do about it. */
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    super(message)
    this.name = 'UnreadableFileError'
    this.hint = hint
  }
}
