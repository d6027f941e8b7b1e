import { AbortedError, createReferralClient, TimeoutError } from '@referral/sdk'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
  timeoutMs: 10_000, // one attempt, including its body
  totalTimeoutMs: 60_000, // all attempts and the waits between them
})

const controller = new AbortController()
setTimeout(() => controller.abort(new Error('the page was closed')), 20)

const { error } = await client.analytics.get({}, { signal: controller.signal, maxRetries: 0 }).safe()
if (error instanceof TimeoutError) console.log('timed out')
if (error instanceof AbortedError) console.log('aborted:', (error.cause as Error).message)
