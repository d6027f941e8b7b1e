import { randomUUID } from 'node:crypto'
import { group, onPage } from '../check.ts'
import type { Context, Json } from '../context.ts'

const REUSED = 'reference/errors.md#idempotency_key_reused'

const KEYED: Record<string, (t: Context) => Promise<[path: string, body: Json, status: number]>> = {
  affiliates: async (t) => ['/affiliates', { email: t.email(), name: 'Ada' }, 201],
  programs: async (t) => ['/programs', { name: t.id('P') }, 201],
  coupons: async (t) => ['/coupons', { affiliateId: (await t.affiliate()).id }, 200],
  payouts: async (t) => {
    const [affiliate, day] = [await t.affiliate(), t.day()]
    await t.order({ amountCents: 1000, couponCode: affiliate.discountCode, occurredAt: day })
    return ['/payouts', t.periodOf(day, affiliate), 200]
  },
  customers: async (t) => ['/customers', { customerId: t.id('c') }, 201],
  refunds: async (t) => ['/refunds', { externalOrderId: t.id('o'), externalRefundId: 'r', amountCents: 1 }, 202],
  cancellations: async (t) => ['/cancellations', { externalOrderId: t.id('o') }, 202],
  clicks: async (t) => ['/events', { type: 'click', ref: t.id('ref') }, 202],
  conversions: async (t) => [
    '/events',
    { externalOrderId: t.id('o'), amountCents: 1000, couponCode: (await t.sharedAffiliate()).discountCode },
    201,
  ],
}

export const idempotency = group('idempotency', { title: 'Idempotency', page: REUSED }, (rule) => {
  const invalid = onPage(rule, 'reference/errors.md#idempotency_key_invalid')
  for (const [name, given] of Object.entries(KEYED))
    rule(
      `replays-${name}`,
      `POST of ${name} with the same Idempotency-Key and body returns the stored response with Idempotent-Replayed: true`,
      async (t) => {
        const [path, body, status] = await given(t)
        const options = { headers: { 'Idempotency-Key': randomUUID() } }
        const first = await t.post(path, body, options)
        t.expect(first, status)
        t.equal(first.headers.get('Idempotent-Replayed'), null, 'Idempotent-Replayed of the first response')
        const second = await t.post(path, body, options)
        t.equal(t.expect(second, status), first.body, 'the second response')
        t.equal(second.headers.get('Idempotent-Replayed'), 'true', 'Idempotent-Replayed')
      },
    )
  rule('executes-once', 'A replayed request changes nothing', async (t) => {
    const { id, discountCode } = await t.affiliate()
    const options = { headers: { 'Idempotency-Key': randomUUID() } }
    const assigned = t.expect(await t.post('/coupons', { affiliateId: id }, options), 200).data
    const replayed = t.expect(await t.post('/coupons', { affiliateId: id }, options), 200).data
    t.ok(assigned.code !== discountCode, 'the first request must generate a code')
    t.equal(replayed.code, assigned.code, 'the code of the second response')
  })
  rule('other-body', 'The same key with a different body returns 409 idempotency_key_reused', async (t) => {
    const [externalOrderId, options] = [t.id('o'), { headers: { 'Idempotency-Key': randomUUID() } }]
    t.expect(await t.report({ externalOrderId, amountCents: 1000 }, options), 201)
    t.expect(await t.report({ externalOrderId, amountCents: 1001 }, options), 409, 'idempotency_key_reused')
  })
  rule('other-path', 'The same key on another path returns 409 idempotency_key_reused', async (t) => {
    const options = { headers: { 'Idempotency-Key': randomUUID() } }
    t.expect(await t.post('/programs', { name: t.id('P') }, options), 201)
    t.expect(await t.post('/affiliates', { name: 'Ada', email: t.email() }, options), 409, 'idempotency_key_reused')
  })
  rule('order-of-properties', 'The order of properties and whitespace do not make a body different', async (t) => {
    const [name, options] = [t.id('P'), { headers: { 'Idempotency-Key': randomUUID() } }]
    const first = await t.post('/programs', undefined, { raw: `{"name":"${name}","description":"d"}`, ...options })
    const second = await t.post('/programs', undefined, {
      raw: ` { "description": "d", "name": "${name}" } `,
      ...options,
    })
    t.expect(first, 201)
    t.equal(t.expect(second, 201), first.body, 'the second response')
  })
  rule(
    '400-is-not-stored',
    'A corrected request with the key of a 400 succeeds',
    async (t) => {
      const options = { headers: { 'Idempotency-Key': randomUUID() } }
      t.expect(await t.report({ externalOrderId: t.id('o'), amountCents: -1 }, options), 400)
      t.expect(await t.report({ externalOrderId: t.id('o'), amountCents: 1 }, options), 201)
    },
    { page: 'reference/errors.md#invalid_body' },
  )
  rule('404-is-not-stored', 'A request with the key of a 404 is executed again', async (t) => {
    const [affiliate, day, options] = [await t.affiliate(), t.day(), { headers: { 'Idempotency-Key': randomUUID() } }]
    t.expect(await t.post('/payouts', t.periodOf(day, affiliate), options), 404)
    await t.order({ amountCents: 1000, couponCode: affiliate.discountCode, occurredAt: day })
    t.expect(await t.post('/payouts', t.periodOf(day, affiliate), options), 200)
  })
  rule('409-is-not-stored', 'A request with the key of a 409 is executed again', async (t) => {
    const [{ id, email }, options] = [await t.affiliate(), { headers: { 'Idempotency-Key': randomUUID() } }]
    t.expect(await t.post('/affiliates', { email, name: 'Ada' }, options), 409)
    t.expect(await t.delete(`/affiliates?id=${id}`), 200)
    t.expect(await t.post('/affiliates', { email, name: 'Ada' }, options), 201)
  })
  for (const [name, key] of [
    ['too-long', 'x'.repeat(256)],
    ['empty', ''],
    ['not-ascii', 'schlüssel'],
  ] as const)
    invalid(
      `key-${name}`,
      `An Idempotency-Key that is ${name.replaceAll('-', ' ')} returns 400 idempotency_key_invalid`,
      async (t) => {
        const reply = await t.post('/programs', { name: t.id('P') }, { headers: { 'Idempotency-Key': key } })
        t.expect(reply, 400, 'idempotency_key_invalid')
      },
    )
  invalid('key-of-255', 'An Idempotency-Key of 255 characters is accepted', async (t) => {
    const key = randomUUID().padEnd(255, 'x')
    t.expect(await t.post('/programs', { name: t.id('P') }, { headers: { 'Idempotency-Key': key } }), 201)
  })
  rule('optional', 'Operations other than conversions require no key', async (t) => {
    const name = t.id('P')
    const ids = []
    for (const _ of [1, 2]) ids.push(t.expect(await t.post('/programs', { name }), 201).data.id)
    t.ok(ids[0] !== ids[1], 'without a key, two requests create two programs')
  })
})
