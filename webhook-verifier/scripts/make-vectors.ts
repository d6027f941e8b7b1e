// Writes vectors.json. Signs with node:crypto instead of the code under test.
import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'

const secret = 'whsec-example-3f9c1d'
const event =
  '{"event":"commission.created","timestamp":"2026-10-20T15:04:05.000Z","shop_id":"shp_1","data":{"id":"com_1","commissionAmountCents":1250,"currency":"EUR"}}'
const timestamp = 1_792_508_645

const bytes = (text: string) => Buffer.from(text, 'utf8')
const hmac = (body: Buffer, key: string) => createHmac('sha256', bytes(key)).update(body)

const accepted = (name: string, body: Buffer, key = secret) => {
  const id = `evt_${name.replaceAll(' ', '_').replaceAll(/[^a-z0-9_]/gi, '')}`
  const message = Buffer.concat([bytes(`${id}.${timestamp}.`), body])
  return {
    name,
    body: body.toString('hex'),
    secret: key,
    signature: hmac(body, key).digest('hex'),
    id,
    timestamp,
    standardSignature: `v1,${hmac(message, key).digest('base64')}`,
  }
}

const valid = hmac(bytes(event), secret).digest('hex')
const rejected = (name: string, signature: string, body = bytes(event), key = secret) => ({
  name,
  body: body.toString('hex'),
  secret: key,
  signature,
})

const flipped = bytes(event)
flipped[40]! ^= 1

const vectors = {
  about:
    'X-Service-Signature is the lowercase hex of HMAC-SHA256 with the UTF-8 bytes of the secret as key and the body as message. `body` is hex. `standardSignature` covers `<id>.<timestamp>.<body>`. A verifier accepts every entry of `accept` and rejects every entry of `reject`.',
  accept: [
    accepted('an event', bytes(event)),
    accepted('RFC 4231 test case 2', bytes('what do ya want for nothing?'), 'Jefe'),
    accepted('an empty body', bytes('')),
    accepted('a byte order mark', Buffer.concat([Buffer.from('efbbbf', 'hex'), bytes(event)])),
    accepted('line separators U+2028 and U+2029', bytes('{"event":"test","data":{"text":"\u2028\u2029"}}')),
    accepted(
      'invalid UTF-8',
      Buffer.concat([bytes('{"event":"test","data":{"text":"'), Buffer.from('c328ff', 'hex'), bytes('"}}')]),
    ),
    accepted('a NUL byte', Buffer.concat([bytes('{"event":"test","data":{}}'), Buffer.from('00', 'hex')])),
    accepted('duplicate keys', bytes('{"event":"first","event":"test","data":{"a":1,"a":2}}')),
    accepted(
      'numbers that re-serialize differently',
      bytes('{"event":"test","data":{"a":1e2,"b":1.0,"c":-0,"d":9007199254740993}}'),
    ),
    accepted('whitespace', bytes(' {\r\n\t"event" : "test" ,\n "data" : { } }\n')),
    accepted('escapes that re-serialize differently', bytes('{"event":"test","data":{"text":"\\u00e9\\/"}}')),
    accepted('a non-ASCII secret', bytes(event), 'geheim-ключ-鍵-🔑'),
    accepted('a secret longer than a block', bytes(event), 'long '.repeat(20)),
    accepted('a secret with whitespace around it', bytes(event), ' padded '),
  ],
  reject: [
    rejected('an empty signature', ''),
    rejected('uppercase', valid.toUpperCase()),
    rejected('a prefix', `sha256=${valid}`),
    rejected('a 0x prefix', `0x${valid}`),
    rejected('a space before', ` ${valid}`),
    rejected('a space after', `${valid} `),
    rejected('a line feed after', `${valid}\n`),
    rejected('a NUL after', `${valid}\0`),
    rejected('one digit missing', valid.slice(0, -1)),
    rejected('the first half', valid.slice(0, 32)),
    rejected('one extra digit', `${valid}0`),
    rejected('twice', valid + valid),
    rejected('twice, with a comma', `${valid}, ${valid}`),
    rejected('not hex', `${valid.slice(0, -1)}g`),
    rejected(
      'full-width digits',
      valid.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    ),
    rejected('base64', hmac(bytes(event), secret).digest('base64')),
    rejected('one bit of the signature flipped', (valid[0] === '0' ? '1' : '0') + valid.slice(1)),
    rejected('one bit of the body flipped', valid, flipped),
    rejected('a body with a line feed after it', valid, bytes(`${event}\n`)),
    rejected('an empty body', valid, bytes('')),
    rejected('a re-serialized body', valid, bytes(JSON.stringify(JSON.parse(event), null, 2))),
    rejected('another secret', valid, bytes(event), 'another'),
    rejected('a secret with a line feed after it', valid, bytes(event), `${secret}\n`),
    rejected('an empty secret, validly signed', hmac(bytes(event), '').digest('hex'), bytes(event), ''),
  ],
}

writeFileSync(new URL('../vectors.json', import.meta.url), `${JSON.stringify(vectors, null, 2)}\n`)
