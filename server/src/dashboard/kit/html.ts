import { html as template } from 'hono/html'

export type Html = ReturnType<typeof template>

/** Control characters and bidirectional overrides. Joiners and direction marks are kept, because names need them. */
const DIRECTION_CONTROLS = /(?![\t\n\r])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/**
 * Template tag for HTML. Escapes values and removes characters that affect the direction of surrounding text. Attribute
 * values are only escaped, because forms send them back unchanged.
 */
export const html = (strings: TemplateStringsArray, ...values: unknown[]): Html =>
  template(strings, ...values.map((value, index) => (strings[index]?.endsWith('="') ? value : withoutControls(value))))

function withoutControls(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(DIRECTION_CONTROLS, '')
  return Array.isArray(value) ? value.map(withoutControls) : value
}

/** Isolates the direction of user-provided text, such as a right-to-left name next to a number. */
export const isolated = (text: string): Html => html`<bdi>${text}</bdi>`
