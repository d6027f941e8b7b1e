/** How large a JSON text is but for its length: what its reader would have to build. */
export interface JsonShape {
  depth: number
  /** Lists, objects and what they hold. */
  values: number
  /** Of the object that has most. */
  properties: number
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPENING_LIST = 0x5b
const CLOSING_LIST = 0x5d
const OPENING_OBJECT = 0x7b
const CLOSING_OBJECT = 0x7d

/**
 * Looks through the bytes of a JSON text once, before anything is built of them; it stops where the bounds are passed.
 * Of what is no JSON it tells something, and the reader refuses it then.
 */
export function shapeOf(bytes: Uint8Array, bounds: JsonShape): JsonShape {
  let depth = 0
  let deepest = 0
  let values = 1
  let properties = 0
  // Of each object that is open; a list has none.
  const open: number[] = []
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfText(bytes, at)
    else if (byte === COMMA) {
      values++
      const here = ++open[depth]!
      if (here > properties) properties = here
    } else if (byte === OPENING_LIST || byte === OPENING_OBJECT) {
      values++
      depth++
      if (depth > deepest) deepest = depth
      if (deepest > bounds.depth) break
      open[depth] = byte === OPENING_OBJECT ? 1 : Number.NEGATIVE_INFINITY
    } else if (byte === CLOSING_LIST || byte === CLOSING_OBJECT) depth--
    if (values > bounds.values || properties > bounds.properties) break
  }
  return { depth: deepest, values, properties }
}

/** Where the text ends that begins here. */
function endOfText(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at++
  }
  return bytes.length
}
