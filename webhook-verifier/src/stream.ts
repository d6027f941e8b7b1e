import { refuse, WebhookError } from './error.ts'

/** What this package needs of a Node stream. */
export interface NodeStream {
  readonly readableDidRead?: boolean
  readonly readableEnded?: boolean
  on(event: string, listener: (argument: unknown) => void): unknown
}

const concat = (chunks: Uint8Array[], size: number) => {
  const bytes = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.length
  }
  return bytes
}

/**
 * All bytes of a stream. Too long a body is read to its end but not kept: destroying the stream
 * would cut the connection the refusal goes out on.
 */
export const readStream = (stream: NodeStream, maxBytes: number): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    // Its end has come and gone: waiting for it would hang.
    if (stream.readableDidRead || stream.readableEnded)
      refuse('body_parsed', 'something read the body before: mount this ahead of it')
    const chunks: Uint8Array[] = []
    let size = 0
    stream.on('data', (chunk) => {
      if (!ArrayBuffer.isView(chunk)) return reject(new WebhookError('body_parsed', 'setEncoding() decoded the body'))
      size += chunk.byteLength
      if (size <= maxBytes) chunks.push(chunk as Uint8Array)
      else reject(new WebhookError('body_too_large', `more than ${maxBytes} bytes`))
    })
    stream.on('end', () => resolve(concat(chunks, size)))
    stream.on('error', reject)
    stream.on('close', () => reject(new Error('the connection closed before the whole body came')))
  })
