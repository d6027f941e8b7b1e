import { describe, expect } from 'vitest'
import { rejection, rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { createUser, revokeUser } from '../support/tenants.ts'
import { test } from '../support/test.ts'

let campaignId: string
test.beforeAll(async ({ server, client }) => {
  campaignId = (await withAffiliate(server, { code: 'NISA' })).program.id
  await client.programs.update(campaignId, { lifetimeCommission: true })
})

let counter = 0
const report = (server: TestServer, order: object) =>
  convert(server, { externalOrderId: `i-${++counter}`, amountCents: 10_000, ...order })
const freshCode = () => `C${(++counter).toString(36).replaceAll('o', 'X').replaceAll('0', 'Y')}`

describe('self-referral is detected across spellings of one address', () => {
  test.for([
    ['müller@example.com', 'mu\u0308ller@example.com'],
    ['nisa.karim@gmail.com', 'nisakarim@gmail.com'],
    ['n.isa@gmail.com', 'N.I.S.A+shop@GoogleMail.com'],
    ['zoe@googlemail.com', 'z.oe@gmail.com'],
    ['dot@example.com', 'dot@example.com.'],
    ['named@example.com', 'Named Buyer <named@example.com>'],
    ['quoted@example.com', '"Buyer, Q." <Quoted+1@example.com> '],
    ['idn@münchen.de', 'idn@xn--mnchen-3ya.de'],
    ['puny@xn--mnchen-3ya.de', 'puny@MU\u0308NCHEN.DE'],
    ['full@example.com', 'full@ｅｘａｍｐｌｅ。com'],
    ['hidden@example.com', 'hid\u200bden@example.com'],
  ])('the affiliate %j buys as %j: SELF_REFERRAL', async ([email, customerEmail], { server }) => {
    const code = freshCode()
    await newAffiliate(server, { email, code, campaignId })
    const { body } = await report(server, { couponCode: code, customerEmail })
    expect(body.commission).toMatchObject({ restrictionReasonCode: 'SELF_REFERRAL', amountCents: 0 })
  })

  test.for([
    ['a.b@example.com', 'ab@example.com'],
    ['ab@example.com', 'ab@example.org'],
    ['muller@example.com', 'müller@example.com'],
  ])('affiliate %j is not the buyer %j', async ([email, customerEmail], { server }) => {
    const code = freshCode()
    await newAffiliate(server, { email, code, campaignId })
    expect((await report(server, { couponCode: code, customerEmail })).body.commission.eligible).toBe(true)
  })
})

describe('one address', () => {
  test.for([
    ['taken@münchen.example', 'Taken@XN--MNCHEN-3YA.example'],
    ['tü@example.com', 'tu\u0308@EXAMPLE.com'],
    ['j\u030cim@example.com', 'J\u030cIM@example.com'],
  ])('409 for %j when there is %j', async ([first, second], { client }) => {
    const { id } = await client.affiliates.create({ email: first, name: 'First' })
    expect((await client.affiliates.list({ limit: 1 })).data[0]).toMatchObject({ id, email: first })
    expect(await rejection(client.affiliates.create({ email: second, name: 'Second' }))).toEqual([409, 'email_taken'])
  })

  test('dots and tags are part of an address that is registered', async ({ client }) => {
    for (const email of ['de.ep@gmail.com', 'deep@gmail.com', 'deep+2@gmail.com', 'deep@googlemail.com'])
      expect((await client.affiliates.create({ email, name: 'Deep' })).email).toBe(email)
  })

  test('a customer is found by any spelling, and connected once', async ({ server, client, owner }) => {
    const code = freshCode()
    const { id } = await newAffiliate(server, { code, campaignId })
    await report(server, { couponCode: code, customerEmail: 'Käufer@bücher.example' })
    for (const customerEmail of ['ka\u0308ufer@bu\u0308cher.example.', 'käufer@xn--bcher-kva.example']) {
      const { body } = await report(server, { customerEmail })
      expect(body.attribution).toMatchObject({ affiliateId: id, reasonCode: 'CONNECTED_CUSTOMER_EMAIL_MATCH' })
      expect((await client.journey.get({ customerEmail })).total).toBeGreaterThan(1)
    }
    const again = { kind: 'customerEmail', value: 'KÄUFER@bücher.example.', affiliateId: id }
    expect((await owner('POST', '/connections', again)).headers.get('X-Error-Code')).toBe('connection_exists')
  })
})

test('a user of the shop is created once, however the operator writes the address', async ({ server }) => {
  const { deps, shop } = server
  const staff = { shop: shop.shopId, email: 'Mu\u0308ller@BU\u0308CHER.example.', role: 'STAFF' as const }
  const { userId } = await createUser(deps, { ...staff, email: 'müller@bücher.example' })
  await expect(createUser(deps, staff)).rejects.toThrow('already')
  expect((await revokeUser(deps, staff)).userId).toBe(userId)
})

describe('an unencoded plus in the query', () => {
  const email = 'anna+shoes@example.com'
  test.beforeAll(async ({ server, client, owner }) => {
    await newAffiliate(server, { email, name: 'Anna @ Home' })
    await report(server, { customerEmail: email })
    const { id } = (await client.affiliates.list({ limit: 1 })).data[0]!
    await expectOk(owner('POST', '/connections', { kind: 'customerEmail', value: email, affiliateId: id }))
  })

  test.for([email, ' Anna shoes@example.com', 'Anna%2Bshoes@example.com', '+anna+shoes@example.com+'])(
    '%s finds the customer',
    async (text, { server, owner }) => {
      const journey = await server.request('GET', `/api/v1/journey?customerEmail=${text.replaceAll(' ', '%20')}`)
      expect([journey.status, journey.body.total]).toEqual([200, 1])
      const path = `/connections?kind=customerEmail&value=${text.replaceAll(' ', '%20')}`
      expect((await owner('GET', path)).body.pagination.total).toBe(1)
    },
  )

  test.for([email, 'na+shoes@exam', 'Anna @ Home', 'anna+@+home'])(
    '?q=%s finds the affiliate',
    async (text, { server }) => {
      const found = await server.request('GET', `/api/v1/affiliates?q=${text}`)
      expect(found.body.data.map((one: { email: string }) => one.email)).toEqual([email])
    },
  )
})

describe('a search for an affiliate', () => {
  const NAMES = [
    'Zoë Müller-Łukaszewicz',
    'Šárka Dvořáková',
    'Wojciech Żółć',
    'Séamus O’Brien',
    'Ñandú Ærø',
    'Νίκος',
    'ИЛЬЯ Королёв',
  ]
  test.beforeAll(async ({ server }) => {
    for (const [n, name] of NAMES.entries()) await newAffiliate(server, { email: `q${n}@fold.example`, name })
    // A vowel of this script is a mark.
    await newAffiliate(server, { email: 'q8@fold.example', name: 'कि' })
  })

  test.for([
    ['muller', 0],
    ['MÜLLER\u2011lukas', 0],
    ['Mu\u0308ller', 0],
    ['dvorakova', 1],
    ['zolc', 2],
    ["o'brien", 3],
    ['o’brien', 3],
    ['seamus', 3],
    ['nandu aero', 4],
    ['νικοσ', 5],
    ['королев', 6],
  ] as const)('a search for %s finds %i affiliates', async ([q, n], { client }) => {
    const { data } = await client.affiliates.list({ q })
    expect(data.flatMap(({ name, email }) => (email.endsWith('@fold.example') ? [name] : []))).toEqual([NAMES[n]])
  })

  test.for(['कु', 'mueller', '\u0301'])('a search for %s finds none of them', async (q, { client }) => {
    expect((await client.affiliates.list({ q })).data).toEqual([])
  })
})

describe('one order', () => {
  test.for([
    ['caf\u00e9-1', 'cafe\u0301-1'],
    ['zero-2', 'ze\u200bro-2'],
    ['bidi-3', '\u202ebidi-3\u202c'],
    ['soft-4', 'so\u00adft-4\ufeff'],
    ['join-e\u0301-5', 'join-e\u034f\u0301-5'],
    ['space-6', '\u2060 space-6 \u2060'],
  ])('%j and %j earn once, and each is shown as it was sent', async ([first, second], { server, client, owner }) => {
    const one = await convert(server, { externalOrderId: first, amountCents: 10_000, couponCode: 'NISA' })
    const two = await convert(server, { externalOrderId: second, amountCents: 10_000, couponCode: 'NISA' })
    expect([one.headers.get('X-Order-Already-Recorded'), two.headers.get('X-Order-Already-Recorded')]).toEqual([
      null,
      'true',
    ])
    expect(two.body.commission.id).toBe(one.body.commission.id)
    for (const externalOrderId of [first, second, `api:${first}`, `api:${second}`]) {
      const { data } = await client.commissions.list({ externalOrderId })
      expect(data.map((row) => [row.id, row.externalOrderId])).toEqual([[one.body.commission.id, first]])
      const explained = await owner('GET', `/orders/${encodeURIComponent(externalOrderId)}/explanation`)
      expect([explained.status, explained.body.data?.externalOrderId]).toEqual([200, first])
    }
    const dry = await server.request('POST', '/api/v1/events?dryRun=1', {
      body: { externalOrderId: second, amountCents: 1 },
    })
    expect(dry.headers.get('X-Order-Already-Recorded')).toBe('true')
  })

  test.for([
    ['①', '1'],
    ['Ａ9', 'A9'],
    ['x-a', 'x-A'],
  ])('%j and %j are two orders', async ([first, second], { server }) => {
    await convert(server, { externalOrderId: first, amountCents: 10_000, couponCode: 'NISA' })
    const two = await convert(server, { externalOrderId: second, amountCents: 10_000, couponCode: 'NISA' })
    expect(two.headers.get('X-Order-Already-Recorded')).toBeNull()
  })

  test('400 for an id without visible characters', async ({ server }) => {
    const reply = await convert(server, { externalOrderId: '\u200b \u2060', amountCents: 1 })
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: 'externalOrderId' })
  })
})

describe('one code', () => {
  test.for([
    ['ＳＵＭ１', 'sum1'],
    ['ﬁne', 'FINE'],
    ['SU\u3164M2', 'sum2'],
    ['❤\ufe0f', '❤'],
    ['e\u0301te\u0301', 'ÉTÉ'],
    ['Ⅷ', 'viii'],
  ])('the codes %j and %j are one code', async ([first, second], { server, client }) => {
    const [{ id }, other] = [await newAffiliate(server, { campaignId }), await newAffiliate(server, { campaignId })]
    expect((await client.coupons.assign({ affiliateId: id, code: first })).code).toBe(first)
    expect(await rejection(client.coupons.assign({ affiliateId: other.id, code: second }))).toEqual([
      409,
      'discount_code_taken',
    ])
    for (const couponCode of [first, second, `${second}\u200b`]) {
      const { body } = await report(server, { couponCode })
      expect([couponCode, body.attribution.affiliateId]).toEqual([couponCode, id])
    }
    expect((await client.coupons.list({ code: second })).data.map((one) => one.code)).toEqual([first])
  })

  test.for([
    'A０',
    'ｏA',
    'Ｏ',
    'Aº',
    '№1',
    'A⁰',
    'A\u200bB',
    'A\u200dB',
    'A\u202eB',
    'A\u2066B',
    'A\u200fB',
    'A\u00adB',
    'A\u061cB',
    '\u3164',
    '\ufe0f',
    'A\u{e0041}',
  ])('400 for the code %j', async (code, { server, client }) => {
    const { id } = await newAffiliate(server)
    expect(await rejection(client.coupons.assign({ affiliateId: id, code }))).toEqual([400, 'discount_code_invalid'])
  })

  test('its length is measured as sent', async ({ server, client }) => {
    const { id } = await newAffiliate(server)
    expect((await client.coupons.assign({ affiliateId: id, code: 'ﷺﷺﷺﷺﷺﷺﷺﷺﷺ' })).code).toBe('ﷺﷺﷺﷺﷺﷺﷺﷺﷺ')
    expect(await rejection(client.coupons.assign({ affiliateId: id, code: 'e\u0301'.repeat(5) }))).toEqual([
      400,
      'discount_code_invalid',
    ])
  })

  test.for(['СУММЕР', 'חנוכה', 'क्षमा', 'رمضان', '春节', 'ฤดูร้อน', '🎁🎁', 'ÄÖÜ', '٠'])(
    '200 for %j',
    async (code, { server, client }) => {
      const { id } = await newAffiliate(server)
      expect(await client.coupons.assign({ affiliateId: id, code })).toMatchObject({ code, warnings: [] })
    },
  )
})

describe('an ambiguous code', () => {
  test('200 with a warning when it is the slug of another affiliate; the code wins, and the explanation mentions the other affiliate', async ({
    server,
    client,
    owner,
  }) => {
    const slugged = await newAffiliate(server, { name: 'Vera', campaignId })
    const coded = await newAffiliate(server, { campaignId })
    const { warnings } = await client.coupons.assign({ affiliateId: coded.id, code: 'ＶERA' })
    expect(warnings).toEqual([
      {
        code: 'slug_of_another_affiliate',
        message: expect.stringContaining(slugged.id),
        affiliateId: slugged.id,
      },
    ])
    const listed = (await client.coupons.list({ affiliateId: coded.id })).data[0]
    expect(listed?.warnings).toEqual(warnings)
    expect((await client.coupons.list({ affiliateId: slugged.id })).data[0]?.warnings).toEqual([])
    const { body } = await report(server, { couponCode: 'vera', ref: 'vera' })
    expect(body.attribution).toMatchObject({ affiliateId: coded.id, reasonCode: 'COUPON_MATCH' })
    const explained = await expectOk(owner('GET', `/orders/i-${counter}/explanation`))
    const [coupon, link] = explained.evidence.map((kind: { candidates: object[] }) => kind.candidates[0])
    expect(coupon).toMatchObject({ affiliateId: coded.id, slugAffiliateId: slugged.id })
    expect(coupon.because).toContain(slugged.id)
    expect(link).toMatchObject({ affiliateId: slugged.id, slugAffiliateId: null })
  })

  test('no warning for its own slug', async ({ server, client, owner }) => {
    const { id, slug } = await newAffiliate(server, { name: 'Mika', campaignId })
    expect((await client.coupons.assign({ affiliateId: id, code: slug })).warnings).toEqual([])
    await report(server, { couponCode: slug })
    const explained = await expectOk(owner('GET', `/orders/i-${counter}/explanation`))
    expect(explained.evidence[0].candidates[0].slugAffiliateId).toBeNull()
  })

  test('200 with a warning when it mixes Latin letters with Cyrillic or Greek ones', async ({ server, client }) => {
    const { id } = await newAffiliate(server)
    for (const code of ['SUMM\u0415R', '\u0391BC'])
      expect((await client.coupons.assign({ affiliateId: id, code })).warnings).toEqual([
        {
          code: 'mixed_scripts',
          message: expect.stringContaining('Cyrillic'),
          affiliateId: null,
        },
      ])
  })
})

describe('an empty string is treated as omitted', () => {
  test('orderId replaces an empty externalOrderId, and vice versa', async ({ server, client }) => {
    for (const [body, expected] of [
      [{ externalOrderId: '', orderId: 'alias-1' }, 'alias-1'],
      [{ externalOrderId: 'alias-2', orderId: '' }, 'alias-2'],
      [{ externalOrderId: ' ', orderId: 'alias-3' }, 'alias-3'],
    ] as const) {
      expect((await convert(server, { ...body, amountCents: 1, couponCode: 'NISA' })).status).toBe(201)
      expect((await client.commissions.list({ externalOrderId: expected })).pagination.total).toBe(1)
    }
    const neither = await convert(server, { externalOrderId: '', orderId: '', amountCents: 1 })
    expect(rejectionOf(neither)).toEqual({ status: 400, code: 'invalid_body', field: 'externalOrderId' })
  })

  test('processedAt replaces an empty occurredAt; both empty means now', async ({ server, client }) => {
    const at = '2026-10-01T00:00:00.000Z'
    const timed = { amountCents: 1, couponCode: 'NISA', occurredAt: '' }
    await expectOk(convert(server, { ...timed, externalOrderId: 'timed-1', processedAt: at }))
    await expectOk(convert(server, { ...timed, externalOrderId: 'timed-2', processedAt: '' }))
    const happened = async (id: string) =>
      (await client.commissions.list({ externalOrderId: id })).data.map((row) => row.happenedAt)
    expect(await happened('timed-1')).toEqual([at])
    expect(await happened('timed-2')).toEqual([new Date(server.clock.ms).toISOString()])
    for (const touch of [
      { type: 'click', ref: 'nobody' },
      { type: 'page_view', url: 'https://shop.example' },
    ])
      expect((await server.request('POST', '/api/v1/events', { body: { ...touch, occurredAt: '' } })).status).toBe(202)
  })

  test('other evidence counts where one field is empty', async ({ server, client }) => {
    const { slug } = (await client.affiliates.list({ q: 'nisa', limit: 100 })).data.at(-1)!
    const reason = async (evidence: object) => (await report(server, evidence)).body.attribution.reasonCode
    expect(await reason({ couponCode: '', affiliateCode: 'NISA' })).toBe('AFFILIATE_CODE_MATCH')
    expect(await reason({ couponCode: '', affiliateCode: '', clickId: '', ref: slug })).toBe('REF_MATCH')
    const click = { type: 'click', ref: '', affiliateCode: '', affiliateId: '', clickId: '' }
    const touch = (body: object) => server.request('POST', '/api/v1/events', { body })
    expect((await touch(click)).status).toBe(400)
    const { body } = await touch({ ...click, affiliateCode: 'NISA' })
    expect(await reason({ clickId: '', noteAttributes: [{ name: 'referral_click_id', value: body.id }] })).toBe(
      'CLICK_MATCH',
    )
  })

  test('hookUrl and target_url replace an empty url', async ({ server }) => {
    const hook = 'https://9.9.9.9/empty'
    const subscribe = (body: object) => server.request('POST', '/api/v1/webhooks', { body })
    expect((await subscribe({ url: '', hookUrl: '', target_url: hook })).body.data.url).toBe(hook)
    expect((await subscribe({ url: '', hookUrl: hook })).body.data.url).toBe(hook)
    const rejected = rejectionOf(await subscribe({ url: '', hookUrl: '', target_url: '' }))
    expect(rejected).toEqual({ status: 400, code: 'invalid_body', field: 'url' })
  })
})
