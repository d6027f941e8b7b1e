import { html as template } from 'hono/html'

export type Html = ReturnType<typeof template>

/** Controls, and what turns the direction of the text around it. Joiners and direction marks stay: names need them. */
const STEERS = /(?![\t\n\r])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/**
 * A piece of a page. What is filled in is escaped, and no text can steer the text around it; a value of an attribute
 * stays as it is, because forms send it back.
 */
export const html = (strings: TemplateStringsArray, ...values: unknown[]): Html =>
  template(strings, ...values.map((value, index) => (strings[index]?.endsWith('="') ? value : harmless(value))))

function harmless(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(STEERS, '')
  return Array.isArray(value) ? value.map(harmless) : value
}

/** A text that somebody outside chose, so that its direction is its own: right-to-left names beside numbers. */
export const isolated = (text: string): Html => html`<bdi>${text}</bdi>`
