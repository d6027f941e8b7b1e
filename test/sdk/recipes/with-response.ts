import { createReferralClient } from '@referral/sdk'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
})

const call = client.programs.create({ name: 'Friends', commissionPercent: 10 })
const { data, response, requestId, rateLimit } = await call.withResponse()
console.log(data.name, response.status, typeof requestId, rateLimit?.limit)

const { data: page, error } = await client.GET('/api/v1/programs', { params: { query: { limit: 1 } } })
console.log(error ?? page.pagination.total)
