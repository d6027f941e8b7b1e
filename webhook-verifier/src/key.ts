import { encode } from './bytes.ts'
import { WebhookError } from './error.ts'

/** One secret, or several while it is rotated. The key is the UTF-8 bytes of the secret. */
export type Secrets = string | readonly string[]

const algorithm = { name: 'HMAC', hash: 'SHA-256' }

export const importKeys = (secrets: Secrets): Promise<CryptoKey[]> => {
  const list: readonly unknown[] = Array.isArray(secrets) ? secrets : [secrets]
  if (!list.length || list.some((secret) => !secret || typeof secret !== 'string'))
    throw new WebhookError(
      'secret_invalid',
      'Every secret must be a string that is not empty. Is its environment variable set?',
    )
  return Promise.all(
    list.map((secret) =>
      crypto.subtle.importKey('raw', encode(secret as string), algorithm, false, ['sign', 'verify']),
    ),
  )
}
