// Type-checked against the packed declarations, as ES module and as CommonJS. Never run.
import {
  type Affiliate,
  ConflictError,
  type components,
  createReferralClient,
  isKnownEvent,
  UnknownOutcomeError,
  type WebhookEvent,
} from '@referral/sdk'
import { type AdminClient, createAdminClient } from '@referral/sdk/admin'
import { type MswHttp, referralHandlers } from '@referral/sdk/msw'
import { withOpenTelemetry } from '@referral/sdk/otel'

const client = createReferralClient({ apiKey: 'rk_test', baseUrl: 'https://api.example', fetch: globalThis.fetch })

export const approve = async (id: string): Promise<Affiliate | 'taken'> => {
  try {
    return await client.affiliates.update(id, { status: 'APPROVED' })
  } catch (error) {
    if (error instanceof UnknownOutcomeError) await error.reconcile()
    if (error instanceof ConflictError && error.status === 409 && error.code === 'email_taken') return 'taken'
    throw error
  }
}

export const total = async (): Promise<number> => {
  let cents = 0
  for await (const row of client.commissions.list({ status: 'APPROVED' })) cents += row.commissionAmountCents
  const { data } = await client.GET('/api/v1/payouts', { params: { query: { status: 'OPEN' } } })
  return cents + (data?.data[0]?.totals.netPayableCents ?? 0)
}

export const amount = (event: WebhookEvent): number =>
  isKnownEvent(event) && event.event === 'commission.created' ? event.data.commissionAmountCents : 0

export const status: components['schemas']['AffiliateStatus'] = 'PENDING'
export const handlers = (http: MswHttp<object>): object[] => referralHandlers(http, { baseUrl: 'https://api.example' })

const options = withOpenTelemetry({ apiKey: async () => 'ro_test', baseUrl: 'https://api.example' })
export const admin: AdminClient = createAdminClient(options)

export const order = (clickId: string | undefined, quantity: number | undefined) => [
  client.events.conversion({ externalOrderId: '1', amountCents: 100, clickId, lineItems: [{ quantity }] }),
  client.events.click({ ref: 'nisa', clickId }),
  client.affiliates.list({ q: clickId }),
  client.webhooks.create({ url: 'https://a.example', secret: clickId }),
  client.GET('/api/v1/affiliates', { params: { query: { q: clickId } } }),
  client.POST('/api/v1/refunds', {
    body: { externalOrderId: '1', externalRefundId: '1', amountCents: 100, reason: clickId },
  }),
  client.refunds.create({
    externalOrderId: '1',
    externalRefundId: '1',
    lineItems: [{ variantId: '7', quantity: 1, amountCents: quantity }],
  }),
]

// @ts-expect-error: not a status
export const wrong = client.affiliates.list({ status: 'PAID' })
// @ts-expect-error: the types of the API are there, not `any`
export const alsoWrong: components['schemas']['AffiliateStatus'] = 'PAID'
