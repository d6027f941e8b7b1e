import { yieldToEventLoop } from '../database/event-loop.ts'

/** The size of a slice. Other requests proceed between slices. */
const SLICE_LENGTH = 64 * 1024

/** Marks a point before a line that takes long to read. */
export const FLUSH = ''

/**
 * Streams text as the client reads it, in slices. If the source throws, the connection closes before the response ends,
 * so the client notices.
 *
 * @param lines each with its line break; {@link FLUSH} sends what was written so far
 */
export function toByteStream(lines: AsyncGenerator<string, void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull: async (controller) => {
      // SQLite reads without waiting, so a client that reads as fast would block the others until the end.
      await yieldToEventLoop()
      let slice = ''
      while (slice.length < SLICE_LENGTH) {
        const { value, done } = await lines.next()
        if (done || (value === FLUSH && slice !== '')) break
        slice += value
      }
      if (slice === '') controller.close()
      else controller.enqueue(encoder.encode(slice))
    },
    cancel: () => void lines.return(),
  })
}

/** Splits text into lines. `readline` would also split at U+2028 and U+2029, which JSON does not escape. */
export async function* splitLines(text: AsyncIterable<string>): AsyncGenerator<string, void> {
  let rest = ''
  for await (const chunk of text) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield withoutReturn(line)
  }
  if (rest) yield withoutReturn(rest)
}

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)

/** The object or list that a text contains as JSON; undefined for other text. */
// biome-ignore lint/suspicious/noExplicitAny: any JSON
export function parseObject(text: string): any {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
