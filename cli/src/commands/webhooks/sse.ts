/** A server-sent event. */
export interface SseMessage {
  event: string
  id: string | undefined
  data: string
}

/** Parses a stream of server-sent events, split at any byte. Calls `onBytes` for every chunk, including keep-alive comments. */
export async function* readSseMessages(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<SseMessage> {
  const decoder = new TextDecoder()
  let rest = ''
  let lines: string[] = []
  for await (const chunk of body) {
    onBytes()
    const parts = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/)
    rest = parts.pop() ?? ''
    for (const line of parts) {
      if (line !== '') lines.push(line)
      else {
        const message = toMessage(lines)
        lines = []
        if (message) yield message
      }
    }
  }
}

function toMessage(lines: readonly string[]): SseMessage | undefined {
  const data: string[] = []
  let event = 'message'
  let id: string | undefined
  for (const line of lines) {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (name === 'data') data.push(value)
    else if (name === 'event') event = value
    else if (name === 'id') id = value
  }
  return data.length ? { event, id, data: data.join('\n') } : undefined
}
