import { createHmac } from 'node:crypto'
import { expect } from 'vitest'
import { allOperations } from '../support/document.ts'
import { admin } from '../support/owner.ts'
import { OPERATOR_TOKEN } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'

const SECRET = 'hush-hush-hush-hush'

test.beforeAll(async ({ ownerServer: server }) => {
  await expectOk(admin(server, 'PATCH', '/settings', { storeWebhookSecret: SECRET }))
})

/** Names that no row can have, as written in a path. */
const NAMES: [string, string][] = [
  ['U+0000', '%00'],
  ['U+0000 inside', 'a%00b'],
  ['half a surrogate pair', '%ed%a0%80'],
  ['broken UTF-8', '%ff%fe'],
  ['a broken escape', '%zz'],
  ['8,000 characters', 'x'.repeat(8000)],
]

const ops = allOperations.filter(({ path }) => path.includes('{'))

test('some operations have path parameters', () => {
  expect(ops.length).toBeGreaterThan(10)
})

test.for(ops.flatMap((op) => NAMES.map(([name, text]) => [op.method, op.path, name, text, op] as const)))(
  '4xx %s %s with %s',
  async ([_method, _path, _name, text, op], { ownerServer: server }) => {
    const raw = JSON.stringify(Object.values(op.requestExamples)[0]?.value ?? {})
    const { status, headers, body } = await server.request(op.method, op.path.replace(/\{\w+\}/g, text), {
      key: op.path.startsWith('/operator/') ? OPERATOR_TOKEN : server.shop.ownerToken,
      ...(op.method !== 'GET' && { raw }),
      headers: { 'X-Shopify-Hmac-Sha256': createHmac('sha256', SECRET).update(raw).digest('base64') },
    })
    expect([400, 401, 404], JSON.stringify(body)).toContain(status)
    expect(headers.get('X-Error-Code')).not.toBe(null)
  },
)
