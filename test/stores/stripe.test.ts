import fc from 'fast-check'
import Stripe from 'stripe'
import { describe, expect } from 'vitest'
import { rejectionOf } from '../support/rejection.ts'
import type { Reply, TestServer } from '../support/server.ts'
import { expectOk, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { SHAPES, type StripeEvent, subscriptionYear } from './stripe-year.ts'

const SECRET = 'whsec_0123456789abcdef0123456789abcdef'
const stripe = new Stripe('sk_test_unused')
const now = (server: TestServer) => Math.floor(server.deps.now() / 1000)

interface Sending {
  secret?: string
  at?: number
  signature?: string
  shopId?: string
}

function send(
  server: TestServer,
  event: object,
  { secret = SECRET, at = now(server), signature, shopId }: Sending = {},
) {
  const payload = JSON.stringify(event)
  const header = signature ?? stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: at })
  return server.request('POST', `/integrations/stripe/${shopId ?? server.shop.shopId}`, {
    key: null,
    raw: payload,
    headers: { 'Stripe-Signature': header },
  })
}

const eventOf = (type: string, object: object, more: object = {}): StripeEvent => ({
  id: 'evt_1',
  type,
  created: 1_760_000_000,
  livemode: true,
  data: { object: object as StripeEvent['data']['object'] },
  ...more,
})

const commissionOf = async (server: TestServer, id: string) =>
  (await expectOk(server.request('GET', `/api/v1/commissions?externalOrderId=${id}`)))[0]

const messageOf = async (pending: Promise<Reply>) => (await expectOk(pending)).message

test.beforeAll(async ({ server, owner }) => {
  await withAffiliate(server)
  await expectOk(owner('PATCH', '/settings', { stripeWebhookSecret: SECRET }))
})

describe.for(SHAPES)('a year in API version %s', (shape) => {
  test('pays the same commissions in any order, doubled and with gaps', async ({ server }) => {
    const shuffled = fc.integer({ min: 0, max: 2 ** 30 })
    let runs = 0
    await fc.assert(
      fc.asyncProperty(shuffled, async (seed) => {
        const { events, expected } = subscriptionYear(
          `${shape.slice(0, 4)}x${runs++}`,
          shape,
          now(server) - 300 * 86_400,
        )
        const sent = shuffle([...events, ...events.filter((_, index) => index % 3 === 0)], seed)
        for (const event of sent) await expectOk(send(server, event))
        for (const [id, cents] of expected) {
          const commission = await commissionOf(server, id)
          expect([id, commission?.commissionAmountCents]).toEqual([id, cents])
        }
      }),
      { numRuns: 12 },
    )
  })
})

function shuffle<T>(list: T[], seed: number): T[] {
  let state = seed
  const keyed = list.map((item) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return [state, item] as const
  })
  return keyed.sort(([a], [b]) => a - b).map(([, item]) => item)
}

const INVOICE = {
  id: 'in_1',
  currency: 'usd',
  customer: 'cus_1',
  total: 10_000,
  metadata: { referral_code: 'NISA16' },
  lines: { has_more: false, data: [{ amount: 10_000, quantity: 1 }] },
}

describe('signature', () => {
  test.for<[string, (server: TestServer) => Sending]>([
    ['of another secret', () => ({ secret: 'whsec_ffffffffffffffffffffffffffffffff' })],
    ['301 seconds old', (server) => ({ at: now(server) - 301 })],
    ['from the future', (server) => ({ at: now(server) + 301 })],
    ['without a time', () => ({ signature: `v1=${'0'.repeat(64)}` })],
    ['of version 0', (server) => ({ signature: `t=${now(server)},v0=${'0'.repeat(64)}` })],
    ['that is empty', () => ({ signature: '' })],
    ['of a shop that does not exist', () => ({ shopId: 'shp_none' })],
  ])('400 %s, and nothing is stored', async ([, sending], { server }) => {
    const event = eventOf('invoice.paid', { ...INVOICE, id: 'in_forged' })
    expect(rejectionOf(await send(server, event, sending(server)))).toMatchObject({
      status: 400,
      code: 'stripe_signature_invalid',
    })
    expect(await commissionOf(server, 'in_forged')).toBeUndefined()
  })

  test('either secret counts during a rotation', async ({ server, owner }) => {
    const second = 'whsec_fedcba9876543210fedcba9876543210'
    await expectOk(owner('PATCH', '/settings', { stripeWebhookSecret: `${SECRET} ${second}` }))
    for (const secret of [SECRET, second]) await expectOk(send(server, eventOf('ping', { id: 'x' }), { secret }))
    expect(await expectOk(owner('GET', '/settings'))).toMatchObject({ hasStripeWebhookSecret: true })
  })
})

describe('a checkout', () => {
  const session = {
    id: 'cs_1',
    mode: 'payment',
    payment_status: 'paid',
    payment_intent: 'pi_checkout',
    currency: 'usd',
    amount_total: 11_265,
    total_details: { amount_tax: 765, amount_shipping: 500 },
    shipping_cost: { amount_total: 500, amount_tax: 0 },
    metadata: { referral_code: 'NISA16' },
  }

  test('with a payment is an order without tax and shipping, which its refund reduces by its share', async ({
    server,
  }) => {
    await expectOk(send(server, eventOf('checkout.session.completed', session)))
    const { commissionBaseCents, commissionAmountCents } = await commissionOf(server, 'pi_checkout')
    expect([commissionBaseCents, commissionAmountCents]).toEqual([10_000, 1600])
    const refund = { id: 're_1', amount: 11_265, currency: 'usd', payment_intent: 'pi_checkout', status: 'succeeded' }
    await expectOk(send(server, eventOf('refund.created', refund)))
    expect(await commissionOf(server, 'pi_checkout')).toMatchObject({ orderStatus: 'REFUNDED' })
  })

  test('that is not paid yet counts when its payment succeeds', async ({ server }) => {
    const later = { ...session, payment_intent: 'pi_later' }
    const unpaid = eventOf('checkout.session.completed', { ...later, payment_status: 'unpaid' })
    expect(await messageOf(send(server, unpaid))).toBe('Ignored.')
    await expectOk(send(server, eventOf('checkout.session.async_payment_succeeded', later)))
    expect(await commissionOf(server, 'pi_later')).toMatchObject({ commissionAmountCents: 1600 })
  })

  test.for(['before', 'after'])(
    '%s its invoice names the affiliate, and is no order of its own',
    async (when, { server }) => {
      const invoice = { ...INVOICE, id: `in_${when}`, customer: `cus_${when}`, metadata: {} }
      const started = { ...session, mode: 'subscription', invoice: invoice.id, payment_intent: `pi_${when}` }
      const events = [eventOf('checkout.session.completed', started), eventOf('invoice.paid', invoice)]
      for (const event of when === 'before' ? events : events.reverse()) await expectOk(send(server, event))
      expect(await commissionOf(server, invoice.id)).toMatchObject({ commissionAmountCents: 1600 })
      expect(await commissionOf(server, `pi_${when}`)).toBeUndefined()
    },
  )
})

test('the checkout of a subscription binds its customer: the first invoice after a trial is credited', async ({
  server,
  client,
}) => {
  const session = {
    id: 'cs_trial',
    mode: 'subscription',
    payment_status: 'no_payment_required',
    customer: 'cus_trial',
    customer_details: { email: 'trial@example.com' },
    invoice: 'in_trial_0',
    metadata: { referral_code: 'NISA16' },
  }
  await expectOk(send(server, eventOf('checkout.session.completed', session)))
  expect((await client.customers.list({ customerId: 'cus_trial' })).data).toMatchObject([{ boundBy: 'SIGNUP' }])
  const paid = { ...INVOICE, id: 'in_trial_1', customer: 'cus_trial', metadata: {} }
  await expectOk(send(server, eventOf('invoice.paid', paid, { created: 1_762_000_000 })))
  expect(await commissionOf(server, 'in_trial_1')).toMatchObject({ commissionAmountCents: 1600 })
})

describe('a credit note', () => {
  test.for([
    [{ refunds: [{ refund: 're_9', amount_refunded: 5000 }] }, 1600],
    [{ refunds: [{ refund: 're_9', amount_refunded: 2000 }] }, 1120],
    [{ refunds: [] }, 800],
    [{ refund: 're_9' }, 1600],
    [{}, 800],
  ] as const)('of 50.00 with %o leaves %s', async ([note, cents], { server }) => {
    const id = `in_note_${cents}_${JSON.stringify(note).length}`
    await expectOk(send(server, eventOf('invoice.paid', { ...INVOICE, id })))
    const created = { id: `cn_${id}`, invoice: id, total: 5000, currency: 'usd', ...note }
    await expectOk(send(server, eventOf('credit_note.created', created)))
    expect((await commissionOf(server, id)).commissionAmountCents).toBe(cents)
    await expectOk(send(server, eventOf('credit_note.voided', created)))
    expect((await commissionOf(server, id)).commissionAmountCents).toBe(1600)
  })
})

test('a refund in another currency than its order changes nothing, whenever it arrives', async ({ server }) => {
  const invoice = { ...INVOICE, id: 'in_euro', payment_intent: 'pi_euro' }
  const refund = (id: string, payment: string) =>
    eventOf('refund.created', { id, amount: 100, currency: 'eur', payment_intent: payment, status: 'succeeded' })
  await expectOk(send(server, refund('re_early', 'pi_euro')))
  await expectOk(send(server, eventOf('invoice.paid', invoice)))
  expect(rejectionOf(await send(server, refund('re_late', 'pi_euro')))).toMatchObject({
    status: 409,
    code: 'refund_currency_mismatch',
  })
  await expectOk(send(server, refund('re_linked', 'pi_linked')))
  const link = { id: 'inpay_euro', invoice: 'in_euro', payment: { payment_intent: 'pi_linked' } }
  await expectOk(send(server, eventOf('invoice_payment.paid', link)))
  expect(await commissionOf(server, 'in_euro')).toMatchObject({ commissionAmountCents: 1600, orderStatus: 'APPROVED' })
})

test('400 for an amount in an unknown currency, which Stripe shows as failed', async ({ server }) => {
  for (const event of [
    eventOf('invoice.paid', { ...INVOICE, id: 'in_coin', currency: 'xyz' }),
    eventOf('checkout.session.completed', {
      id: 'cs_coin',
      mode: 'payment',
      payment_status: 'paid',
      payment_intent: 'pi_coin',
      currency: 'usdc',
      amount_total: 100,
    }),
  ])
    expect(rejectionOf(await send(server, event))).toMatchObject({
      status: 400,
      code: 'invalid_body',
      field: 'data.object.currency',
    })
})

test.for([
  ['isk', 100_000, 1000],
  ['jpy', 1000, 1000],
  ['kwd', 10_000, 10_000],
  ['usd', 1000, 1000],
] as const)("%s %s in Stripe's units are %s minor units", async ([currency, amount, cents], { server }) => {
  const id = `in_${currency}`
  const lines = { has_more: false, data: [{ amount, quantity: 1 }] }
  await expectOk(send(server, eventOf('invoice.paid', { ...INVOICE, id, currency, total: amount, lines })))
  expect((await commissionOf(server, id)).orderSubtotalCents).toBe(cents)
})

test('an invoice of more lines than the event has counts its total without tax and shipping', async ({ server }) => {
  const invoice = {
    ...INVOICE,
    id: 'in_long',
    total: 12_000,
    total_excluding_tax: 11_000,
    shipping_cost: { amount_total: 1000, amount_tax: 0 },
    lines: { has_more: true, data: [{ amount: 500 }] },
  }
  await expectOk(send(server, eventOf('invoice.paid', invoice)))
  expect((await commissionOf(server, 'in_long')).commissionBaseCents).toBe(10_000)
})

test('metered units and discounts are recorded as they were sent', async ({ server }) => {
  const lines = { has_more: false, data: [{ amount: 7000, quantity: 2_500_000, discount_amounts: [{ amount: 2000 }] }] }
  await expectOk(send(server, eventOf('invoice.paid', { ...INVOICE, id: 'in_metered', total: 5000, lines })))
  expect(await commissionOf(server, 'in_metered')).toMatchObject({
    orderSubtotalCents: 7000,
    orderDiscountCents: 2000,
    commissionBaseCents: 5000,
  })
})

test.for(['invoice.upcoming', 'balance.available', 'invoice.paid'])(
  '%s without an id is ignored',
  async (type, { server }) => {
    expect(await messageOf(send(server, eventOf(type, { object: 'other', currency: 'usd' })))).toBe('Ignored.')
  },
)

test('events of the other mode and of other types are ignored', async ({ server }) => {
  const id = 'in_test_mode'
  const event = eventOf('invoice.paid', { ...INVOICE, id })
  expect(await messageOf(send(server, { ...event, livemode: false }))).toBe('Ignored.')
  expect(await messageOf(send(server, eventOf('customer.updated', { id: 'cus_1' })))).toBe('Ignored.')
  expect(await commissionOf(server, id)).toBeUndefined()
})
