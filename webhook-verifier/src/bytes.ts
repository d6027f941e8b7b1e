import { refuse } from './error.ts'

/** The body as it came: bytes, or text where a runtime gives nothing else (decoding loses a BOM and broken bytes). */
export type RawBody = string | ArrayBuffer | Uint8Array

type Bytes = Uint8Array<ArrayBuffer>

export const encode = (text: string): Bytes => new TextEncoder().encode(text)

export const toHex = (bytes: ArrayBuffer) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')

// By tag, because `instanceof` fails across realms; a copy, because a server may reuse its buffer while we wait.
export const toBytes = (body: unknown): Bytes => {
  if (typeof body === 'string') return encode(body)
  return /^\[object (ArrayBuffer|Uint8Array)]$/.test({}.toString.call(body))
    ? new Uint8Array(body as ArrayBuffer).slice()
    : refuse(
        'body_parsed',
        "raw bytes needed: express.raw({ type: '*/*' }) before express.json(), Fastify parseAs: 'buffer', Next bodyParser: false",
      )
}
