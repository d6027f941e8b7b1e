import { encode, toHex } from './bytes.ts'
import { refuse } from './error.ts'

/** The secret of a subscription, or several while it is replaced. The key is the UTF-8 bytes of the secret. */
export type Secrets = string | readonly string[]

/** What a right signature tells. */
export interface SignatureFacts {
  /** Which of the secrets matched, counted from 0. When the old one no longer matches, drop it. */
  secretIndex: number
  /** SHA-256 of the body in hex: the same for every delivery of one event, whatever its headers. */
  dedupeKey: string
}

export const { subtle } = crypto

export const listSecrets = (secrets: Secrets): string[] => {
  const list = [secrets].flat()
  return list[0] && list.every((secret) => typeof secret === 'string' && secret)
    ? list
    : refuse('secret_invalid', 'empty or not a string')
}

export const importKeys = (secrets: Secrets): Promise<CryptoKey[]> =>
  Promise.all(
    listSecrets(secrets).map((secret) =>
      subtle.importKey('raw', encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']),
    ),
  )

/** One of the macs must be one of the secrets' over the message. `subtle.verify` compares in constant time. */
export const prove = async (
  macs: Uint8Array<ArrayBuffer>[],
  message: BufferSource,
  body: Uint8Array<ArrayBuffer>,
  secrets: Secrets,
): Promise<SignatureFacts> => {
  for (const [secretIndex, key] of (await importKeys(secrets)).entries())
    for (const mac of macs)
      if (await subtle.verify('HMAC', key, mac, message))
        return { secretIndex, dedupeKey: toHex(await subtle.digest('SHA-256', body)) }
  return refuse('signature_mismatch', 'another secret, white space around it, or a body decoded or re-serialised')
}
