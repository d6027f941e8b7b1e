import { encode } from './bytes.ts'
import { importKeys, listSecrets, type Secrets, subtle } from './hmac.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** What this package uses of Node's own crypto. */
interface NodeCrypto {
  createHmac: (hash: 'sha256', key: Uint8Array) => { update: (bytes: Uint8Array) => { digest: () => Uint8Array } }
}

interface Runtime {
  process?: { getBuiltinModule?: (name: 'node:crypto') => NodeCrypto | undefined }
}

/**
 * HMAC-SHA256 of each message under each secret, by secret. Node does it at once; Web Crypto, everywhere else, sends
 * every key and message through other threads, which takes eight times as long.
 */
export const macsOf = async (secrets: Secrets, messages: Bytes[]): Promise<ArrayBuffer[][]> => {
  const node = (globalThis as Runtime).process?.getBuiltinModule?.('node:crypto')
  if (node) {
    return listSecrets(secrets).map((secret) => {
      const key = encode(secret)
      return messages.map((message) => new Uint8Array(node.createHmac('sha256', key).update(message).digest()).buffer)
    })
  }
  const keys = await importKeys(secrets)
  return Promise.all(keys.map((key) => Promise.all(messages.map((message) => subtle.sign('HMAC', key, message)))))
}
