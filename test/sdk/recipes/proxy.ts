import { createReferralClient } from '@referral/sdk'
import { fetch, ProxyAgent } from 'undici'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
  fetch,
  fetchOptions: { dispatcher: new ProxyAgent(process.env.HTTPS_PROXY ?? '') },
})

console.log((await client.programs.list()).pagination.total)
