import assert from 'node:assert/strict'
import { createReferralClient } from '@referral/sdk'
import { referralHandlers } from '@referral/sdk/msw'
import { getResponse, http } from 'msw'

const baseUrl = 'https://referrals.example'
const handlers = referralHandlers(http, { baseUrl })
const fetch = async (request) => (await getResponse(handlers, request)) ?? Response.error()
const client = createReferralClient({ apiKey: 'any', baseUrl, fetch })
assert.equal((await client.affiliates.list()).data[0]?.name, 'Nisa Karim')
console.log('ok')
