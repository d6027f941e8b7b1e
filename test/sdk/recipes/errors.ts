import { ConflictError, createReferralClient, RateLimitError, ReferralError } from '@referral/sdk'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
})

const invite = async (email: string): Promise<string> => {
  try {
    return (await client.affiliates.create({ email, name: 'Noor Haddad' })).status
  } catch (error) {
    if (error instanceof ConflictError && error.code === 'email_taken') return 'already invited'
    if (error instanceof RateLimitError) return `retry in ${error.rateLimit?.resetSeconds} s`
    if (error instanceof ReferralError) return `${error.message} (request ${error.requestId})`
    throw error
  }
}
console.log(await invite('noor@example.com'))
console.log(await invite('noor@example.com'))

const { data, error } = await client.affiliates.archive('aff_unknown').safe()
console.log(error ? error.code : data.message)
