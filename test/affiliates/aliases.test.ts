import type { OrderFields } from '@referral/sdk'
import { describe, expect } from 'vitest'
import { auditLog, countOf } from '../support/inspect.ts'
import { admin } from '../support/owner.ts'
import { rejection } from '../support/rejection.ts'
import { expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

interface Person {
  id: string
  slug: string
  discountCode: string
}
let nisa: Person
let mara: Person
test.beforeAll(async ({ server, client }) => {
  nisa = (await withAffiliate(server, { code: 'NISA' })).affiliate
  mara = await newAffiliate(server, { code: 'MARA', name: 'Mara Lind' })
  await client.aliases.create({ affiliateId: nisa.id, kind: 'CODE', value: 'SARAH10' })
  await client.aliases.create({ affiliateId: nisa.id, kind: 'LINK', value: 'Sarah_old.0f' })
})

let orders = 0
type Evidence = Partial<Omit<OrderFields, 'amountCents'>>
const convert = (client: Client, evidence: Evidence) =>
  client.events.conversion({ externalOrderId: `alias-${++orders}`, amountCents: 10_000, ...evidence })
async function attribution(client: Client, evidence: Evidence) {
  const { attribution: found } = await convert(client, evidence)
  return [found.affiliateId, found.method, found.confidence, found.reasonCode]
}

describe('an order with an alias is credited as one with the official name', () => {
  test.for<[Evidence, Evidence]>([
    [{ couponCode: 'SARAH10' }, { couponCode: 'NISA' }],
    [{ couponCode: ' sarah10 ' }, { couponCode: 'nisa' }],
    [{ affiliateCode: 'SARAH10' }, { affiliateCode: 'NISA' }],
    [{ ref: 'sarah_OLD.0F' }, { ref: 'nisa-karim' }],
    // A slug is also accepted as a code, and a code never as a link name.
    [{ couponCode: 'sarah_old.0f' }, { couponCode: 'nisa-karim' }],
    [{ ref: 'SARAH10' }, { ref: 'NISA' }],
  ])('the alias %j is credited as %j', async ([alias, official], { client }) => {
    expect(await attribution(client, alias)).toEqual(await attribution(client, official))
  })

  test('with the same precedence', async ({ client }) => {
    const code = await attribution(client, { couponCode: 'SARAH10', ref: 'mara-lind' })
    expect(code).toEqual([nisa.id, 'COUPON', 1, 'COUPON_MATCH'])
    const link = await attribution(client, { couponCode: 'MARA', ref: 'sarah_old.0f' })
    expect(link).toEqual([mara.id, 'COUPON', 1, 'COUPON_MATCH'])
  })

  test('clicks and store orders too', async ({ client }) => {
    const { id: clickId } = await client.events.click({ ref: 'Sarah_old.0f' })
    expect(await attribution(client, { clickId })).toEqual([nisa.id, 'DIRECT_LINK', 0.95, 'CLICK_MATCH'])
  })

  test('and the explanation names the alias, also from the stored facts', async ({ server, client }) => {
    const externalOrderId = 'explained-alias'
    await convert(client, { externalOrderId, couponCode: 'sarah10', ref: 'sarah_old.0f' })
    const explained = await expectOk(admin(server, 'GET', `/orders/${externalOrderId}/explanation`))
    const candidates = explained.evidence.flatMap((kind: { candidates: object[] }) => kind.candidates)
    expect(candidates).toMatchObject(
      [
        {
          source: 'couponCode',
          value: 'sarah10',
          alias: 'SARAH10',
          won: true,
          because: /SARAH10 is an additional code/,
        },
        { source: 'ref', alias: 'Sarah_old.0f', because: /Sarah_old\.0f is an additional link name/ },
      ].map(({ because, ...rest }) => ({ ...rest, because: expect.stringMatching(because) })),
    )
    expect(explained.replay.identical).toBe(true)
    await convert(client, { externalOrderId: 'explained-code', couponCode: 'NISA' })
    const plain = await expectOk(admin(server, 'GET', '/orders/explained-code/explanation'))
    expect(plain.evidence[0].candidates[0].alias).toBe(null)
    const { trace } = await client.events.dryRun({ externalOrderId: 'x', amountCents: 1, couponCode: 'SARAH10' })
    expect(trace.candidates).toMatchObject([{ value: 'SARAH10', alias: 'SARAH10', won: true }])
  })

  test('also of an affiliate who is rejected or archived: the order earns nothing and nobody else gets it', async ({
    server,
    client,
  }) => {
    const { id } = await newAffiliate(server, { code: 'GWEN' })
    await client.aliases.create({ affiliateId: id, kind: 'CODE', value: 'GWEN2020' })
    await client.affiliates.update(id, { status: 'REJECTED' })
    expect((await convert(client, { couponCode: 'GWEN2020' })).commission.restrictionReasonCode).toBe(
      'AFFILIATE_REJECTED',
    )
    await client.affiliates.archive(id)
    const { attribution, commission } = await convert(client, { couponCode: 'GWEN2020', ref: 'mara-lind' })
    expect([attribution.affiliateId, commission.restrictionReasonCode]).toEqual([id, 'AFFILIATE_ARCHIVED'])
    for (const create of [
      client.aliases.create({ affiliateId: mara.id, kind: 'CODE', value: 'gwen2020' }),
      client.aliases.create({ affiliateId: mara.id, kind: 'LINK', value: 'GWEN' }),
    ])
      expect(await rejection(create)).toEqual([409, 'alias_taken'])
  })
})

describe('a name belongs to one affiliate', () => {
  test.for([
    ['CODE', 'NISA'],
    ['CODE', 'nisa-karim'],
    ['CODE', 'Sarah10'],
    ['LINK', 'nisa'],
    ['LINK', 'Nisa-Karim'],
    ['LINK', 'sarah10'],
    ['LINK', 'SARAH\u200b_old.0f'],
  ] as const)('409 for the %s %j of another affiliate', async ([kind, value], { client }) => {
    expect(await rejection(client.aliases.create({ affiliateId: mara.id, kind, value }))).toEqual(
      value.includes('\u200b') ? [400, 'alias_invalid'] : [409, 'alias_taken'],
    )
  })

  test('409 for a discount code that is an alias of another affiliate; its own alias can become the code', async ({
    client,
  }) => {
    await client.aliases.create({ affiliateId: nisa.id, kind: 'CODE', value: 'NISA9' })
    expect(await rejection(client.coupons.assign({ affiliateId: mara.id, code: 'nisa9' }))).toEqual([
      409,
      'discount_code_taken',
    ])
    expect((await client.coupons.assign({ affiliateId: nisa.id, code: 'NISA9' })).code).toBe('NISA9')
    await client.coupons.assign({ affiliateId: nisa.id, code: 'NISA' })
    expect(await attribution(client, { couponCode: 'NISA9' })).toEqual([nisa.id, 'COUPON', 1, 'COUPON_MATCH'])
  })

  test('a generated slug and a generated code are never an alias', async ({ server, client }) => {
    await client.aliases.create({ affiliateId: nisa.id, kind: 'CODE', value: 'Zoe-Hill' })
    expect((await newAffiliate(server, { name: 'Zoe Hill' })).slug).toBe('zoe-hill-2')
    const { random } = server.deps
    const bytes = (byte: number) => new Uint8Array(32).fill(byte)
    await client.aliases.create({ affiliateId: nisa.id, kind: 'LINK', value: 'aaaaaaaa' })
    const given = [bytes(0), bytes(1)]
    server.deps.random = (count) => (count === 32 && given.shift()) || random(count)
    const { discountCode } = await client.affiliates.create({ email: 'random@example.com', name: 'Random' })
    server.deps.random = random
    expect(discountCode).toBe('BBBBBBBB')
  })

  test('of parallel requests for one name, exactly one affiliate gets it', async ({ server, client }) => {
    const others = await Promise.all([1, 2, 3, 4].map((n) => newAffiliate(server, { name: `Race ${n}` })))
    const replies = await Promise.all(
      others.flatMap(({ id }) => [
        client.aliases.create({ affiliateId: id, kind: 'CODE', value: 'RACED' }).safe(),
        client.coupons.assign({ affiliateId: id, code: 'raced' }).safe(),
      ]),
    )
    const failed = replies.flatMap(({ error }) => (error ? [error.code] : []))
    expect(failed.every((code) => code === 'alias_taken' || code === 'discount_code_taken')).toBe(true)
    const [{ affiliateId } = { affiliateId: null }] = (await client.aliases.list({ value: 'raced' })).data
    const holders = (await client.coupons.list({ code: 'RACED' })).data.map((one) => one.affiliateId)
    expect(new Set([affiliateId, ...holders].filter(Boolean)).size).toBe(1)
    expect((await attribution(client, { couponCode: 'raced' })).slice(0, 1)).toEqual([affiliateId ?? holders[0]])
  })

  test('another shop may use the same name', async ({ server }) => {
    const { key } = await server.createShop()
    const other = server.clientOf(key)
    const { id } = await other.affiliates.create({ email: 'a@example.com', name: 'A' })
    expect((await other.aliases.create({ affiliateId: id, kind: 'CODE', value: 'SARAH10' })).value).toBe('SARAH10')
    expect(await rejection(other.aliases.create({ affiliateId: nisa.id, kind: 'CODE', value: 'X' }))).toEqual([
      404,
      'affiliate_not_found',
    ])
  })
})

test('an alias that the affiliate has is returned unchanged, and the same name can be a code and a link name', async ({
  server,
  client,
}) => {
  const created = await client.aliases.create({ affiliateId: mara.id, kind: 'CODE', value: 'MaraShop' })
  const audits = auditLog(server)
  const again = await Promise.all(
    ['marashop', 'MARASHOP'].map((value) => client.aliases.create({ affiliateId: mara.id, kind: 'CODE', value })),
  )
  expect(again).toEqual([created, created])
  expect(audits()).toEqual([])
  await client.aliases.create({ affiliateId: mara.id, kind: 'LINK', value: 'marashop' })
  expect(audits()).toMatchObject([{ action: 'alias.created', data: { kind: 'LINK', alias: 'marashop' } }])
  expect((await client.aliases.list({ value: 'MARASHOP' })).data.map(({ kind }) => kind)).toEqual(['LINK', 'CODE'])
  expect(await attribution(client, { ref: 'marashop' })).toEqual([mara.id, 'DIRECT_LINK', 0.8, 'REF_MATCH'])
})

test('a deleted alias credits nobody, and can be given to another affiliate', async ({ server, client }) => {
  const { id } = await client.aliases.create({ affiliateId: nisa.id, kind: 'LINK', value: 'moved' })
  await client.aliases.delete(id)
  expect(await rejection(client.aliases.delete(id))).toEqual([404, 'alias_not_found'])
  expect(await attribution(client, { ref: 'moved' })).toEqual([null, null, 0, 'NO_MATCH'])
  await client.aliases.create({ affiliateId: mara.id, kind: 'LINK', value: 'moved' })
  expect((await attribution(client, { ref: 'moved' }))[0]).toBe(mara.id)
  expect(countOf(server, 'affiliateAliases', { codeKey: 'moved' })).toBe(1)
})

test('an affiliate id is found before an alias that equals it', async ({ client }) => {
  await client.aliases.create({ affiliateId: mara.id, kind: 'LINK', value: nisa.id })
  expect((await attribution(client, { ref: nisa.id }))[0]).toBe(nisa.id)
})

test('orders and changes of their aliases that arrive together have the outcome of some order of single ones', async ({
  client,
}) => {
  const { id } = await client.aliases.create({ affiliateId: nisa.id, kind: 'CODE', value: 'TOGETHER' })
  const order = (n: number) => attribution(client, { couponCode: 'TOGETHER', sessionId: `t-${n}` })
  const found = await Promise.all([
    ...[1, 2, 3, 4].map(order),
    client.aliases
      .delete(id)
      .then(() => client.aliases.create({ affiliateId: mara.id, kind: 'CODE', value: 'together' })),
    ...[5, 6, 7, 8].map(order),
  ])
  for (const one of found.filter(Array.isArray)) expect([nisa.id, mara.id, null]).toContain(one[0])
  expect((await order(9))[0]).toBe(mara.id)
})
