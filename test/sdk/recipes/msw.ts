import { createReferralClient } from '@referral/sdk'
import { referralHandlers } from '@referral/sdk/msw'
import { http } from 'msw/http'
import { setupServer } from 'msw/node'

const baseUrl = 'https://referrals.example'
const server = setupServer(...referralHandlers(http, { baseUrl }))
server.listen()

const client = createReferralClient({ apiKey: 'any', baseUrl })
console.log((await client.affiliates.list()).data[0]?.name)

server.use(...referralHandlers(http, { baseUrl, examples: { createAffiliate: 'email_taken' } }))
const { error } = await client.affiliates.create({ email: 'noor@example.com', name: 'Noor' }).safe()
console.log(error?.code)

server.close()
