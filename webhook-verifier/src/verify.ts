import { type RawBody, toBytes, toHex } from './bytes.ts'
import { WebhookError } from './error.ts'
import { importKeys, type Secrets } from './key.ts'

/** What a right signature tells. */
export interface SignatureFacts {
  /** Which of the secrets matched, counted from 0: when an old one stops matching, drop it. */
  secretIndex: number
  /** SHA-256 of the body, hex: the same for every delivery of one event, whatever its headers. */
  dedupeKey: string
}

/** One signature a sender may have meant, and the bytes it covers. */
interface Candidate {
  mac: Uint8Array<ArrayBuffer>
  message: Uint8Array<ArrayBuffer>
}

const hint = (secrets: readonly string[], body: unknown) => {
  if (secrets.some((secret) => secret !== secret.trim())) return 'The secret begins or ends with white space.'
  if (secrets.some((secret) => secret.startsWith('whsec_')))
    return 'Give the secret itself, without whsec_ and not in base64.'
  if (typeof body === 'string') return 'The body was decoded to text before: give its bytes.'
  return 'Is it the secret of this subscription, and are these the bytes as they came, not re-serialised?'
}

/** The index of the first secret that made one of the candidates. `subtle.verify` compares in constant time. */
export const matchSecret = async (
  candidates: readonly Candidate[],
  secrets: Secrets,
  body: unknown,
): Promise<number> => {
  const keys = await importKeys(secrets)
  for (const [index, key] of keys.entries())
    for (const { mac, message } of candidates) if (await crypto.subtle.verify('HMAC', key, mac, message)) return index
  throw new WebhookError('signature_mismatch', `No secret gives this signature. ${hint([secrets].flat(), body)}`)
}

/** 32 bytes from `X-Service-Signature`, strictly: no upper case, no prefix, no white space. */
export const fromHex = (signature: unknown): Uint8Array<ArrayBuffer> => {
  if (signature == null || signature === '')
    throw new WebhookError(
      'signature_missing',
      'There is no signature: the header was lost, or the subscription has no secret.',
    )
  if (typeof signature !== 'string' || !/^[0-9a-f]{64}$/.test(signature))
    throw new WebhookError('signature_malformed', 'The signature is not 64 lowercase hex digits.')
  return Uint8Array.from(signature.match(/../g)!, (pair) => Number.parseInt(pair, 16))
}

export const fingerprint = async (bytes: Uint8Array<ArrayBuffer>) => toHex(await crypto.subtle.digest('SHA-256', bytes))

/**
 * Checks `X-Service-Signature` (section 6.3) over the raw bytes of the body, and nothing else.
 * Rejects with a {@link WebhookError}: `secret_invalid`, `body_parsed`, `signature_missing`,
 * `signature_malformed` or `signature_mismatch`.
 */
export const verify = async (
  rawBody: RawBody,
  signature: string | null | undefined,
  secrets: Secrets,
): Promise<SignatureFacts> => {
  const message = toBytes(rawBody)
  const secretIndex = await matchSecret([{ mac: fromHex(signature), message }], secrets, rawBody)
  return { secretIndex, dedupeKey: await fingerprint(message) }
}
