import {
  type Affiliate,
  type ApiError,
  BadRequestError,
  type CommissionStatus,
  ConflictError,
  isKnownEvent,
  NotFoundError,
  type PayoutBatch,
  type ReferralClient,
  type WebhookEvent,
} from '@referral/sdk'
import { expectTypeOf, test } from 'vitest'

// Never called: the type checker is the test.
declare const client: ReferralClient

test('the types reject wrong calls and accept later values', () => {
  const wrongFields = () => {
    // @ts-expect-error: no such field
    client.affiliates.create({ email: 'a@b.example', name: 'A', nickname: 'a' })
    // @ts-expect-error: requires name or firstName
    client.affiliates.create({ email: 'a@b.example' })
    // @ts-expect-error: name is not nullable
    client.affiliates.create({ email: 'a@b.example', name: null })
    // @ts-expect-error: discountCode cannot be updated
    client.affiliates.update('aff_1', { discountCode: 'X' })
    // @ts-expect-error: no such filter
    client.commissions.list({ orderStatus: 'PAID' })
    // @ts-expect-error: amountCents is a number
    client.events.conversion({ externalOrderId: '1', amountCents: '100' })
    // @ts-expect-error: requires externalOrderId
    client.events.conversion({ amountCents: 100 })
    // @ts-expect-error: requires amountCents or lineItems
    client.events.conversion({ externalOrderId: '1', discountCents: 100 })
    // @ts-expect-error: without amountCents, every line has a price
    client.events.conversion({ externalOrderId: '1', lineItems: [{ productId: '7' }] })
    client.events.conversion({ externalOrderId: '1', lineItems: [{ productId: '7', priceCents: 100 }] })
    client.events.conversion({ externalOrderId: '1', amountCents: 100, lineItems: [{ productId: '7' }] })
    // @ts-expect-error: requires an identifier of the affiliate
    client.events.click({ sessionId: 's' })
    // @ts-expect-error: requires an identifier of the customer
    client.journey.get({ limit: 10 })
    // @ts-expect-error: requires url
    client.webhooks.create({ events: ['test'] })
    // @ts-expect-error: requires periodEnd
    client.payouts.create({ periodStart: '2026-10-01' })
    // @ts-expect-error: use preview()
    client.payouts.create({ periodStart: '2026-10-01', periodEnd: '2026-11-01', dryRun: true })
    // @ts-expect-error: reads take no idempotency key
    client.analytics.get({}, { idempotencyKey: 'x' })
    // @ts-expect-error: no such field in the response
    client.affiliates.create({ email: 'a@b.example', name: 'A' }).then(({ nickname }) => nickname)
  }

  const wrongEnums = () => {
    // @ts-expect-error: not an affiliate status
    client.affiliates.list({ status: 'PAID' })
    // @ts-expect-error: not an affiliate status
    client.affiliates.update('aff_1', { status: 'approved' })
    // @ts-expect-error: not a commission type
    client.programs.create({ name: 'P', commissionType: 'PERCENT' })
    // @ts-expect-error: not an include
    client.payouts.list({ include: 'rows' })
  }

  const wrongStatuses = (error: unknown) => {
    if (error instanceof ConflictError) {
      expectTypeOf(error.status).toEqualTypeOf<409>()
      // @ts-expect-error: a conflict is a 409
      error.status === 404
    }
    if (error instanceof NotFoundError || error instanceof BadRequestError) {
      expectTypeOf(error.status).toEqualTypeOf<404 | 400>()
      // @ts-expect-error: neither 404 nor 400
      error.status === 409
    }
  }

  const rawCalls = async () => {
    // @ts-expect-error: no such path
    client.GET('/api/v1/order')
    // @ts-expect-error: no such method for the path
    client.DELETE('/api/v1/programs', {})
    // @ts-expect-error: requires id
    client.DELETE('/api/v1/affiliates')
    // @ts-expect-error: no such parameter
    client.GET('/api/v1/affiliates', { params: { query: { name: 'a' } } })
    // @ts-expect-error: no such field
    client.POST('/api/v1/coupons', { body: { affiliateId: 'a', kode: 'X' } })
    const { data, error, response } = await client.GET('/api/v1/commissions', { params: { query: { status: 'PAID' } } })
    if (data) expectTypeOf(data.pagination.total).toEqualTypeOf<number>()
    else expectTypeOf(error.error).toEqualTypeOf<string>()
    expectTypeOf(response).toEqualTypeOf<Response>()
    expectTypeOf((await client.GET('/api/v1/docs')).data).toEqualTypeOf<string | undefined>()
  }

  const futureValues = (affiliate: Affiliate, batch: PayoutBatch, error: ApiError, event: WebhookEvent) => {
    const status: CommissionStatus = 'ESCROWED'
    affiliate.status === 'SUSPENDED'
    batch.status === 'ARCHIVED'
    error.code === 'moon_phase'
    event.event === 'payout.archived'
    return status
  }

  const exactResults = async () => {
    expectTypeOf(await client.affiliates.create({ email: 'a', name: 'A' })).toEqualTypeOf<Affiliate>()
    expectTypeOf((await client.payouts.create({ periodStart: 'a', periodEnd: 'b' })).id).toEqualTypeOf<string>()
    expectTypeOf((await client.payouts.preview({ periodStart: 'a', periodEnd: 'b' })).id).toEqualTypeOf<string | null>()
    expectTypeOf((await client.payouts.list()).data).toEqualTypeOf<PayoutBatch[]>()
    for await (const row of client.commissions.list()) expectTypeOf(row.commissionAmountCents).toEqualTypeOf<number>()
    const { data, error } = await client.affiliates.archive('aff_1').safe()
    if (error) expectTypeOf(data).toEqualTypeOf<undefined>()
    else expectTypeOf(data.ok).toEqualTypeOf<true>()
    expectTypeOf((await client.events.dryRun({ externalOrderId: '1', amountCents: 1 })).dryRun).toEqualTypeOf<true>()
    expectTypeOf((await client.events.pageView({ url: 'https://a.example' })).id).toEqualTypeOf<string>()
  }

  const webhook = (event: WebhookEvent) => {
    if (!isKnownEvent(event)) return expectTypeOf(event.data).toEqualTypeOf<Record<string, unknown>>()
    if (event.event === 'commission.created') {
      expectTypeOf(event.data.attribution.confidence).toEqualTypeOf<number>()
      // @ts-expect-error: a field of affiliate events
      return event.data.previousStatus
    }
    if (event.event === 'test') return expectTypeOf(event.data.test).toEqualTypeOf<true>()
    if (event.event === 'customer.bound') return expectTypeOf(event.data.orders).toEqualTypeOf<number>()
    return event.data.previousStatus
  }

  void [wrongFields, wrongEnums, wrongStatuses, rawCalls, futureValues, exactResults, webhook]
})
