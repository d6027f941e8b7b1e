// Writes vectors.json. It signs with node:crypto, so that the vectors do not come from the code they check.
import { createHmac } from 'node:crypto'
import { writeFileSync } from 'node:fs'

const secret = 'whsec-example-3f9c1d'
const event =
  '{"event":"commission.created","timestamp":"2026-10-20T15:04:05.000Z","shop_id":"shp_1","data":{"id":"com_1","commissionAmountCents":1250,"currency":"EUR"}}'
const timestamp = 1_792_508_645

const bytes = (text: string) => Buffer.from(text, 'utf8')
const mac = (body: Buffer, key: string) => createHmac('sha256', bytes(key)).update(body)

const accepted = (name: string, body: Buffer, key = secret) => {
  const id = `evt_${name.replaceAll(' ', '_').replaceAll(/[^a-z0-9_]/gi, '')}`
  const message = Buffer.concat([bytes(`${id}.${timestamp}.`), body])
  return {
    name,
    body: body.toString('hex'),
    secret: key,
    signature: mac(body, key).digest('hex'),
    id,
    timestamp,
    standardSignature: `v1,${mac(message, key).digest('base64')}`,
  }
}

const right = mac(bytes(event), secret).digest('hex')
const refused = (name: string, signature: string, body = bytes(event), key = secret) => ({
  name,
  body: body.toString('hex'),
  secret: key,
  signature,
})

const flipped = bytes(event)
flipped[40]! ^= 1

const vectors = {
  about:
    'X-Service-Signature is the lowercase hex of HMAC-SHA256 with the UTF-8 bytes of the secret as key and the body as message. `body` is hex. `standardSignature` covers `<id>.<timestamp>.<body>`. A verifier accepts every entry of `accept` and refuses every entry of `refuse`.',
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
      'numbers that re-serialise otherwise',
      bytes('{"event":"test","data":{"a":1e2,"b":1.0,"c":-0,"d":9007199254740993}}'),
    ),
    accepted('white space', bytes(' {\r\n\t"event" : "test" ,\n "data" : { } }\n')),
    accepted('escapes that re-serialise otherwise', bytes('{"event":"test","data":{"text":"\\u00e9\\/"}}')),
    accepted('a secret beyond ASCII', bytes(event), 'geheim-ключ-鍵-🔑'),
    accepted('a secret longer than a block', bytes(event), 'long '.repeat(20)),
    accepted('a secret with white space around it', bytes(event), ' padded '),
  ],
  refuse: [
    refused('an empty signature', ''),
    refused('upper case', right.toUpperCase()),
    refused('a prefix', `sha256=${right}`),
    refused('a 0x prefix', `0x${right}`),
    refused('a space before', ` ${right}`),
    refused('a space after', `${right} `),
    refused('a line feed after', `${right}\n`),
    refused('a NUL after', `${right}\0`),
    refused('one digit less', right.slice(0, -1)),
    refused('the first half', right.slice(0, 32)),
    refused('one digit more', `${right}0`),
    refused('twice', right + right),
    refused('twice, with a comma', `${right}, ${right}`),
    refused('not hex', `${right.slice(0, -1)}g`),
    refused(
      'full-width digits',
      right.replaceAll(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    ),
    refused('base64', mac(bytes(event), secret).digest('base64')),
    refused('one bit of the signature flipped', (right[0] === '0' ? '1' : '0') + right.slice(1)),
    refused('one bit of the body flipped', right, flipped),
    refused('a body with a line feed after it', right, bytes(`${event}\n`)),
    refused('an empty body', right, bytes('')),
    refused('a re-serialised body', right, bytes(JSON.stringify(JSON.parse(event), null, 2))),
    refused('another secret', right, bytes(event), 'another'),
    refused('a secret with a line feed after it', right, bytes(event), `${secret}\n`),
    refused('an empty secret, rightly signed', mac(bytes(event), '').digest('hex'), bytes(event), ''),
  ],
}

writeFileSync(new URL('../vectors.json', import.meta.url), `${JSON.stringify(vectors, null, 2)}\n`)
