import { createReferralClient } from '@referral/sdk'
import { referralHandlers } from '@referral/sdk/msw'
import { getResponse, http } from 'msw'

const baseUrl = 'https://referrals.example'
const handlers = referralHandlers(http, { baseUrl })
const client = createReferralClient({
  apiKey: 'any',
  baseUrl,
  fetch: async (request) => (await getResponse(handlers, request)) ?? Response.error(),
})

console.log((await client.affiliates.list()).data[0]?.name)
