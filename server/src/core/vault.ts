import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

/** Encryption and keyed hashes with the installation's encryption key. */
export interface Vault {
  /** AES-256-GCM under the newest key. `bound` is authenticated too, so the result cannot be moved to another row. */
  seal: (text: string, bound: string) => string
  /** Decrypts a sealed text; null when no key does. */
  open: (sealed: string, bound: string) => string | null
  /** The same text sealed under the newest key: unchanged if it already is; null when no key decrypts it. */
  reseal: (sealed: string, bound: string) => string | null
  /** A keyed hash (HMAC-SHA-256), to compare texts without storing them. */
  fingerprint: (text: string) => string
  /** The fingerprints of a text with each of the keys, newest first. */
  fingerprints: (text: string) => [string, ...string[]]
  /** Whether a fingerprint, made with any of the keys, matches this text. */
  hasFingerprint: (fingerprint: string, text: string) => boolean
}

interface KeyPair {
  sealing: Uint8Array
  hashing: Uint8Array
}

/** @param keys 32 bytes each, newest first; older keys only decrypt and compare. */
export function createVault(keys: Uint8Array[]): Vault {
  const pairs = keys.map(derive)
  const newest = pairs[0]
  if (!newest) throw new Error('An encryption key is required')
  const openWithAny = (sealed: string, bound: string) => {
    for (const pair of pairs) {
      const text = open(pair, sealed, bound)
      if (text !== null) return text
    }
    return null
  }
  return {
    seal: (text, bound) => seal(newest, text, bound),
    open: openWithAny,
    reseal: (sealed, bound) => {
      if (open(newest, sealed, bound) !== null) return sealed
      const text = openWithAny(sealed, bound)
      return text === null ? null : seal(newest, text, bound)
    },
    fingerprint: (text) => hash(newest, text),
    fingerprints: (text) => [hash(newest, text), ...pairs.slice(1).map((pair) => hash(pair, text))],
    hasFingerprint: (fingerprint, text) => {
      const known = Buffer.from(fingerprint, 'hex')
      return known.length === 32 && pairs.some((pair) => timingSafeEqual(known, Buffer.from(hash(pair, text), 'hex')))
    },
  }
}

// Separate keys for encryption and hashing.
const derive = (key: Uint8Array): KeyPair => ({
  sealing: new Uint8Array(hkdfSync('sha256', key, '', 'referral sealing', 32)),
  hashing: new Uint8Array(hkdfSync('sha256', key, '', 'referral fingerprint', 32)),
})

const hash = (pair: KeyPair, text: string) => createHmac('sha256', pair.hashing).update(text).digest('hex')

function seal(pair: KeyPair, text: string, bound: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', pair.sealing, nonce).setAAD(Buffer.from(bound))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return `v1.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`
}

function open(pair: KeyPair, sealed: string, bound: string): string | null {
  const bytes = Buffer.from(sealed.replace(/^v1\./, ''), 'base64url')
  if (bytes.length < 28) return null
  const decipher = createDecipheriv('aes-256-gcm', pair.sealing, bytes.subarray(0, 12))
  decipher.setAAD(Buffer.from(bound)).setAuthTag(bytes.subarray(12, 28))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
  } catch {
    // A wrong key and a changed byte fail the same way.
    return null
  }
}
