import { refuse } from './error.ts'

type Bytes = Uint8Array<ArrayBuffer>

const parse = (parts: string[], form: RegExp, decode: (part: string) => Bytes): Bytes[] => {
  const macs = parts.filter((part) => form.test(part)).map(decode)
  return macs.length ? macs : refuse(`signature_${parts[0] ? 'malformed' : 'missing'}`, `${form}`)
}

/** The mac of an `X-Service-Signature`: no upper case, no prefix, no white space. */
export const parseHex = (signature: string): Bytes[] =>
  parse([signature], /^[0-9a-f]{64}$/, (hex) => Uint8Array.from(hex.match(/../g)!, (pair) => +`0x${pair}`))

/**
 * The macs of a `webhook-signature`, at most eight; other versions than v1 are passed over.
 * The last digit carries four bits only: with any other digit there, one mac would have four spellings.
 */
export const parseStandard = (signature: string): Bytes[] =>
  parse(signature.split(' ', 8), /^v1,[A-Za-z\d+/]{42}[AEIMQUYcgkosw048]=$/, (part) =>
    Uint8Array.from(atob(part.slice(3)), (char) => char.charCodeAt(0)),
  )
