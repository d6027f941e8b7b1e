import { AbortedError, createReferralClient, TimeoutError } from '@referral/sdk'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
  timeoutMs: 10_000, // one attempt, its body included
  totalTimeoutMs: 60_000, // all attempts and the waiting between them
})

const controller = new AbortController()
setTimeout(() => controller.abort(new Error('the page was closed')), 20)

const { error } = await client.analytics.get({}, { signal: controller.signal, maxRetries: 0 }).safe()
if (error instanceof TimeoutError) console.log('too slow')
if (error instanceof AbortedError) console.log('stopped:', (error.cause as Error).message)
