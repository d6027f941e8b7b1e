import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'

type Kind = 'CODE' | 'LINK'

const send = (t: Context, { id }: Json, kind: Kind, value: string) =>
  t.post('/affiliates/aliases', { affiliateId: id, kind, value })
const add = async (t: Context, affiliate: Json, kind: Kind, value: string): Promise<Json> =>
  t.expect(await send(t, affiliate, kind, value), 200).data
const won = async (t: Context, evidence: Json): Promise<Json> =>
  (await t.decide({ amountCents: 1000, ...evidence })).attribution

export const aliases = group('aliases', { title: 'Aliases', page: 'reference/conformance.md#aliases' }, (rule) => {
  rule('credited', 'An order with an alias is credited as one with the official name', async (t) => {
    const [affiliate, other] = [await t.affiliate(), await t.sharedAffiliate()]
    const { slug, discountCode } = affiliate
    // A discount code cannot have 10 characters or a 0.
    const [code, link] = [`0${t.code()}0`, t.id('Link')]
    await add(t, affiliate, 'CODE', code)
    await add(t, affiliate, 'LINK', link)
    for (const [alias, official] of [
      [{ couponCode: code }, { couponCode: discountCode }],
      [
        { couponCode: ` ${code.toLowerCase()} `, ref: other.slug },
        { couponCode: discountCode, ref: other.slug },
      ],
      [{ affiliateCode: code }, { affiliateCode: discountCode }],
      [{ ref: link.toUpperCase() }, { ref: slug }],
      [
        { ref: link, couponCode: other.discountCode },
        { ref: slug, couponCode: other.discountCode },
      ],
      // A slug is also accepted as a code, and a code never as a link name.
      [{ couponCode: link }, { couponCode: slug }],
      [{ ref: code }, { ref: discountCode }],
    ])
      t.equal(await won(t, alias), await won(t, official), `attribution of ${JSON.stringify(alias)}`)
    const { id: clickId } = t.expect(await t.post('/events', { type: 'click', ref: link }), 202)
    t.fields(await won(t, { clickId }), { affiliateId: affiliate.id, reasonCode: 'CLICK_MATCH' }, 'attribution')
  })
  rule('explained', 'The trace and the explanation of an order name the alias', async (t) => {
    const [affiliate, externalOrderId, value] = [await t.affiliate(), t.id('o'), `0${t.code()}0`]
    await add(t, affiliate, 'CODE', value)
    const couponCode = value.toLowerCase()
    const { trace } = await t.decide({ amountCents: 1000, couponCode })
    await t.order({ externalOrderId, amountCents: 1000, couponCode })
    const { data } = t.expect(await t.get('/orders/explanation', { externalOrderId }), 200)
    for (const candidates of [trace.candidates, data.evidence.flatMap((kind: Json) => kind.candidates)])
      t.fields(candidates[0], { value: couponCode, alias: value, won: true }, 'candidates[0]')
  })
  rule('taken', 'A name of another affiliate returns 409, in any case and of any kind', async (t) => {
    const [holder, other] = [await t.affiliate(), await t.affiliate()]
    const value = t.code()
    await add(t, holder, 'CODE', value)
    for (const kind of ['CODE', 'LINK'] as const)
      for (const name of [holder.discountCode, holder.slug, value, value.toLowerCase()])
        t.expect(await send(t, other, kind, name), 409, 'alias_taken')
    t.expect(await t.post('/coupons', { affiliateId: other.id, code: value }), 409, 'discount_code_taken')
    t.expect(await t.post('/coupons', { affiliateId: holder.id, code: value }), 200)
  })
  rule('of-archived', 'An alias of an archived affiliate stays taken, and its orders earn nothing', async (t) => {
    const [gone, other, value] = [await t.affiliate(), await t.sharedAffiliate(), t.code()]
    await add(t, gone, 'CODE', value)
    t.expect(await t.delete(`/affiliates?id=${gone.id}`), 200)
    const { attribution, commission } = await t.decide({ amountCents: 1000, couponCode: value, ref: other.slug })
    t.equal(
      [attribution.affiliateId, commission.restrictionReasonCode],
      [gone.id, 'AFFILIATE_ARCHIVED'],
      'affiliateId and restrictionReasonCode',
    )
    t.expect(await send(t, other, 'CODE', value), 409, 'alias_taken')
  })
  rule('unchanged', 'An alias that the affiliate has is returned unchanged; each kind is one of its own', async (t) => {
    const [affiliate, value] = [await t.affiliate(), t.id('Both')]
    const code = await add(t, affiliate, 'CODE', value)
    t.equal(await add(t, affiliate, 'CODE', value.toUpperCase()), code, 'data')
    const link = await add(t, affiliate, 'LINK', value)
    for (const query of [{ value: value.toLowerCase() }, { affiliateId: affiliate.id }])
      t.equal(t.expect(await t.get('/affiliates/aliases', query), 200).data, [link, code], 'the list')
  })
  rule('deleted', 'A deleted alias credits nobody, and another affiliate can have it', async (t) => {
    const [affiliate, other, ref] = [await t.affiliate(), await t.affiliate(), t.id('moved')]
    const path = `/affiliates/aliases?id=${(await add(t, affiliate, 'LINK', ref)).id}`
    t.equal(t.expect(await t.delete(path), 200).ok, true, 'ok')
    t.expect(await t.delete(path), 404, 'alias_not_found')
    t.equal((await won(t, { ref })).affiliateId, null, 'affiliateId')
    await add(t, other, 'LINK', ref)
    t.equal((await won(t, { ref })).affiliateId, other.id, 'affiliateId')
  })
  rule('after-id', 'The id of an affiliate is found before an alias that equals it', async (t) => {
    const [{ id: ref }, other] = [await t.affiliate(), await t.affiliate()]
    await add(t, other, 'LINK', ref)
    t.equal((await won(t, { ref })).affiliateId, ref, 'affiliateId')
  })
  rule('never-generated', 'The slug of a new affiliate is never an alias', async (t) => {
    const name = `Zoe ${t.code()}`
    const { slug } = await t.affiliate({ name })
    await add(t, await t.sharedAffiliate(), 'CODE', `${slug}-2`)
    t.ok((await t.affiliate({ name })).slug !== `${slug}-2`, 'the slug is an alias')
  })
  rule(
    'invalid',
    'An alias with whitespace or an invisible character returns 400 alias_invalid',
    async (t) => {
      for (const value of ['SARAH 10', ' ', 'SARAH\u200b10'])
        t.expect(await send(t, await t.sharedAffiliate(), 'CODE', value), 400, 'alias_invalid')
    },
    { page: 'reference/errors.md#alias_invalid' },
  )
})
