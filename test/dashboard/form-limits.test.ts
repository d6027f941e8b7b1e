// SQLite only: the limits come from the document
import { expect } from 'vitest'
import { composed, deref, document, operation, wholesOf } from '../support/document.ts'
import { test } from '../support/test.ts'
import { visitorOf } from './visitor.ts'

/** Forms, the operation that receives their fields, and the fields that have another name there. */
const FORMS: [path: string, id: string, names?: Record<string, string>][] = [
  ['/affiliates/new', 'createAffiliate'],
  ['/affiliates/:affiliate/edit', 'updateAffiliate'],
  ['/affiliates/:affiliate', 'createAlias', { alias: 'value', value: '' }],
  ['/affiliates/:affiliate', 'createConnection'],
  ['/affiliates/:affiliate/payee?method=PAYPAL', 'setPayee'],
  ['/programs/new', 'createProgram'],
  ['/programs/:program/edit', 'updateProgram'],
  ['/programs/:program', 'createProductRule'],
  ['/programs/:program/backtest', 'runBacktest'],
  ['/keys', 'createKey'],
  ['/webhooks', 'createWebhook'],
  ['/settings', 'updateSettings'],
  ['/team', 'createShopUser'],
  ['/test-shops', 'createTestShop'],
]

test.for(FORMS)('the fields of %s have the limits of %s', async ([path, id, names = {}], { server, client }) => {
  const program = await client.programs.create({ name: 'P' })
  const affiliate = await client.affiliates.create({ email: `${id}@example.com`, name: 'A', campaignId: program.id })
  const owner = visitorOf(server)
  await owner.signIn(server.shop.ownerToken)
  const to = path.replace(':affiliate', affiliate.id).replace(':program', program.id)
  const { text, status } = await owner.open(`/admin${to}`)
  expect(status).toBe(200)
  const op = operation(id)
  const { schema } = document.paths[op.path][op.method.toLowerCase()].requestBody.content['application/json']
  const [body] = wholesOf(schema)
  let compared = 0
  for (const [, name = '', limits = ''] of text.matchAll(/<(?:input|textarea) id="\w+" name="(\w+)"([^>]*)>/g)) {
    const property = body.properties[names[name] ?? name]
    // Browsers limit dates themselves.
    if (!property || limits.includes('type="date"')) continue
    const plain = composed(property).whole
    const { maxLength, minimum, maximum } = plain.anyOf ? deref(plain.anyOf[0]) : plain
    if (maxLength === undefined && !limits.includes('type="number"')) continue
    compared += 1
    if (maxLength !== undefined) expect(limits, name).toContain(` maxlength="${maxLength}"`)
    else expect(limits, name).toContain(` min="${minimum}" max="${maximum}"`)
  }
  expect(compared).toBeGreaterThan(0)
})
