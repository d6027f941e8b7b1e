import { createSecretKey } from 'node:crypto'
import { signWebhook } from '@referral/webhook-verifier/sender'
import { expect, test } from 'vitest'
import { signatureHeaders } from '../../server/src/webhooks/secrets.ts'

const at = Date.parse('2026-11-02T12:00:00.999Z')

test.each([
  ['a secret', '{"event":"test"}'],
  ['ü', ''],
  ['s'.repeat(500), `{"data":"${'ø✓😀'.repeat(2000)}"}`],
])('the server signs as the published package does (%#)', async (secret, body) => {
  const id = 'dlv_01KAH0000000000000000000C2'
  const expected = await signWebhook(body, secret, { id, timestamp: Math.floor(at / 1000) })
  expect(signatureHeaders(createSecretKey(secret, 'utf8'), body, { id, at })).toEqual(expected)
})

test('without a secret the signature is empty', () => {
  expect(signatureHeaders(undefined, '{}', { id: 'dlv_1', at })).toEqual({ 'X-Service-Signature': '' })
})
