/** The text without leading and trailing whitespace; null when nothing is left. */
export function textOf(value: string | null | undefined): string | null {
  return value?.trim() || null
}

/** Without what cannot be seen: zero-width characters, joiners, direction marks, variation selectors, soft hyphens. */
export function withoutInvisible(text: string): string {
  return text.replace(/\p{Default_Ignorable_Code_Point}/gu, '')
}
