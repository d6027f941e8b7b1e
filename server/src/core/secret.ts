import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** `rk_` is an API key (`rk_test_` of a test shop), `ro_` an owner token, `rs_` a session, `rl_` a sign-in link. A secret of one kind is never accepted as another. */
export type SecretKind = 'rk' | 'ro' | 'rs' | 'rl'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const BODY_LENGTH = 43
const CHECKSUM_LENGTH = 6
const FORMAT = /^(rk|ro|rs|rl)_(?:test_)?([0-9A-Za-z]{43,80})$/

/** A secret of 256 random bits: `<kind>_`, 43 base62 characters and a checksum of 6. */
export function createSecret(kind: SecretKind | 'rk_test', random: (bytes: number) => Uint8Array): string {
  const body = base62(BigInt(`0x${Buffer.from(random(32)).toString('hex')}`), BODY_LENGTH)
  return `${kind}_${body}${checksum(`${kind}_${body}`)}`
}

/** Whether a token is of this kind and its checksum is correct, so that a mistyped one needs no database query. */
export function isWellFormed(kind: SecretKind, token: string): boolean {
  if (FORMAT.exec(token)?.[1] !== kind) return false
  return checksum(token.slice(0, -CHECKSUM_LENGTH)) === token.slice(-CHECKSUM_LENGTH)
}

/** The SHA-256 digest as hex, stored instead of the secret. */
export const hashSecret = (secret: string): string => hash('sha256', secret, 'hex')

/** The prefix that is stored and shown to identify a secret. */
export const secretPrefix = (secret: string): string => secret.slice(0, secret.startsWith('rk_test_') ? 15 : 10)

function checksum(text: string): string {
  let digits = ''
  for (let rest = crc32(text); digits.length < CHECKSUM_LENGTH; rest = Math.floor(rest / 62))
    digits = ALPHABET[rest % 62] + digits
  return digits
}

function base62(number: bigint, length: number): string {
  let text = ''
  for (let rest = number; rest > 0n; rest /= 62n) text = ALPHABET[Number(rest % 62n)] + text
  return text.padStart(length, '0')
}
