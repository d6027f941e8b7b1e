import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { convert, newAffiliate, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

const RUNS = process.env.TEST_ENGINE === 'postgres' ? 20 : 50

let campaignId: string
test.beforeAll(async ({ server }) => {
  campaignId = (await withAffiliate(server, { code: 'NISA' })).program.id
})

let counter = 0
/** Digits of base 34 with neither 0 nor o. */
const unique = () => (++counter).toString(34).replaceAll('0', 'y').replaceAll('o', 'z').toUpperCase()

const INVISIBLE = ['\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u00ad', '\u034f', '\u3164', '\ufe0f']
const DIRECTION = ['\u200e', '\u200f', '\u061c', '\u202a', '\u202e', '\u202c', '\u2066', '\u2069']
const LETTERS = ['a', 'é', 'ü', 'Å', 'ñ', 'ß', 'ж', 'й', 'ά', 'ש', 'ي', 'क', 'が', '한', 'ệ', '-', '1']
const letters = fc.array(fc.constantFrom(...LETTERS), { minLength: 1, maxLength: 5 }).map((all) => all.join(''))

/** Another spelling of the same text: decomposed, or with invisible characters anywhere. */
const hidden = (text: string) =>
  fc
    .record({
      form: fc.constantFrom('NFC', 'NFD'),
      marks: fc.array(fc.tuple(fc.nat({ max: 40 }), fc.constantFrom(...INVISIBLE, ...DIRECTION)), { maxLength: 4 }),
    })
    .map(({ form, marks }) => {
      const units = [...text.normalize(form)]
      for (const [at, mark] of marks) units.splice(at % (units.length + 1), 0, mark)
      return units.join('')
    })

/** Printable ASCII as the fullwidth letters of East Asian keyboards. */
const fullwidth = (text: string) =>
  text.replace(/[!-~]/g, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0))
const widened = (text: string) => fc.constantFrom(text, fullwidth(text))
const cased = (text: string) => fc.constantFrom(text, text.toLowerCase(), text.toUpperCase())

const twice = (spell: (text: string) => fc.Arbitrary<string>) =>
  letters.chain((text) => fc.tuple(spell(text), spell(text)))

describe('spellings that normalize alike', () => {
  test('are one order, shown as it was sent first', async ({ server, client }) => {
    await fc.assert(
      fc.asyncProperty(twice(hidden), async ([one, two]) => {
        const end = `#${unique()}`
        const [first, second] = [one + end, two + end]
        const order = { amountCents: 10_000, couponCode: 'NISA' }
        const made = await convert(server, { ...order, externalOrderId: first })
        const again = await convert(server, { ...order, externalOrderId: second })
        expect([made.status, again.headers.get('X-Order-Already-Recorded')]).toEqual([201, 'true'])
        const { data } = await client.commissions.list({ externalOrderId: second })
        expect(data.map(({ id, externalOrderId }) => [id, externalOrderId])).toEqual([
          [again.body.commission.id, first.trim()],
        ])
      }),
      { numRuns: RUNS },
    )
  })

  test('are one code, shown as it was sent', async ({ server, client }) => {
    const [one, two] = [await newAffiliate(server, { campaignId }), await newAffiliate(server, { campaignId })]
    const visible = (text: string) => fc.constantFrom(text, text.normalize('NFD')).chain(widened).chain(cased)
    const anyhow = (text: string) => hidden(text).chain(widened).chain(cased)
    const spelled = letters.chain((text) => {
      const code = `${[...text].slice(0, 2).join('')}${unique()}`
      return fc.tuple(visible(code), visible(code), anyhow(code))
    })
    await fc.assert(
      fc.asyncProperty(spelled, async ([code, other, couponCode]) => {
        expect((await client.coupons.assign({ affiliateId: one.id, code })).code).toBe(code)
        const body = { affiliateId: two.id, code: other }
        const taken = await server.request('POST', '/api/v1/coupons', { body })
        expect(taken.headers.get('X-Error-Code')).toBe('discount_code_taken')
        const order = { externalOrderId: unique(), amountCents: 100, couponCode }
        expect((await convert(server, order)).body.attribution.affiliateId).toBe(one.id)
        expect((await client.coupons.list({ code: couponCode })).data.map((coupon) => coupon.code)).toEqual([code])
      }),
      { numRuns: RUNS },
    )
  })

  test('are one address, of affiliates and of customers', async ({ server, client }) => {
    const label = letters.filter((text) => !/[-1ß]/.test(text))
    const address = fc.tuple(
      label,
      fc.constantFrom('example.com', 'bücher.example', 'xn--bcher-kva.example', 'почта.рф'),
    )
    const domains: Record<string, string[]> = {
      'example.com': ['example.com', 'EXAMPLE.com.', 'ｅｘａｍｐｌｅ。com'],
      'почта.рф': ['почта.рф', 'ПОЧТА.РФ', 'xn--80a1acny.xn--p1ai'],
    }
    const german = ['bücher.example', 'bu\u0308cher.EXAMPLE.', 'XN--BCHER-KVA.example']
    await fc.assert(
      fc.asyncProperty(address, fc.nat({ max: 2 }), fc.nat({ max: 2 }), async ([text, domain], from, to) => {
        const local = `${text}.${unique()}`
        const spellings = domains[domain] ?? german
        const written = `${local.normalize('NFD').toUpperCase()}@${spellings[to]}`
        const email = `${local}@${spellings[from]!.replace(/\.$/, '').replace('。', '.')}`
        const code = `A${unique()}`
        await newAffiliate(server, { email, code, campaignId })
        const { body } = await convert(server, {
          externalOrderId: unique(),
          amountCents: 100,
          couponCode: code,
          customerEmail: `Buyer <${written}>`,
        })
        expect(body.commission.restrictionReasonCode).toBe('SELF_REFERRAL')
        await convert(server, { externalOrderId: unique(), amountCents: 100, customerEmail: written })
        expect((await client.journey.get({ customerEmail: email })).total).toBe(1)
        const twin = { email: written.replace(/\.$/, '').replace('。', '.'), name: 'Twin' }
        const taken = await server.request('POST', '/api/v1/affiliates', { body: twin })
        expect(taken.headers.get('X-Error-Code')).toBe('email_taken')
      }),
      { numRuns: RUNS },
    )
  })
})

test('similar characters of another script make another code, another order and another person', async ({
  server,
  client,
}) => {
  const CYRILLIC: Record<string, string> = { A: 'А', B: 'В', C: 'С', E: 'Е', H: 'Н', K: 'К', M: 'М', P: 'Р', T: 'Т' }
  const likes = fc.array(fc.constantFrom(...Object.keys(CYRILLIC)), { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(likes, fc.nat({ max: 3 }), async (all, at) => {
      const index = at % all.length
      const [text, like] = [all.join(''), all.with(index, CYRILLIC[all[index]!]!).join('')]
      const end = unique()
      const [real, other] = [await newAffiliate(server, { campaignId, email: `${text}${end}@example.com` }), like + end]
      await client.coupons.assign({ affiliateId: real.id, code: text + end })
      const fake = await newAffiliate(server, { campaignId, email: `${other}@example.com` })
      expect((await client.coupons.assign({ affiliateId: fake.id, code: other })).code).toBe(other)
      for (const [externalOrderId, affiliateId] of [
        [text + end, real.id],
        [other, fake.id],
      ] as const) {
        const order = { externalOrderId, amountCents: 100, couponCode: externalOrderId }
        const buyer = externalOrderId === other ? real.email : fake.email
        const { body } = await convert(server, { ...order, customerEmail: buyer })
        expect(body.commission).toMatchObject({ affiliateId, eligible: true })
      }
    }),
    { numRuns: RUNS / 2 },
  )
})
