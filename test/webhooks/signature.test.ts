import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { signatureHeaders } from '../../server/src/domains/webhooks/delivery/headers.ts'

const at = Date.parse('2026-11-02T12:00:00.999Z')

test.each([
  ['a secret', '{"event":"test"}'],
  ['ü', ''],
  ['s'.repeat(500), `{"data":"${'ø✓😀'.repeat(2000)}"}`],
])('the headers equal independently computed HMACs (%#)', (secret, body) => {
  const id = 'dlv_01KAH0000000000000000000C2'
  const timestamp = String(Math.floor(at / 1000))
  const hmac = (text: string) => createHmac('sha256', secret).update(text)
  expect(signatureHeaders(secret, body, { id, at })).toEqual({
    'X-Service-Signature': hmac(body).digest('hex'),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${hmac(`${id}.${timestamp}.${body}`).digest('base64')}`,
  })
})

test('without a secret the signature is empty, and the delivery has an id and a timestamp', () => {
  expect(signatureHeaders(undefined, '{}', { id: 'dlv_1', at })).toEqual({
    'X-Service-Signature': '',
    'webhook-id': 'dlv_1',
    'webhook-timestamp': String(Math.floor(at / 1000)),
  })
})
