import { reject } from './error.ts'

/** The raw body: bytes, or text where a runtime provides nothing else (decoding loses a BOM and invalid bytes). */
export type RawBody = string | ArrayBuffer | Uint8Array

export type Bytes = Uint8Array<ArrayBuffer>

export const encode = (text: string): Bytes => new TextEncoder().encode(text)

export const toHex = (bytes: ArrayBuffer) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Copies a body. Throws `body_parsed` for anything but text, an ArrayBuffer or a Uint8Array. */
export const toBytes = (body: unknown): Bytes => {
  if (typeof body === 'string') return encode(body)
  // By tag, because instanceof fails across realms. A copy, because a server may reuse its buffer.
  return /^\[object (ArrayBuffer|Uint8Array)]$/.test({}.toString.call(body))
    ? new Uint8Array(body as ArrayBuffer).slice()
    : reject(
        'body_parsed',
        "The body is not raw bytes. Use express.raw({ type: '*/*' }) before express.json(), Fastify parseAs: 'buffer' or Next bodyParser: false.",
      )
}
