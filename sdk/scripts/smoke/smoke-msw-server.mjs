import assert from 'node:assert/strict'
import { createReferralClient } from '@referral/sdk'
import { referralHandlers } from '@referral/sdk/msw'
import { setupServer } from 'msw/node'

// msw 3 has a smaller entry point, msw 2 has not.
const { http } = await import('msw/http').catch(() => import('msw'))

const baseUrl = 'https://referrals.example'
const server = setupServer(...referralHandlers(http, { baseUrl }))
server.listen()
const client = createReferralClient({ apiKey: 'any', baseUrl })
assert.equal((await client.affiliates.list()).data[0]?.name, 'Nisa Karim')
server.use(...referralHandlers(http, { baseUrl, examples: { createAffiliate: 'email_taken' } }))
const { error } = await client.affiliates.create({ email: 'noor@example.com', name: 'Noor' }).safe()
assert.equal(error?.code, 'email_taken')
server.close()
console.log('ok')
