import { encode, toHex } from './bytes.ts'
import { importKeys, listSecrets, type Secrets, subtle } from './hmac.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** What one secret makes of a delivery. */
export interface Macs {
  /** Of the body, in hex. */
  plain: string
  /** Of the stamp and the body after it, in base64. */
  stamped: string
}

interface NodeHmac {
  update: (bytes: Uint8Array | string) => NodeHmac
  digest: (encoding: 'hex' | 'base64') => string
}

/** What this package uses of Node's own crypto. */
interface NodeCrypto {
  createHmac: (hash: 'sha256', key: Uint8Array) => NodeHmac
}

interface Runtime {
  process?: { getBuiltinModule?: (name: 'node:crypto') => NodeCrypto | undefined }
}

/**
 * HMAC-SHA256 of a body, alone and behind its stamp, under each secret. Node does it at once; Web Crypto, everywhere
 * else, sends every key and message through other threads, which takes eight times as long.
 */
export const macsOf = (secrets: Secrets, stamp: string, body: Bytes): Promise<Macs[]> => {
  const node = (globalThis as Runtime).process?.getBuiltinModule?.('node:crypto')
  return node ? macsOnNode(node, secrets, stamp, body) : macsOnWeb(secrets, stamp, body)
}

const macsOnNode = async (node: NodeCrypto, secrets: Secrets, stamp: string, body: Bytes): Promise<Macs[]> =>
  listSecrets(secrets).map((secret) => {
    const key = encode(secret)
    return {
      plain: node.createHmac('sha256', key).update(body).digest('hex'),
      stamped: node.createHmac('sha256', key).update(stamp).update(body).digest('base64'),
    }
  })

const macsOnWeb = async (secrets: Secrets, stamp: string, body: Bytes): Promise<Macs[]> => {
  const prefix = encode(stamp)
  const message = new Uint8Array(prefix.length + body.length)
  message.set(prefix)
  message.set(body, prefix.length)
  return Promise.all(
    (await importKeys(secrets)).map(async (key) => ({
      plain: toHex(await subtle.sign('HMAC', key, body)),
      stamped: btoa(String.fromCharCode(...new Uint8Array(await subtle.sign('HMAC', key, message)))),
    })),
  )
}
