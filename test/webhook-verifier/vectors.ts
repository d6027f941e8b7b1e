import { readFileSync } from 'node:fs'

interface Signed {
  name: string
  /** In hex. */
  body: string
  secret: string
  signature: string
}

interface Vectors {
  accept: (Signed & { id: string; timestamp: number; standardSignature: string })[]
  reject: Signed[]
}

export const vectors: Vectors = JSON.parse(
  readFileSync(new URL('../../webhook-verifier/vectors.json', import.meta.url), 'utf8'),
)

export const fromHex = (hex: string) => new Uint8Array(Buffer.from(hex, 'hex'))
