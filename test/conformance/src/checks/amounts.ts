import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'

interface Vector {
  rule: string
  program: Json
  order: Json
  amountCents: number
  page?: string
  restriction?: string
}

const percent = (commissionPercent: number) => ({ commissionPercent })
const perOrder = (commissionPercent: number) => ({ commissionType: 'FLAT_PER_ORDER', commissionPercent })
const perItem = (commissionPercent: number) => ({ commissionType: 'FLAT_PER_ITEM', commissionPercent })
const base = 'concepts/commissions.md#base'

const VECTORS: Record<string, Vector> = {
  'less-discount': {
    rule: '16% of 100.00 less 10.00 is 14.40',
    program: percent(16),
    order: { amountCents: 10_000, discountCents: 1000 },
    amountCents: 1440,
    page: base,
  },
  'no-shipping-and-tax': {
    rule: 'Shipping and tax earn nothing',
    program: percent(10),
    order: { amountCents: 1000, shippingCents: 900, taxCents: 800 },
    amountCents: 100,
    page: base,
  },
  'rounds-55': { rule: '16.5% of 3.33 is 0.55', program: percent(16.5), order: { amountCents: 333 }, amountCents: 55 },
  'rounds-half-up': { rule: '1% of 0.50 is 0.01', program: percent(1), order: { amountCents: 50 }, amountCents: 1 },
  'rounds-down': {
    rule: '1% of 0.49 is 0.00, and the order is eligible',
    program: percent(1),
    order: { amountCents: 49 },
    amountCents: 0,
  },
  'rounds-in-integers': {
    rule: '1.15% of 100.00 is 1.15: no binary fraction is involved',
    program: percent(1.15),
    order: { amountCents: 10_000 },
    amountCents: 115,
  },
  'rounds-decimal-half': {
    rule: '0.35% of 110.00 is 0.385, rounded to 0.39',
    program: percent(0.35),
    order: { amountCents: 11_000 },
    amountCents: 39,
  },
  'once-per-order': {
    rule: 'A percentage is rounded once per order, not per line',
    program: percent(10),
    order: { lineItems: [{ priceCents: 5 }, { priceCents: 5 }, { priceCents: 5 }] },
    amountCents: 2,
  },
  'largest-order': {
    rule: '100% of 21474836.47 is exact',
    program: percent(100),
    order: { amountCents: 2_147_483_647 },
    amountCents: 2_147_483_647,
  },
  'large-percentage': {
    rule: '33.33% of 21474836.47 is exact',
    program: percent(33.33),
    order: { amountCents: 2_147_483_647 },
    amountCents: 715_756_300,
  },
  'zero-base': {
    rule: 'With nothing left after the discount, a percentage is restricted as ZERO_BASE',
    program: percent(16),
    order: { amountCents: 1000, discountCents: 1500 },
    amountCents: 0,
    page: 'concepts/commissions.md#restrictions',
    restriction: 'ZERO_BASE',
  },
  'flat-per-order': {
    rule: 'FLAT_PER_ORDER pays its amount once',
    program: perOrder(5),
    order: { lineItems: [{ quantity: 3, priceCents: 1000 }] },
    amountCents: 500,
  },
  'flat-is-not-capped': {
    rule: 'A flat amount is not capped at the base',
    program: perOrder(5),
    order: { amountCents: 100 },
    amountCents: 500,
  },
  'flat-of-free-order': {
    rule: 'A flat amount is paid for an order without a base',
    program: perOrder(5),
    order: { amountCents: 1000, discountCents: 1000 },
    amountCents: 500,
    page: 'concepts/commissions.md#restrictions',
  },
  'flat-per-item': {
    rule: 'FLAT_PER_ITEM pays 2.50 for each of 3 items: 7.50',
    program: perItem(2.5),
    order: { lineItems: [{ quantity: 2, priceCents: 1000 }, { priceCents: 1000 }] },
    amountCents: 750,
  },
  'largest-flat': {
    rule: '21474836.47 for each of 999,999 items is exact',
    program: perItem(21_474_836.47),
    order: { amountCents: 1, lineItems: [{ quantity: 999_999 }] },
    amountCents: 2_147_483_647 * 999_999,
  },
  'too-small': {
    rule: 'A base too small for a cent is no restriction',
    program: percent(16),
    order: { amountCents: 1000, discountCents: 999 },
    amountCents: 0,
  },
  'flat-per-item-without-lines': {
    rule: 'FLAT_PER_ITEM pays once without line items',
    program: perItem(2.5),
    order: { amountCents: 1000 },
    amountCents: 250,
  },
}

const affiliateOf = (t: Context, program: Json) => t.affiliateOf(program)

export const amounts = group('amounts', { title: 'Amounts', page: 'concepts/commissions.md#rate' }, (rule) => {
  for (const [name, { rule: sentence, program, order, amountCents, page, restriction }] of Object.entries(VECTORS))
    rule(
      name,
      sentence,
      async (t) => {
        const { discountCode } = await affiliateOf(t, program)
        const { commission } = await t.decide({ ...order, couponCode: discountCode })
        t.fields(
          commission,
          { amountCents, eligible: restriction === undefined, restrictionReasonCode: restriction ?? null },
          'commission',
        )
      },
      page ? { page } : {},
    )
  rule(
    'restricted-row',
    'A restricted order is recorded as REJECTED with amount 0',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const externalOrderId = t.id('o')
      await t.order({ externalOrderId, amountCents: 1000, discountCents: 1000, couponCode: discountCode })
      t.fields(
        await t.commissionOf(externalOrderId),
        { orderStatus: 'REJECTED', commissionAmountCents: 0, restrictionReasonCode: 'ZERO_BASE' },
        'commission',
      )
    },
    { page: 'concepts/commissions.md#restrictions' },
  )
  rule(
    'rate-is-kept',
    'A commission keeps the rate it was recorded with',
    async (t) => {
      const [program, externalOrderId] = [await t.program(), t.id('o')]
      const { discountCode } = await t.affiliate({ campaignId: program.id })
      await t.order({ externalOrderId, amountCents: 10_000, couponCode: discountCode })
      t.expect(await t.patch(`/programs?id=${program.id}`, { commissionPercent: 50 }), 200)
      t.fields(
        await t.commissionOf(externalOrderId),
        { commissionRateBps: 1600, commissionAmountCents: 1600 },
        'commission',
      )
      t.equal(
        (await t.decide({ amountCents: 10_000, couponCode: discountCode })).commission.amountCents,
        5000,
        'the amount of a later order',
      )
    },
    { page: 'concepts/commissions.md#status' },
  )
  rule('flat-rate-bps', 'commissionRateBps of a flat type is 0', async (t) => {
    const { discountCode } = await t.affiliateOf(perOrder(5))
    const externalOrderId = t.id('o')
    await t.order({ externalOrderId, amountCents: 1000, couponCode: discountCode })
    t.fields(
      await t.commissionOf(externalOrderId),
      { commissionType: 'FLAT_PER_ORDER', commissionRateBps: 0, commissionAmountCents: 500 },
      'commission',
    )
  })
  rule(
    'pending',
    'Without autoApproveOrder a commission is PENDING',
    async (t) => {
      const { discountCode } = await t.affiliateOf({ autoApproveOrder: false })
      t.equal((await t.decide({ amountCents: 1000, couponCode: discountCode })).commission.status, 'PENDING', 'status')
    },
    { page: 'concepts/commissions.md#status' },
  )
  rule('any-program-status', 'The status of a program does not matter for what its affiliates earn', async (t) => {
    for (const status of ['DRAFT', 'PRIVATE', 'PUBLISH']) {
      const { discountCode } = await t.affiliateOf({ status })
      t.equal(
        (await t.decide({ amountCents: 1000, couponCode: discountCode })).commission.amountCents,
        160,
        `amountCents with ${status}`,
      )
    }
  })
})
