/** Text that a database cannot keep as it was sent is refused rather than changed. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** A name from outside; what nothing can be named by is made to match nothing. */
export const nameable = (text: string): string => (isStorable(text) ? text : '?')
