import { type RawBody, toBytes, toHex } from './bytes.ts'
import { importKeys, subtle } from './hmac.ts'

/**
 * The value of `X-Service-Signature` (section 6.3): 64 lowercase hex digits.
 * Rejects with a WebhookError: `secret_invalid` or `body_parsed`.
 */
export const sign = async (rawBody: RawBody, secret: string): Promise<string> => {
  const body = toBytes(rawBody)
  const [key] = await importKeys(secret)
  return toHex(await subtle.sign('HMAC', key!, body))
}
