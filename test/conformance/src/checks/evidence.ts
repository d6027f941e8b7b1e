import { randomInt } from 'node:crypto'
import type { Define } from '../check.ts'
import type { Context, Json } from '../context.ts'

export const goods = { amountCents: 1000 }

/** Reports a click and returns its id. */
export async function click(t: Context, body: Json): Promise<string> {
  return t.expect(await t.post('/events', { type: 'click', ...body }), 202).id
}
export const won = async (t: Context, order: Json): Promise<Json> =>
  (await t.decide({ ...goods, ...order })).attribution

const credited = (affiliateId: string, method: string, confidence: number, reasonCode: string) => ({
  affiliateId,
  method,
  confidence,
  reasonCode,
})
export const nobody = (reasonCode: string) => ({ affiliateId: null, method: null, confidence: 0, reasonCode })

const noteAttributes = (...values: unknown[]) => ({
  noteAttributes: values.map((value) => ({ name: 'referral_click_id', value })),
})

/** What credits an affiliate. */
export function evidence(rule: Define): void {
  const expectWon = async (t: Context, given: Json, expected: Json) =>
    t.equal(await won(t, given), expected, `attribution by ${JSON.stringify(given)}`)

  rule('code', 'A code ignores case and leading and trailing whitespace, and may be the slug', async (t) => {
    const { id, discountCode, slug } = await t.sharedAffiliate()
    for (const couponCode of [discountCode, ` ${discountCode.toLowerCase()} `, slug, slug.toUpperCase()])
      await expectWon(t, { couponCode }, credited(id, 'COUPON', 1, 'COUPON_MATCH'))
    await expectWon(t, { couponCode: id }, nobody('NO_MATCH'))
  })
  rule('code-before-slug', 'A code that is the slug of another affiliate wins, with a warning', async (t) => {
    const slugged = await t.affiliate({ name: t.code() })
    const { id } = await t.affiliate()
    const assigned = t.expect(await t.post('/coupons', { affiliateId: id, code: slugged.slug }), 200).data
    t.equal(assigned.warnings.length, 1, 'the number of warnings')
    t.fields(assigned.warnings[0], { code: 'slug_of_another_affiliate', affiliateId: slugged.id }, 'warning')
    const externalOrderId = t.id('o')
    const { attribution } = await t.order({ ...goods, externalOrderId, couponCode: slugged.slug, ref: slugged.slug })
    t.fields(attribution, { affiliateId: id, reasonCode: 'COUPON_MATCH' }, 'attribution')
    const { data } = t.expect(await t.get('/orders/explanation', { externalOrderId }), 200)
    t.equal(data.evidence[0].candidates[0].slugAffiliateId, slugged.id, 'slugAffiliateId of the explanation')
  })
  rule('affiliate-code', '`affiliateCode` is evidence after couponCode', async (t) => {
    const [{ id, discountCode }, other] = [await t.sharedAffiliate(), await t.affiliate()]
    const found = credited(id, 'COUPON', 1, 'AFFILIATE_CODE_MATCH')
    await expectWon(t, { affiliateCode: discountCode.toLowerCase() }, found)
    await expectWon(t, { affiliateCode: discountCode, couponCode: t.code() }, found)
    const both = { affiliateCode: discountCode, couponCode: other.discountCode }
    await expectWon(t, both, credited(other.id, 'COUPON', 1, 'COUPON_MATCH'))
  })
  rule('ref', '`ref` with a slug or the id of an affiliate is DIRECT_LINK with confidence 0.8', async (t) => {
    const { id, slug, discountCode } = await t.sharedAffiliate()
    for (const ref of [slug, ` ${slug.toUpperCase()} `, id])
      await expectWon(t, { ref }, credited(id, 'DIRECT_LINK', 0.8, 'REF_MATCH'))
    await expectWon(t, { ref: discountCode }, nobody('NO_MATCH'))
  })
  rule('click-id', 'The id of a click is DIRECT_LINK with confidence 0.95', async (t) => {
    const { id, slug } = await t.sharedAffiliate()
    const clickId = await click(t, { ref: slug })
    await expectWon(t, { clickId }, credited(id, 'DIRECT_LINK', 0.95, 'CLICK_MATCH'))
    await expectWon(t, { clickId: await click(t, { ref: t.id('unknown') }) }, nobody('NO_MATCH'))
  })
  rule('own-click-id', 'A click can have an id of the caller, besides the one of its response', async (t) => {
    const [{ id, slug }, own] = [await t.sharedAffiliate(), t.id('click')]
    const generated = await click(t, { ref: slug, clickId: own })
    t.ok(generated !== own, 'the response must have a generated id')
    for (const clickId of [own, generated]) t.equal((await won(t, { clickId })).affiliateId, id, 'affiliateId')
    await expectWon(t, { clickId: own.toUpperCase() }, nobody('CLICK_NOT_FOUND'))
  })
  rule('note-attribute', 'The note attribute `referral_click_id` is a click id, after clickId', async (t) => {
    const [{ id, slug }, other] = [await t.sharedAffiliate(), await t.affiliate()]
    const [clickId, number] = [await click(t, { ref: slug }), randomInt(2 ** 47)]
    const own = t.id('c')
    const longest = own + '🎩'.repeat(255 - own.length)
    for (const one of [longest, String(number)]) await click(t, { ref: slug, clickId: one })
    const gift = [{ name: 'gift', value: true }, ...noteAttributes(clickId).noteAttributes]
    for (const given of [
      noteAttributes(clickId),
      noteAttributes('', clickId),
      { noteAttributes: gift },
      noteAttributes(longest),
      noteAttributes(number),
    ])
      await expectWon(t, given, credited(id, 'DIRECT_LINK', 0.95, 'CLICK_MATCH'))
    const both = { clickId: await click(t, { ref: other.slug }), ...noteAttributes(clickId) }
    t.equal((await won(t, both)).affiliateId, other.id, 'affiliateId')
    await expectWon(t, noteAttributes('x'.repeat(100_000)), nobody('CLICK_NOT_FOUND'))
  })
  rule('session', 'A click of the session is evidence, and a page view is none', async (t) => {
    const { id, slug } = await t.sharedAffiliate()
    const [sessionId, viewed, unknown] = [t.id('s'), t.id('s'), t.id('s')]
    await click(t, { ref: slug, sessionId })
    await click(t, { ref: t.id('unknown'), sessionId: unknown })
    const view = { type: 'page_view', url: 'https://shop.example/', ref: slug, sessionId: viewed }
    const { id: clickId } = t.expect(await t.post('/events', view), 202)
    await expectWon(t, { sessionId }, credited(id, 'DIRECT_LINK', 0.95, 'CLICK_MATCH'))
    for (const one of [viewed, unknown]) await expectWon(t, { sessionId: one }, nobody('NO_MATCH'))
    await expectWon(t, { clickId }, nobody('CLICK_NOT_FOUND'))
  })
  rule('no-match', 'An unknown code returns NO_MATCH, and an unknown click CLICK_NOT_FOUND', async (t) => {
    await expectWon(t, { couponCode: t.code() }, nobody('NO_MATCH'))
    await expectWon(t, { clickId: t.id('unknown') }, nobody('CLICK_NOT_FOUND'))
  })
}
