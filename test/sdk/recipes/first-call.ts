import { createReferralClient } from '@referral/sdk'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
})

await client.programs.create({ name: 'Friends', commissionPercent: 16, autoApproveOrder: true, status: 'PUBLISH' })
const affiliate = await client.affiliates.create({ email: 'noor@example.com', name: 'Noor Haddad' })
await client.affiliates.update(affiliate.id, { status: 'APPROVED' })

const { attribution, commission } = await client.events.conversion({
  externalOrderId: 'sdk-1',
  amountCents: 10_000,
  discountCents: 1_000,
  currency: 'USD',
  couponCode: affiliate.discountCode,
})
console.log(attribution.affiliateId === affiliate.id, commission.status, commission.amountCents)
