import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto'

const FLAGS = { present: 0x01, verified: 0x04, attested: 0x40 }

/** What a response has instead of the correct value. */
interface Differences {
  challenge?: string
  origin?: string
  rpId?: string
  type?: string
  flags?: number
  counter?: number
  userHandle?: string
  id?: string
  signature?: Buffer
}

interface Options {
  challenge: string
  rpId?: string
  rp?: { id: string }
  user?: { id: string }
}

/** A passkey in software: makes the responses of a browser, correct or not. */
export function createAuthenticator(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const id = randomBytes(16)
  let counter = 0
  let userHandle = ''

  const clientData = (type: string, { challenge }: Options, made: Differences): Buffer =>
    Buffer.from(
      JSON.stringify({ type, challenge, origin, crossOrigin: false, ...pick(made, ['type', 'challenge', 'origin']) }),
    )

  const authenticatorData = (rpId: string, flags: number, made: Differences, rest = Buffer.of()): Buffer => {
    const numbers = Buffer.alloc(5)
    numbers.writeUInt8(made.flags ?? flags)
    numbers.writeUInt32BE(made.counter ?? counter, 1)
    return Buffer.concat([sha256(made.rpId ?? rpId), numbers, rest])
  }

  return {
    /** Creates the passkey. */
    create(options: Options, made: Differences = {}): string {
      userHandle = options.user?.id ?? ''
      const client = clientData('webauthn.create', options, made)
      const key = cbor(
        new Map<unknown, unknown>([
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, Buffer.from(x, 'base64url')],
          [-3, Buffer.from(y, 'base64url')],
        ]),
      )
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.of(0, id.length), id, key])
      const flags = FLAGS.present | FLAGS.verified | FLAGS.attested
      const authData = authenticatorData(options.rp?.id ?? '', flags, made, attested)
      const attestation = cbor(
        new Map<unknown, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', authData],
        ]),
      )
      return credential(id, made, {
        clientDataJSON: client.toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal'],
      })
    },
    /** Signs a challenge. */
    get(options: Options, made: Differences = {}): string {
      counter += 1
      const client = clientData('webauthn.get', options, made)
      const authData = authenticatorData(options.rpId ?? '', FLAGS.present | FLAGS.verified, made)
      const signed = createSign('sha256').update(authData).update(sha256(client)).sign(privateKey)
      return credential(id, made, {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: (made.signature ?? signed).toString('base64url'),
        userHandle: made.userHandle ?? userHandle,
      })
    },
  }
}

const credential = (id: Buffer, made: Differences, response: object): string => {
  const text = made.id ?? id.toString('base64url')
  return JSON.stringify({ id: text, rawId: text, type: 'public-key', clientExtensionResults: {}, response })
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()

const pick = (from: Differences, names: (keyof Differences)[]) =>
  Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])))

/** CBOR of small integers, byte strings, texts and maps. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (typeof value === 'string') return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])
  const entries = [...(value as Map<unknown, unknown>)]
  return Buffer.concat([head(5, entries.length), ...entries.flat().map(cbor)])
}

function head(kind: number, size: number): Buffer {
  if (size < 24) return Buffer.of((kind << 5) | size)
  return size < 256 ? Buffer.of((kind << 5) | 24, size) : Buffer.of((kind << 5) | 25, size >> 8, size & 255)
}
