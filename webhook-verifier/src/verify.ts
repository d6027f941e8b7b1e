import { type RawBody, toBytes } from './bytes.ts'
import { prove, type Secrets, type SignatureFacts } from './hmac.ts'
import { parseHex } from './macs.ts'

/**
 * Checks `X-Service-Signature` (section 6.3) over the raw bytes of the body, and nothing else.
 * Rejects with a WebhookError: `secret_invalid`, `body_parsed`, `signature_missing`,
 * `signature_malformed` or `signature_mismatch`.
 */
export const verify = async (
  rawBody: RawBody,
  signature: string | null | undefined,
  secrets: Secrets,
): Promise<SignatureFacts> => {
  const body = toBytes(rawBody)
  return prove(parseHex(`${signature ?? ''}`), body, body, secrets)
}
