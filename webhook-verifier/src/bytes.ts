import { WebhookError } from './error.ts'

/** The body as it came: bytes, or the text they were decoded to (a BOM or a broken byte is then lost already). */
export type RawBody = string | ArrayBuffer | ArrayBufferView

const encoder = new TextEncoder()

export const encode = (text: string) => encoder.encode(text)

export const toHex = (bytes: ArrayBuffer) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** A copy, so that a reused buffer cannot change between the check and the parsing. */
export const toBytes = (body: unknown): Uint8Array<ArrayBuffer> => {
  if (typeof body === 'string') return encode(body)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()
  // Not `instanceof`: the buffer may come from another realm.
  if (Object.prototype.toString.call(body) === '[object ArrayBuffer]')
    return new Uint8Array(body as ArrayBuffer).slice()
  throw new WebhookError(
    'body_parsed',
    "The raw bytes of the body are needed, but it was parsed or read before. Express: express.raw({ type: '*/*' }) on this route, before express.json(). Fastify: addContentTypeParser with parseAs 'buffer'. Next.js pages: bodyParser: false. Elsewhere: request.arrayBuffer().",
  )
}
