import { expect } from 'vitest'
import { auditLog, countOf } from '../support/inspect.ts'
import { expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

let nisa: string
let mara: string
test.beforeAll(async ({ server }) => {
  nisa = (await withAffiliate(server, { code: 'NISA' })).affiliate.id
  mara = (await newAffiliate(server, { code: 'MARA', name: 'Mara Lind' })).id
})

let orders = 0
const convert = (client: Client, evidence: object, externalOrderId = `alias-${++orders}`) =>
  client.events.conversion({ externalOrderId, amountCents: 10_000, ...evidence })
const add = (client: Client, affiliateId: string, kind: 'CODE' | 'LINK', value: string) =>
  client.aliases.create({ affiliateId, kind, value })

test('the explanation of an order names each alias, also from the stored facts', async ({ client, owner }) => {
  await add(client, nisa, 'CODE', 'SARAH10')
  await add(client, nisa, 'LINK', 'Sarah_old.0f')
  await convert(client, { couponCode: 'sarah10', ref: 'sarah_old.0f' }, 'with-aliases')
  await convert(client, { couponCode: 'NISA' }, 'without')
  const [explained, plain] = await Promise.all(
    ['with-aliases', 'without'].map((id) => expectOk(owner('GET', `/orders/${id}/explanation`))),
  )
  expect(explained.evidence.flatMap((kind: { candidates: object[] }) => kind.candidates)).toMatchObject([
    { alias: 'SARAH10', won: true, because: expect.stringContaining('SARAH10 is an additional code') },
    { alias: 'Sarah_old.0f', because: expect.stringContaining('Sarah_old.0f is an additional link name') },
  ])
  expect([explained.replay.identical, plain.evidence[0].candidates[0].alias]).toEqual([true, null])
})

test('a generated code is never an alias', async ({ server, client }) => {
  const { random } = server.deps
  const bytes = (byte: number) => new Uint8Array(32).fill(byte)
  await add(client, nisa, 'LINK', 'aaaaaaaa')
  const given = [bytes(0), bytes(1)]
  server.deps.random = (count) => (count === 32 && given.shift()) || random(count)
  const { discountCode } = await client.affiliates.create({ email: 'random@example.com', name: 'Random' })
  server.deps.random = random
  expect(discountCode).toBe('BBBBBBBB')
})

test('only a new alias is stored and recorded', async ({ server, client }) => {
  const audits = auditLog(server)
  for (const value of ['MaraShop', 'marashop', 'MARASHOP']) await add(client, mara, 'CODE', value)
  await add(client, mara, 'LINK', 'marashop')
  expect(audits()).toMatchObject([
    { action: 'alias.created', data: { kind: 'CODE', alias: 'MaraShop' } },
    { action: 'alias.created', data: { kind: 'LINK', alias: 'marashop' } },
  ])
  expect(countOf(server, 'affiliateAliases', { codeKey: 'marashop' })).toBe(2)
})

test('orders and changes of their aliases that arrive together have the outcome of some order of single ones', async ({
  client,
}) => {
  const { id } = await add(client, nisa, 'CODE', 'TOGETHER')
  const order = async (n: number) =>
    (await convert(client, { couponCode: 'TOGETHER', sessionId: `t-${n}` })).attribution.affiliateId
  const found = await Promise.all([
    ...[1, 2, 3, 4].map(order),
    client.aliases
      .delete(id)
      .then(() => add(client, mara, 'CODE', 'together'))
      .then(() => null),
    ...[5, 6, 7, 8].map(order),
  ])
  for (const affiliateId of found) expect([nisa, mara, null]).toContain(affiliateId)
  expect(await order(9)).toBe(mara)
})
