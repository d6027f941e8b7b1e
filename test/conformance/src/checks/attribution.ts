import { type Define, group, onPage } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'
import { click, evidence, goods, nobody, won } from './evidence.ts'
import { lifetime } from './lifetime.ts'

const DAY_MS = 86_400_000

export const attribution = group(
  'attribution',
  { title: 'Attribution', page: 'concepts/attribution.md#ranking' },
  (rule) => {
    evidence(onPage(rule, 'concepts/attribution.md#evidence'))
    ranking(rule)
    windows(onPage(rule, 'concepts/attribution.md#click-window'))
    restrictions(onPage(rule, 'concepts/commissions.md#restrictions'))
    lifetime(onPage(rule, 'concepts/customers.md'))
  },
)

function ranking(rule: Define): void {
  rule('coupon-over-link', 'A coupon wins over a click', async (t) => {
    const [a, b] = [await t.affiliate(), await t.affiliate()]
    const clickId = await click(t, { ref: b.slug })
    t.fields(
      await won(t, { couponCode: a.discountCode, clickId }),
      { affiliateId: a.id, reasonCode: 'COUPON_MATCH' },
      'attribution',
    )
  })
  rule('click-over-ref', 'A click wins over a ref, and a ref over the clicks of the session', async (t) => {
    const [a, b, sessionId] = [await t.affiliate(), await t.affiliate(), t.id('s')]
    const clickId = await click(t, { ref: a.slug, sessionId })
    const unknown = t.id('unknown')
    for (const [given, affiliateId, reasonCode] of [
      [{ clickId, ref: b.slug, sessionId }, a.id, 'CLICK_MATCH'],
      [{ clickId: unknown, ref: b.slug, sessionId }, b.id, 'REF_MATCH'],
      [{ ref: unknown, sessionId }, a.id, 'CLICK_MATCH'],
    ])
      t.fields(await won(t, given), { affiliateId, reasonCode }, 'attribution')
  })
  rule('unknown-code-falls-through', 'A code that names nobody falls through to the click', async (t) => {
    const { id, slug } = await t.sharedAffiliate()
    const clickId = await click(t, { ref: slug })
    t.fields(
      await won(t, { couponCode: t.code(), clickId }),
      { affiliateId: id, reasonCode: 'CLICK_MATCH' },
      'attribution',
    )
  })
  rule('last-click', 'Of several clicks of a session the last one counts', async (t) => {
    const [a, b, sessionId, day] = [await t.affiliate(), await t.affiliate(), t.id('session'), t.day()]
    await click(t, { ref: b.slug, sessionId, occurredAt: after(day, 2000) })
    await click(t, { ref: a.slug, sessionId, occurredAt: after(day, 1000) })
    t.equal((await won(t, { sessionId, occurredAt: after(day, 3000) })).affiliateId, b.id, 'affiliateId')
  })
  rule('empty-text', 'Empty text in a field of evidence counts as not sent', async (t) => {
    const { id, slug, discountCode } = await t.sharedAffiliate()
    t.equal((await won(t, { couponCode: '', clickId: ' ', ref: slug })).affiliateId, id, 'affiliateId')
    t.equal((await won(t, { couponCode: '', affiliateCode: discountCode })).affiliateId, id, 'affiliateId')
    t.equal(await won(t, { couponCode: ' ', ref: '', clickId: '\t' }), nobody('NO_EVIDENCE'), 'attribution')
  })
  rule('expired-falls-through', 'A click that does not count falls through to a ref or an earlier click', async (t) => {
    const [long, short, sessionId, day] = [
      await t.affiliateOf({ cookieDurationDays: 90 }),
      await t.affiliateOf({ cookieDurationDays: 1 }),
      t.id('session'),
      t.day(),
    ]
    await click(t, { ref: long.slug, sessionId, occurredAt: day })
    const clickId = await click(t, { ref: short.slug, sessionId, occurredAt: after(day, 1000) })
    await click(t, { ref: t.id('unknown'), sessionId, occurredAt: after(day, 2000) })
    await click(t, { ref: short.slug, sessionId, occurredAt: after(day, 20 * DAY_MS) })
    const occurredAt = after(day, 10 * DAY_MS)
    t.equal((await won(t, { sessionId, occurredAt })).affiliateId, long.id, 'affiliateId of the session')
    t.fields(
      await won(t, { clickId, ref: long.slug, occurredAt }),
      { affiliateId: long.id, reasonCode: 'REF_MATCH' },
      'attribution by a click and a ref',
    )
    const before = await won(t, { sessionId, occurredAt: after(day, -10 * DAY_MS) })
    t.equal(before, nobody('CLICK_AFTER_ORDER'), 'attribution before the clicks')
  })
}

function windows(rule: Define): void {
  const clickedBefore = async (t: Context, ms: number, program: Json = {}) => {
    const [affiliate, day] = [await t.affiliateOf(program), t.day()]
    const clickId = await click(t, { ref: affiliate.slug, occurredAt: day })
    return { affiliate, decision: await won(t, { clickId, occurredAt: after(day, ms) }) }
  }
  rule('last-millisecond', 'A click counts up to and including the last millisecond of 30 days', async (t) => {
    const { affiliate, decision } = await clickedBefore(t, 30 * DAY_MS)
    t.fields(decision, { affiliateId: affiliate.id, reasonCode: 'CLICK_MATCH' }, 'attribution')
  })
  rule('one-millisecond-late', 'A millisecond later it is CLICK_EXPIRED', async (t) => {
    t.equal((await clickedBefore(t, 30 * DAY_MS + 1)).decision, nobody('CLICK_EXPIRED'), 'attribution')
  })
  rule('window-of-the-program', 'The window is the cookieDurationDays of the program', async (t) => {
    for (const [days, ms, reasonCode] of [
      [1, DAY_MS + 1, 'CLICK_EXPIRED'],
      [90, 90 * DAY_MS, 'CLICK_MATCH'],
    ] as const) {
      const { decision } = await clickedBefore(t, ms, { cookieDurationDays: days })
      t.equal(decision.reasonCode, reasonCode, `reasonCode after ${days} days`)
    }
  })
  rule('click-after-order', 'A click counts up to 5 minutes after the order', async (t) => {
    t.equal((await clickedBefore(t, -300_000)).decision.reasonCode, 'CLICK_MATCH', 'reasonCode at 5 minutes')
    t.equal((await clickedBefore(t, -300_001)).decision, nobody('CLICK_AFTER_ORDER'), 'attribution a millisecond later')
  })
  rule('clicked-again', 'A click counts when its id was clicked again after the order', async (t) => {
    const [{ id, slug: ref }, clickId, day] = [await t.sharedAffiliate(), t.id('click'), t.day()]
    for (const days of [0, 8]) await click(t, { ref, clickId, occurredAt: after(day, days * DAY_MS) })
    t.equal((await won(t, { clickId, occurredAt: after(day, DAY_MS) })).affiliateId, id, 'affiliateId')
  })
  rule('no-window', 'With 0 days neither clicks nor ref count', async (t) => {
    const { affiliate, decision } = await clickedBefore(t, 1000, { cookieDurationDays: 0 })
    t.equal(decision, nobody('CLICK_EXPIRED'), 'attribution by a click')
    t.equal(await won(t, { ref: affiliate.slug }), nobody('NO_MATCH'), 'attribution by a ref')
    t.equal((await won(t, { couponCode: affiliate.discountCode })).affiliateId, affiliate.id, 'affiliateId of a code')
  })
}

const restricted = async (t: Context, order: Json, code: string): Promise<void> => {
  const { attribution: found, commission } = await t.decide({ ...goods, ...order })
  t.fields(
    commission,
    { eligible: false, amountCents: 0, status: 'REJECTED', restrictionReasonCode: code },
    'commission',
  )
  t.ok(found.affiliateId, 'a restricted order names the affiliate')
}

function restrictions(rule: Define): void {
  for (const [status, code] of [
    ['PENDING', 'AFFILIATE_NOT_APPROVED'],
    ['REJECTED', 'AFFILIATE_REJECTED'],
  ] as const)
    rule(`affiliate-${status.toLowerCase()}`, `An affiliate that is ${status} earns nothing: ${code}`, async (t) => {
      await restricted(t, { couponCode: (await t.affiliate({ status })).discountCode }, code)
    })
  rule('affiliate-active', 'An affiliate that is ACTIVE earns', async (t) => {
    const { discountCode } = await t.affiliate({ status: 'ACTIVE' })
    t.equal((await t.decide({ ...goods, couponCode: discountCode })).commission.eligible, true, 'eligible')
  })
  rule('affiliate-archived', 'An archived affiliate earns nothing, before all other reasons', async (t) => {
    const { id, slug, discountCode } = await t.affiliate({ campaignId: null, status: 'REJECTED' })
    const clickId = await click(t, { ref: slug })
    t.expect(await t.delete(`/affiliates?id=${id}`), 200)
    for (const given of [{ couponCode: discountCode }, { clickId }, { ref: slug }])
      await restricted(t, given, 'AFFILIATE_ARCHIVED')
  })
  rule('program-missing', 'An affiliate without a program earns nothing: PROGRAM_MISSING', async (t) => {
    await restricted(t, { couponCode: (await t.affiliate({ campaignId: null })).discountCode }, 'PROGRAM_MISSING')
  })
  rule('self-referral', "A buyer with the affiliate's own email address earns them nothing", async (t) => {
    const { email, discountCode: couponCode } = await t.affiliate()
    const buyers = [email, ` ${email.toUpperCase()} `, email.replace('@', '+shop@'), `x@y.example, ${email}`]
    for (const customerEmail of buyers) await restricted(t, { couponCode, customerEmail }, 'SELF_REFERRAL')
  })
  rule('restriction-does-not-fall-through', 'A restriction of the winner ends the search for evidence', async (t) => {
    const [a, b] = [await t.affiliate(), await t.affiliate()]
    const clickId = await click(t, { ref: b.slug })
    await restricted(t, { couponCode: a.discountCode, customerEmail: a.email, clickId }, 'SELF_REFERRAL')
  })
}
