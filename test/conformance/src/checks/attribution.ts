import { type Define, group } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'

const EVIDENCE = 'concepts/attribution.md#evidence'
const WINDOW = 'concepts/attribution.md#click-window'
const RESTRICTIONS = 'concepts/commissions.md#restrictions'
const DAY_MS = 86_400_000

const goods = { amountCents: 1000 }

/** Reports a click and returns its id. */
async function click(t: Context, body: Json): Promise<string> {
  return t.expect(await t.post('/events', { type: 'click', ...body }), 202).id
}
const won = async (t: Context, order: Json): Promise<Json> => (await t.decide({ ...goods, ...order })).attribution

export const attribution = group(
  'attribution',
  { title: 'Attribution', page: 'concepts/attribution.md#ranking' },
  (rule) => {
    evidence(rule)
    ranking(rule)
    windows(rule)
    restrictions(rule)
    lifetime(rule)
  },
)

function evidence(rule: Define): void {
  const page = EVIDENCE
  rule(
    'code-ignores-case',
    'A code ignores case and leading and trailing whitespace',
    async (t) => {
      const { id, discountCode } = await t.sharedAffiliate()
      t.equal((await won(t, { couponCode: ` ${discountCode.toLowerCase()} ` })).affiliateId, id, 'affiliateId')
    },
    { page },
  )
  rule(
    'affiliate-code',
    '`affiliateCode` is evidence like couponCode',
    async (t) => {
      const { id, discountCode } = await t.sharedAffiliate()
      t.fields(
        await won(t, { affiliateCode: discountCode }),
        { affiliateId: id, method: 'COUPON', confidence: 1, reasonCode: 'AFFILIATE_CODE_MATCH' },
        'attribution',
      )
    },
    { page },
  )
  rule(
    'slug-as-code',
    'The slug of an affiliate is accepted as a code',
    async (t) => {
      const { id, slug } = await t.sharedAffiliate()
      t.fields(await won(t, { couponCode: slug }), { affiliateId: id, method: 'COUPON' }, 'attribution')
    },
    { page },
  )
  rule(
    'ref-slug',
    '`ref` with a slug is DIRECT_LINK with confidence 0.8',
    async (t) => {
      const { id, slug } = await t.sharedAffiliate()
      t.equal(
        await won(t, { ref: slug }),
        { affiliateId: id, method: 'DIRECT_LINK', confidence: 0.8, reasonCode: 'REF_MATCH' },
        'attribution',
      )
    },
    { page },
  )
  rule(
    'ref-id',
    '`ref` with the id of an affiliate is evidence, too',
    async (t) => {
      const { id } = await t.sharedAffiliate()
      t.fields(await won(t, { ref: id }), { affiliateId: id, reasonCode: 'REF_MATCH' }, 'attribution')
    },
    { page },
  )
  rule(
    'click-id',
    'The id of a click is DIRECT_LINK with confidence 0.95',
    async (t) => {
      const { id, slug } = await t.sharedAffiliate()
      const clickId = await click(t, { ref: slug })
      t.equal(
        await won(t, { clickId }),
        { affiliateId: id, method: 'DIRECT_LINK', confidence: 0.95, reasonCode: 'CLICK_MATCH' },
        'attribution',
      )
    },
    { page },
  )
  rule(
    'own-click-id',
    'A click can have an id of the caller',
    async (t) => {
      const { id, slug } = await t.sharedAffiliate()
      const clickId = t.id('click')
      await click(t, { ref: slug, clickId })
      t.equal((await won(t, { clickId })).affiliateId, id, 'affiliateId')
    },
    { page },
  )
  rule(
    'note-attribute',
    'The note attribute `referral_click_id` is a click id',
    async (t) => {
      const { id, slug } = await t.sharedAffiliate()
      const value = await click(t, { ref: slug })
      t.equal((await won(t, { noteAttributes: [{ name: 'referral_click_id', value }] })).affiliateId, id, 'affiliateId')
    },
    { page },
  )
  rule(
    'session',
    'A click of the session is evidence',
    async (t) => {
      const { id, slug } = await t.sharedAffiliate()
      const sessionId = t.id('session')
      await click(t, { ref: slug, sessionId })
      t.fields(await won(t, { sessionId }), { affiliateId: id, reasonCode: 'CLICK_MATCH' }, 'attribution')
    },
    { page },
  )
  rule('no-match', 'An unknown code returns NO_MATCH', async (t) => {
    t.equal(
      await won(t, { couponCode: t.code() }),
      { affiliateId: null, method: null, confidence: 0, reasonCode: 'NO_MATCH' },
      'attribution',
    )
  })
  rule('click-not-found', 'An unknown click returns CLICK_NOT_FOUND', async (t) => {
    t.equal((await won(t, { clickId: t.id('unknown') })).reasonCode, 'CLICK_NOT_FOUND', 'reasonCode')
  })
  rule(
    'click-belongs-to-first',
    'A click id belongs to the affiliate it was first reported with',
    async (t) => {
      const [a, b, clickId] = [await t.affiliate(), await t.affiliate(), t.id('click')]
      await click(t, { ref: a.slug, clickId })
      const other = await click(t, { ref: b.slug, clickId })
      t.equal((await won(t, { clickId })).affiliateId, a.id, 'the affiliate of the click id')
      t.equal((await won(t, { clickId: other })).affiliateId, b.id, 'the affiliate of the id in the second response')
    },
    { page: WINDOW },
  )
}

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
  rule('click-over-ref', 'A click wins over a ref', async (t) => {
    const [a, b] = [await t.affiliate(), await t.affiliate()]
    const clickId = await click(t, { ref: a.slug })
    t.equal((await won(t, { clickId, ref: b.slug })).affiliateId, a.id, 'affiliateId')
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
    const { id, slug } = await t.sharedAffiliate()
    t.equal((await won(t, { couponCode: '', clickId: ' ', ref: slug })).affiliateId, id, 'affiliateId')
  })
}

function windows(rule: Define): void {
  const page = WINDOW
  const clickedBefore = async (t: Context, ms: number, program: Json = {}) => {
    const [affiliate, day] = [await t.affiliateOf(program), t.day()]
    const clickId = await click(t, { ref: affiliate.slug, occurredAt: day })
    return { affiliate, decision: await won(t, { clickId, occurredAt: after(day, ms) }) }
  }
  rule(
    'last-millisecond',
    'A click counts up to and including the last millisecond of 30 days',
    async (t) => {
      const { affiliate, decision } = await clickedBefore(t, 30 * DAY_MS)
      t.fields(decision, { affiliateId: affiliate.id, reasonCode: 'CLICK_MATCH' }, 'attribution')
    },
    { page },
  )
  rule(
    'one-millisecond-late',
    'A millisecond later it is CLICK_EXPIRED',
    async (t) => {
      const { decision } = await clickedBefore(t, 30 * DAY_MS + 1)
      t.equal(decision, { affiliateId: null, method: null, confidence: 0, reasonCode: 'CLICK_EXPIRED' }, 'attribution')
    },
    { page },
  )
  rule(
    'window-of-the-program',
    'The window is the cookieDurationDays of the program',
    async (t) => {
      t.equal(
        (await clickedBefore(t, DAY_MS + 1, { cookieDurationDays: 1 })).decision.reasonCode,
        'CLICK_EXPIRED',
        'reasonCode after a day',
      )
      t.equal(
        (await clickedBefore(t, 90 * DAY_MS, { cookieDurationDays: 90 })).decision.reasonCode,
        'CLICK_MATCH',
        'reasonCode after 90 days',
      )
    },
    { page },
  )
  rule(
    'click-after-order',
    'A click counts up to 5 minutes after the order',
    async (t) => {
      t.equal((await clickedBefore(t, -300_000)).decision.reasonCode, 'CLICK_MATCH', 'reasonCode at 5 minutes')
      t.equal(
        (await clickedBefore(t, -300_001)).decision.reasonCode,
        'CLICK_AFTER_ORDER',
        'reasonCode a millisecond later',
      )
    },
    { page },
  )
  rule(
    'no-window',
    'With 0 days neither clicks nor ref count',
    async (t) => {
      const { affiliate, decision } = await clickedBefore(t, 1000, { cookieDurationDays: 0 })
      t.equal(decision.affiliateId, null, 'affiliateId of a click')
      t.equal((await won(t, { ref: affiliate.slug })).affiliateId, null, 'affiliateId of a ref')
      t.equal((await won(t, { couponCode: affiliate.discountCode })).affiliateId, affiliate.id, 'affiliateId of a code')
    },
    { page },
  )
  rule(
    'expired-falls-through',
    'An expired click falls through to an earlier click of the session with a longer window',
    async (t) => {
      const [long, short, sessionId, day] = [
        await t.affiliateOf({ cookieDurationDays: 90 }),
        await t.affiliateOf({ cookieDurationDays: 1 }),
        t.id('session'),
        t.day(),
      ]
      await click(t, { ref: long.slug, sessionId, occurredAt: day })
      await click(t, { ref: short.slug, sessionId, occurredAt: after(day, 1000) })
      t.equal((await won(t, { sessionId, occurredAt: after(day, 10 * DAY_MS) })).affiliateId, long.id, 'affiliateId')
    },
    { page: 'concepts/attribution.md#ranking' },
  )
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
  const page = RESTRICTIONS
  for (const [status, code] of [
    ['PENDING', 'AFFILIATE_NOT_APPROVED'],
    ['REJECTED', 'AFFILIATE_REJECTED'],
  ] as const)
    rule(
      `affiliate-${status.toLowerCase()}`,
      `An affiliate that is ${status} earns nothing: ${code}`,
      async (t) => {
        await restricted(t, { couponCode: (await t.affiliate({ status })).discountCode }, code)
      },
      { page },
    )
  rule(
    'affiliate-active',
    'An affiliate that is ACTIVE earns',
    async (t) => {
      const { discountCode } = await t.affiliate({ status: 'ACTIVE' })
      t.equal((await t.decide({ ...goods, couponCode: discountCode })).commission.eligible, true, 'eligible')
    },
    { page },
  )
  rule(
    'affiliate-archived',
    'An archived affiliate earns nothing: AFFILIATE_ARCHIVED',
    async (t) => {
      const { id, discountCode } = await t.affiliate()
      t.expect(await t.delete(`/affiliates?id=${id}`), 200)
      await restricted(t, { couponCode: discountCode }, 'AFFILIATE_ARCHIVED')
    },
    { page },
  )
  rule(
    'program-missing',
    'An affiliate without a program earns nothing: PROGRAM_MISSING',
    async (t) => {
      await restricted(t, { couponCode: (await t.affiliate({ campaignId: null })).discountCode }, 'PROGRAM_MISSING')
    },
    { page },
  )
  for (const [name, variant] of [
    ['same', (email: string) => email],
    ['upper-case', (email: string) => email.toUpperCase()],
    ['plus-tag', (email: string) => email.replace('@', '+shop@')],
  ] as const)
    rule(
      `self-referral-${name}`,
      `A buyer with the affiliate's own email address earns them nothing (${name.replace('-', ' ')}): SELF_REFERRAL`,
      async (t) => {
        const { email, discountCode } = await t.affiliate()
        await restricted(t, { couponCode: discountCode, customerEmail: variant(email) }, 'SELF_REFERRAL')
      },
      { page },
    )
  rule(
    'restriction-does-not-fall-through',
    'A restriction of the winner does not fall through to other evidence',
    async (t) => {
      const [a, b] = [await t.affiliate(), await t.affiliate()]
      const clickId = await click(t, { ref: b.slug })
      await restricted(t, { couponCode: a.discountCode, customerEmail: a.email, clickId }, 'SELF_REFERRAL')
    },
    { page: 'concepts/attribution.md#ranking' },
  )
}

function lifetime(rule: Define): void {
  const page = 'concepts/customers.md'
  const connected = async (t: Context, customer: Json, program: Json = { lifetimeCommission: true }) => {
    const affiliate = await t.affiliateOf(program)
    await t.order({ ...goods, ...customer, couponCode: affiliate.discountCode })
    return affiliate
  }
  rule(
    'customer-id',
    'In a program with lifetimeCommission, later orders of a customer id are credited with confidence 0.9',
    async (t) => {
      const customerId = t.id('customer')
      const { id } = await connected(t, { customerId })
      t.equal(
        await won(t, { customerId }),
        { affiliateId: id, method: 'CONNECTED_CUSTOMER', confidence: 0.9, reasonCode: 'CONNECTED_CUSTOMER_ID_MATCH' },
        'attribution',
      )
    },
    { page },
  )
  rule(
    'customer-email',
    'Later orders of an email address are credited with confidence 0.85, in any case',
    async (t) => {
      const customerEmail = t.email('customer')
      const { id } = await connected(t, { customerEmail })
      t.equal(
        await won(t, { customerEmail: customerEmail.toUpperCase() }),
        {
          affiliateId: id,
          method: 'CONNECTED_CUSTOMER',
          confidence: 0.85,
          reasonCode: 'CONNECTED_CUSTOMER_EMAIL_MATCH',
        },
        'attribution',
      )
    },
    { page },
  )
  rule(
    'no-lifetime',
    'Without lifetimeCommission customers are not connected',
    async (t) => {
      const customerId = t.id('customer')
      await connected(t, { customerId }, {})
      t.equal((await won(t, { customerId })).affiliateId, null, 'affiliateId')
    },
    { page },
  )
  rule(
    'restricted-connects-nobody',
    'A restricted order connects nobody',
    async (t) => {
      const [customerId, affiliate] = [
        t.id('customer'),
        await t.affiliateOf({ lifetimeCommission: true }, { status: 'PENDING' }),
      ]
      await t.order({ ...goods, customerId, couponCode: affiliate.discountCode })
      t.equal((await won(t, { customerId })).affiliateId, null, 'affiliateId')
    },
    { page },
  )
  rule('link-over-customer', 'A click wins over a connected customer', async (t) => {
    const [customerId, other] = [t.id('customer'), await t.sharedAffiliate()]
    await connected(t, { customerId })
    const clickId = await click(t, { ref: other.slug })
    t.equal((await won(t, { customerId, clickId })).affiliateId, other.id, 'affiliateId')
  })
}
