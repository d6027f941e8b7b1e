import { group } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'
import { click, won } from './evidence.ts'

const DAY_MS = 86_400_000

const entriesOf = async (t: Context, sessionId: string): Promise<Json[]> =>
  t.expect(await t.get('/journey', { sessionId }), 200).journey

export const clicks = group('clicks', { title: 'Click ids', page: 'concepts/attribution.md#click-window' }, (rule) => {
  rule('as-sent', 'The journey shows what a click was reported with', async (t) => {
    const { id: affiliateId, campaignId: programId, slug: ref } = await t.sharedAffiliate()
    const sent = {
      ref,
      sessionId: t.id('s'),
      url: `https://shop.example/hats?ref=${ref}`,
      landingPage: 'https://shop.example/hats',
      referrerUrl: 'https://social.example/',
      utmSource: 'instagram',
      utmMedium: 'social',
      utmCampaign: 'autumn',
      utmTerm: 'hats',
      utmContent: 'story',
      country: 'DE',
      device: 'mobile',
      customerEmail: `Buyer-${t.email()}`,
      customerId: t.id('c'),
    }
    const id = await click(t, sent)
    const [entry] = await entriesOf(t, sent.sessionId)
    t.fields(entry, { ...sent, id, type: 'click', affiliateId, programId, clickId: id }, 'entry')
  })
  rule('affiliate', '`ref`, affiliateCode, affiliateId and clickId name the affiliate, in this order', async (t) => {
    const [a, b, gone, own] = [await t.affiliate(), await t.affiliate(), await t.affiliate(), t.id('click')]
    const clickId = await click(t, { ref: a.slug, clickId: own })
    t.expect(await t.delete(`/affiliates?id=${gone.id}`), 200)
    const unknown = t.id('unknown')
    for (const [names, id] of [
      [{ ref: ` ${a.slug.toUpperCase()} ` }, a.id],
      [{ ref: a.id }, a.id],
      [{ affiliateId: a.id }, a.id],
      [{ affiliateCode: a.discountCode.toLowerCase() }, a.id],
      [{ affiliateCode: a.slug }, a.id],
      [{ clickId }, a.id],
      [{ clickId: own }, a.id],
      [{ ref: b.slug, affiliateCode: a.discountCode, affiliateId: a.id, clickId }, b.id],
      [{ affiliateCode: b.discountCode, affiliateId: a.id, clickId }, b.id],
      [{ affiliateId: b.id, clickId }, b.id],
      [{ ref: unknown, affiliateCode: unknown, affiliateId: b.id }, b.id],
      [{ type: 'page_view', url: 'https://shop.example/', affiliateCode: b.discountCode }, b.id],
      [{ ref: gone.slug }, gone.id],
      [{ affiliateId: a.slug }, null],
      [{ ref: unknown, affiliateCode: unknown, affiliateId: unknown, clickId: unknown }, null],
    ]) {
      const sessionId = t.id('s')
      await click(t, { ...names, sessionId })
      t.equal((await entriesOf(t, sessionId))[0]?.affiliateId, id, `affiliateId of ${JSON.stringify(names)}`)
    }
  })
  rule('belongs-to-first', 'A click id belongs to the affiliate it first named, and others get a new id', async (t) => {
    const [a, b, clickId, sessionId, day] = [
      await t.affiliate(),
      await t.affiliate(),
      t.id('click'),
      t.id('s'),
      t.day(),
    ]
    const first = await click(t, { ref: a.slug, clickId, occurredAt: after(day, 2 * DAY_MS) })
    const others: Json[] = [{ ref: b.slug }, { affiliateCode: b.discountCode }, { affiliateId: b.id }, { ref: b.id }]
    const given = [...others.map((one) => ({ ...one, clickId })), { ref: b.slug, clickId: first }]
    const ids = []
    for (const [n, one] of given.entries())
      ids.push(await click(t, { ...one, sessionId, occurredAt: after(day, (n + 1) * DAY_MS) }))
    const query = { sessionId, from: day, to: after(day, 9 * DAY_MS) }
    const entries: Json[] = t.expect(await t.get('/journey', query), 200).journey
    t.equal(
      entries.map((entry) => [entry.affiliateId, entry.clickId]),
      ids.map((id) => [b.id, id]),
      'the other clicks',
    )
    const occurredAt = after(day, 9 * DAY_MS)
    for (const [id, owner] of [[clickId, a], [first, a], ...ids.map((id) => [id, b])])
      t.equal((await won(t, { clickId: id, occurredAt })).affiliateId, owner.id, `the affiliate of ${id}`)
  })
  rule('same-affiliate', 'Clicks on the same affiliate, and on nobody, keep the id of the first', async (t) => {
    const [{ id, slug: ref }, clickId, sessionId] = [await t.sharedAffiliate(), t.id('click'), t.id('s')]
    for (const names of [{ ref }, { ref }, {}, { ref: t.id('unknown') }])
      await click(t, { ...names, clickId, sessionId })
    const found = (await entriesOf(t, sessionId)).map((entry) => [entry.affiliateId, entry.clickId])
    t.equal(found, Array(4).fill([id, clickId]), 'the clicks')
  })
  rule('unknown-claims-nothing', 'A click on nobody claims no id: the next affiliate gets it', async (t) => {
    const [a, b, clickId, day] = [await t.affiliate(), await t.affiliate(), t.id('click'), t.day()]
    for (const [n, ref] of [t.id('unknown'), a.slug, b.slug].entries())
      await click(t, { ref, clickId, occurredAt: after(day, (9 - n) * DAY_MS) })
    const { affiliateId } = await won(t, { clickId, occurredAt: after(day, 10 * DAY_MS) })
    t.equal(affiliateId, a.id, 'affiliateId')
  })
})
