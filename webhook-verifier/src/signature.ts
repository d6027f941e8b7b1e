import { type Bytes, encode, type RawBody, toBytes, toHex } from './bytes.ts'
import { reject } from './error.ts'

/** The secret of a subscription, or several during a rotation. The HMAC key is the UTF-8 encoding of the secret. */
export type Secrets = string | readonly string[]

/** Details of a valid signature. */
export interface Verification {
  /** The index of the secret that matched. When the old secret no longer matches, remove it. */
  secretIndex: number
  /** The SHA-256 of the body in hex: the same for every delivery of one event, whatever its headers. */
  dedupeKey: string
}

/**
 * Returns the value of `X-Service-Signature`: the HMAC-SHA256 of the body as 64 lowercase hex digits.
 *
 * @throws {WebhookError} `secret_invalid` or `body_parsed`.
 *
 * @example
 * const signature = await sign(rawBody, process.env.WEBHOOK_SECRET)
 */
export const sign = async (rawBody: RawBody, secret: string): Promise<string> => {
  const body = toBytes(rawBody)
  const [key] = await importKeys(secret)
  return toHex(await subtle.sign('HMAC', key!, body))
}

/**
 * Verifies `X-Service-Signature` over the raw body. Checks neither the timestamp nor the payload; see `unwrap`.
 *
 * @throws {WebhookError} `secret_invalid`, `body_parsed`, `signature_missing`, `signature_malformed` or
 *   `signature_mismatch`.
 *
 * @example
 * const { secretIndex } = await verify(rawBody, request.headers.get('X-Service-Signature'), [newSecret, oldSecret])
 */
export const verify = async (
  rawBody: RawBody,
  signature: string | null | undefined,
  secrets: Secrets,
): Promise<Verification> => {
  const body = toBytes(rawBody)
  return verifySignature(parseHexSignature(`${signature ?? ''}`), body, body, secrets)
}

const { subtle } = crypto

/** Verifies that one of the signatures was made with one of the secrets. `subtle.verify` compares in constant time. */
export const verifySignature = async (
  signatures: Bytes[],
  message: BufferSource,
  body: Bytes,
  secrets: Secrets,
): Promise<Verification> => {
  for (const [secretIndex, key] of (await importKeys(secrets)).entries())
    for (const signature of signatures)
      if (await subtle.verify('HMAC', key, signature, message))
        return { secretIndex, dedupeKey: toHex(await subtle.digest('SHA-256', body)) }
  return reject('signature_mismatch', 'Check the secret, and that the body was not re-serialized.')
}

const parseSignatures = (
  header: string,
  parts: string[],
  pattern: RegExp,
  decode: (part: string) => Bytes,
): Bytes[] => {
  const signatures = parts.filter((part) => pattern.test(part)).map(decode)
  if (signatures.length) return signatures
  return parts[0]
    ? reject('signature_malformed', `${header} must match ${pattern}.`)
    : reject('signature_missing', `The header ${header} is missing.`)
}

/** Parses an `X-Service-Signature`. Rejects uppercase, prefixes and whitespace. */
export const parseHexSignature = (signature: string): Bytes[] =>
  parseSignatures('X-Service-Signature', [signature], /^[0-9a-f]{64}$/, (hex) =>
    Uint8Array.from(hex.match(/../g)!, (pair) => +`0x${pair}`),
  )

/**
 * Parses the signatures of a `webhook-signature`, at most eight. Versions other than v1 are ignored. The last base64
 * digit carries four bits only: accepting any digit there would give one signature four spellings.
 */
export const parseStandardSignature = (signature: string): Bytes[] =>
  parseSignatures(
    'webhook-signature, which also signs the time,',
    signature.split(' ', 8),
    /^v1,[A-Za-z\d+/]{42}[AEIMQUYcgkosw048]=$/,
    (part) => Uint8Array.from(atob(part.slice(3)), (char) => char.charCodeAt(0)),
  )

/** @throws {WebhookError} `secret_invalid` when a secret is missing or empty. */
export const listSecrets = (secrets: Secrets): string[] => {
  const list = [secrets].flat()
  return list[0] && list.every((secret) => typeof secret === 'string' && secret)
    ? list
    : reject('secret_invalid', 'The secret is missing or empty.')
}

/** The HMAC keys of the secrets, in order. */
export const importKeys = (secrets: Secrets): Promise<CryptoKey[]> =>
  Promise.all(
    listSecrets(secrets).map((secret) =>
      subtle.importKey('raw', encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']),
    ),
  )
